"""Tests of models over several tables: signed-rank tests, average ranks, the Friedman and Nemenyi tests.

Scores are an array (tables, models), where higher is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero, whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import check_rope, checked_differences
from foldwise.evaluation.estimates import check_level

DRAWS = 50_000


def ranks_of(scores: Floats) -> Floats:  # (tables, models)
    """Rank the models on each table: 1 is best, ties share their mean rank.

    Parameters
    ----------
    scores : ndarray of shape (n_tables, n_models)
        Scores, where higher is better.

    Returns
    -------
    ndarray of shape (n_tables, n_models)
        The ranks.
    """
    return np.asarray(stats.rankdata(-np.asarray(scores, dtype=np.float64), axis=1))


def signed_rank_test(differences: Any) -> float:
    """Compute the two-sided p-value of Wilcoxon's signed-rank test.

    Parameters
    ----------
    differences : array-like of shape (n_tables,)
        Differences in score of two models. Zeros are split evenly between both signs (Demšar 2006).

    Returns
    -------
    float
        The p-value.

    Examples
    --------
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
    """The probabilities that on a new table the first model is better, practically equal or worse.

    Attributes
    ----------
    better : float
        Probability that the first model is better.
    equal : float
        Probability that the two are practically equal.
    worse : float
        Probability that the first model is worse.
    """

    better: float
    equal: float
    worse: float


def bayesian_signed_rank(
    differences: Any, rope: float = 0.01, *, prior: float = 0.5, n_draws: int = DRAWS, random_state: Any = 0
) -> RankedPosterior:
    """Compare two models over several tables by the Bayesian signed-rank test.

    Parameters
    ----------
    differences : array-like of shape (n_tables,)
        Differences in score, first model minus second, one per table.
    rope : float, default 0.01
        Region of practical equivalence: smaller differences count as none.
    prior : float, default 0.5
        Weight of an imaginary table on which the models are equal.
    n_draws : int, default 50,000
        Number of Monte Carlo draws; the default is accurate to 0.002.
    random_state : int, Generator or None, default 0
        Seed of the draws.

    Returns
    -------
    RankedPosterior
        The probabilities that the first model is better, practically equal or worse.

    References
    ----------
    Benavoli, Corani, Mangili, Zaffalon and Ruggeri (2014), A Bayesian Wilcoxon signed-rank test based on the Dirichlet
    process.

    Examples
    --------
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
    """Compute, for drawn weights, the fractions of pairs of tables with a mean difference below, within, above rope."""
    sums = d[:, None] + d
    worse, better = (
        np.einsum("si,ij,sj->s", drawn, np.heaviside(sign * sums - 2 * rope, 0.5), drawn, optimize=True)
        for sign in (-1, 1)
    )
    return np.column_stack([worse, 1 - worse - better, better])


def by_majority(shares: Floats) -> RankedPosterior:
    """Count how often each of the three fractions is the largest; ties are split evenly."""
    greatest = np.isclose(shares, shares.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    worse, equal, better = (greatest / greatest.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return RankedPosterior(better, equal, worse)


@dataclass(frozen=True)
class FriedmanTest:
    """The result of a Friedman test that all models have the same average rank.

    Attributes
    ----------
    chi2 : float
        Friedman's χ² statistic.
    p : float
        Its p-value.
    f : float
        The F statistic of Iman and Davenport, which is less conservative.
    p_f : float
        Its p-value.
    """

    chi2: float
    p: float
    f: float
    p_f: float


def friedman_test(scores: Any, *, correct_ties: bool = True) -> FriedmanTest:
    """Test whether all models have the same average rank over tables (Friedman's test).

    Parameters
    ----------
    scores : array-like of shape (n_tables, n_models)
        Scores of at least two models, where higher is better.
    correct_ties : bool, default True
        Whether to correct for ties, as R and scipy do. Demšar (2006) does not.

    Returns
    -------
    FriedmanTest
        The statistics and p-values.

    Examples
    --------
    >>> from foldwise.evaluation import friedman_test
    >>> test = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.75], [0.7, 0.6, 0.5], [0.9, 0.7, 0.8]])
    >>> print(f"chi2 = {test.chi2:.2f}, p = {test.p:.3f}")
    chi2 = 6.00, p = 0.050
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim != 2 or min(found.shape) < 1 or found.shape[1] < 2:
        raise InputError(
            f"scores must have one row per table and at least two models, got the shape {found.shape}.",
            "pass one list of scores per table.",
        )
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0]
        raise InputError(
            f"scores must be finite, but model {j} on table {i} has {found[i, j]}.", "score every model on every table."
        )
    ranks = ranks_of(found)
    n, k = ranks.shape
    spread = ((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1)) if correct_ties else k * (k + 1) / 12
    if spread == 0:  # all models are tied on every table
        return FriedmanTest(0.0, 1.0, 0.0, 1.0)
    chi2 = n * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / spread)
    left = n * (k - 1) - chi2
    f = (n - 1) * chi2 / left if left > 1e-12 * n * k else np.inf
    p_f = stats.f.sf(f, k - 1, (k - 1) * (n - 1)) if n > 1 else 1.0
    return FriedmanTest(chi2, float(stats.chi2.sf(chi2, k - 1)), float(f), float(p_f))


def critical_difference(n_models: int, n_tables: int, level: float = 0.95) -> float:
    """Compute how much two average ranks must differ to be significant by Nemenyi's test.

    Parameters
    ----------
    n_models : int
        Number of models.
    n_tables : int
        Number of tables.
    level : float, default 0.95
        1 minus the level of the test.

    Returns
    -------
    float
        The critical difference.

    Examples
    --------
    >>> from foldwise.evaluation import critical_difference
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    check_level(level)
    whole_at_least("n_models", n_models, 2)
    whole_at_least("n_tables", n_tables, 1)
    return float(stats.studentized_range.ppf(level, n_models, np.inf) / np.sqrt(2)) * rank_error(n_models, n_tables)


def nemenyi_p(distance: float, n_models: int, n_tables: int) -> float:
    """Compute the p-value of Nemenyi's test for a difference of two average ranks.

    Parameters
    ----------
    distance : float
        Difference of two average ranks.
    n_models : int
        Number of models.
    n_tables : int
        Number of tables.

    Returns
    -------
    float
        The p-value.
    """
    q = distance * np.sqrt(2) / rank_error(n_models, n_tables)
    return float(np.clip(stats.studentized_range.sf(q, n_models, np.inf), 0.0, 1.0))


def rank_error(n_models: int, n_tables: int) -> float:
    """Return the standard error of a difference of two average ranks if all models are equally good."""
    return float(np.sqrt(n_models * (n_models + 1) / (6 * n_tables)))
