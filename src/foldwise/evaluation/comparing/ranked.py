"""Models over several tables, by their scores alone: signed ranks, average ranks, Friedman's test and what follows it.

Scores come as an array (tables, models), greater is better; a table's splits are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from foldwise.data.arguments import above_zero, whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import check_rope, checked_differences
from foldwise.evaluation.estimates import check_level

Floats = NDArray[np.float64]
DRAWS = 50_000


def ranks_of(scores: Floats) -> Floats:  # (tables, models)
    """The rank of each model on each table: 1 for the best, ties share the mean of theirs."""
    return np.asarray(stats.rankdata(-np.asarray(scores, dtype=np.float64), axis=1))


def signed_rank_test(differences: Any) -> float:
    """The p value of Wilcoxon's signed-rank test, two-sided; zeros are shared out to both sides (Demšar 2006).

    >>> from foldwise.evaluation.comparing import signed_rank_test
    >>> round(signed_rank_test([0.01, 0.02, 0.03, 0.04, -0.005, 0.06]), 4)
    0.0625
    """
    d = checked_differences(differences)
    if not d.any():
        return 1.0
    return float(stats.wilcoxon(d, zero_method="zsplit").pvalue)


@dataclass(frozen=True)
class RankedPosterior:
    """What is believed of the next table after these: is the first model better, practically equal, or worse?"""

    better: float
    equal: float
    worse: float


def bayesian_signed_rank(
    differences: Any, rope: float = 0.01, *, prior: float = 0.5, n_draws: int = DRAWS, random_state: Any = 0
) -> RankedPosterior:
    """The Bayesian signed-rank test (Benavoli, Corani, Mangili, Zaffalon & Ruggeri 2014), by Monte Carlo.

    Parameters
    ----------
    differences : of the scores of two models, first minus second, one a table
    rope : differences up to this count as none
    prior : the weight of one imaginary table without a difference
    n_draws, random_state : of the Monte Carlo; 50,000 draws are good to 0.002

    >>> from foldwise.evaluation import bayesian_signed_rank
    >>> found = bayesian_signed_rank([0.03, 0.05, 0.02, 0.04, -0.005, 0.06], rope=0.01)
    >>> print(f"better {found.better:.2f}, equal {found.equal:.2f}, worse {found.worse:.2f}")
    better 0.98, equal 0.02, worse 0.00
    """
    d = np.r_[0.0, checked_differences(differences)]
    above_zero("prior", prior)
    weights = np.r_[prior, np.ones(len(d) - 1)]
    drawn = np.random.default_rng(random_state).dirichlet(weights, whole_at_least("n_draws", n_draws, 1))
    return by_majority(shares_beyond(d, check_rope(rope), drawn))


def shares_beyond(d: Floats, rope: float, drawn: Floats) -> Floats:  # (draws, 3): worse, within, better
    """The shares of pairs of tables whose mean difference lies below, within and above the rope, for drawn weights."""
    sums = d[:, None] + d
    worse, better = (
        np.einsum("si,ij,sj->s", drawn, np.heaviside(sign * sums - 2 * rope, 0.5), drawn, optimize=True)
        for sign in (-1, 1)
    )
    return np.column_stack([worse, 1 - worse - better, better])


def by_majority(shares: Floats) -> RankedPosterior:
    """How often each of the three has the greatest share; where several have it, each has its part."""
    greatest = np.isclose(shares, shares.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    worse, equal, better = (greatest / greatest.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return RankedPosterior(better, equal, worse)


@dataclass(frozen=True)
class FriedmanTest:
    """Whether all models rank alike: Friedman's χ², and the less conservative F of Iman and Davenport."""

    chi2: float
    p: float
    f: float
    p_f: float


def friedman_test(scores: Any, *, correct_ties: bool = True) -> FriedmanTest:
    """Friedman's test over tables (rows) of at least two models (columns).

    `correct_ties=True` divides by what ties leave of the spread of ranks, as R and scipy do; Demšar (2006) does not.

    >>> from foldwise.evaluation import friedman_test
    >>> test = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.75], [0.7, 0.6, 0.5], [0.9, 0.7, 0.8]])
    >>> print(f"chi2 = {test.chi2:.2f}, p = {test.p:.3f}")
    chi2 = 6.00, p = 0.050
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim != 2 or min(found.shape) < 1 or found.shape[1] < 2:
        raise InputError(
            f"Friedman's test needs scores of at least two models, one row a table, got shape {found.shape}.",
            "pass one list of scores for each table.",
        )
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0]
        raise InputError(
            f"model {j} has no score on table {i} but {found[i, j]}.", "every model must be scored on every table."
        )
    ranks = ranks_of(found)
    n, k = ranks.shape
    spread = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1)) if correct_ties else k * (k + 1) / 12
    if spread == 0:  # every table is one tie
        return FriedmanTest(0.0, 1.0, 0.0, 1.0)
    chi2 = n * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / spread)
    left = n * (k - 1) - chi2
    f = (n - 1) * chi2 / left if left > 1e-12 * n * k else np.inf
    p_f = stats.f.sf(f, k - 1, (k - 1) * (n - 1)) if n > 1 else 1.0
    return FriedmanTest(chi2, float(stats.chi2.sf(chi2, k - 1)), float(f), float(p_f))


def critical_difference(n_models: int, n_tables: int, level: float = 0.95) -> float:
    """How far two average ranks must lie apart to differ, by Nemenyi's test.

    >>> from foldwise.evaluation import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    check_level(level)
    whole_at_least("n_models", n_models, 2)
    whole_at_least("n_tables", n_tables, 1)
    return float(stats.studentized_range.ppf(level, n_models, np.inf) / np.sqrt(2)) * rank_error(n_models, n_tables)


def nemenyi_p(distance: float, n_models: int, n_tables: int) -> float:
    """The p value of a distance of two average ranks by Nemenyi's test."""
    q = distance * np.sqrt(2) / rank_error(n_models, n_tables)
    return float(np.clip(stats.studentized_range.sf(q, n_models, np.inf), 0.0, 1.0))


def rank_error(n_models: int, n_tables: int) -> float:
    """The standard error of a difference of two average ranks, if all models are alike."""
    return float(np.sqrt(n_models * (n_models + 1) / (6 * n_tables)))
