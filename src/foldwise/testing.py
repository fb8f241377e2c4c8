"""Checks for extensions: a summary, an estimator with a fold session, a distribution family of naive Bayes, a
search strategy.

They raise AssertionError and say which law does not hold.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import loguniform

from foldwise.bayes import NaiveBayes
from foldwise.errors import FoldwiseWarning
from foldwise.folds import Failure, Need, open_session
from foldwise.folds.audit import disagreement, first_difference, spread_of
from foldwise.folds.leave_one_out import answer_one_left_out, answers_leave_one_out
from foldwise.folds.rows import count_rows, take_params, take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split
from foldwise.tuning.dimensions import Choice, Float, Int
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import BatchStrategy, Strategy, Trial, is_tried, trial_generator

__all__ = ["check_family", "check_foldable", "check_merging", "check_strategy"]

CellMaker = Callable[[np.random.Generator, int], Sequence[Any]]

CELLS: dict[str, CellMaker] = {
    "categorical": lambda rng, n: rng.choice(["a", "b", "c", "dd"], n, p=[0.6, 0.2, 0.15, 0.05]).tolist(),
    "gaussian": lambda rng, n: rng.normal(1e4, 3.0, n).tolist(),
    "bernoulli": lambda rng, n: (rng.random(n) < 0.3).astype(int).tolist(),
    "multinomial": lambda rng, n: rng.poisson(1.5, n).tolist(),
    "poisson": lambda rng, n: rng.poisson(4.0, n).tolist(),
    "binomial": lambda rng, n: rng.binomial(6, 0.4, n).tolist(),
    "binned": lambda rng, n: np.round(rng.normal(0.0, 3.0, n), 1).tolist(),
    "kde": lambda rng, n: np.round(rng.normal(50.0, 3.0, n), 2).tolist(),
    "text": lambda rng, n: [
        " ".join(rng.choice(["win", "cash", "no", "Yes!", "día"], k)) for k in rng.integers(0, 7, n)
    ],
    "gamma": lambda rng, n: rng.gamma(2.5, 3.0, n).tolist(),
}


def check_merging(
    summarize: Callable[[np.ndarray[Any, Any]], Any],
    n_rows: int,
    same: Callable[[Any, Any], bool],
    *,
    parts: Sequence[int] = (1, 2, 7, 100, 1000),
    seed: int = 0,
) -> None:
    """Check that summaries of parts, merged in any order, equal the summary of all rows.

    Parameters
    ----------
    summarize : callable
        Takes an array of row numbers and returns their summary, which must support `+`.
    n_rows : int
        Number of rows.
    same : callable
        Compares two summaries and returns whether they are equal.
    parts : sequence of int
        Numbers of parts to try.
    seed : int
        Seed of the random splits.

    Examples
    --------
    >>> x = np.arange(50)
    >>> check_merging(lambda rows: x[rows].sum(), 50, lambda a, b: a == b)
    """
    rng = np.random.default_rng(seed)
    whole = summarize(np.arange(n_rows))
    for n_parts in parts:
        part = rng.integers(0, n_parts, n_rows)
        merged = [summarize(np.flatnonzero(part == k)) for k in rng.permutation(n_parts)]
        while len(merged) > 1:
            i = int(rng.integers(len(merged) - 1))
            merged[i : i + 2] = [merged[i] + merged[i + 1]]
        assert same(whole, merged[0]), f"the summaries of {n_parts} parts do not merge to the summary of all rows"


def check_foldable(
    estimator: Any,
    X: Any,
    y: Any,
    settings: Sequence[dict[str, Any]],
    splits: Sequence[tuple[Any, Any]] | LeaveOneOutSplits,
    fit_params: dict[str, Any] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check the fold law: each answer of a fold session equals clone, set_params, fit on train, predict on test.

    If the fit raises, the session must report the same error. Answers must not depend on the other settings or their
    order, on the labels of test rows, or on rows outside the split.

    Parameters
    ----------
    estimator : estimator
        The estimator whose fold session is checked.
    X : frame or array
        The rows.
    y : array
        The target.
    settings : sequence of dict
        The settings to evaluate, i.e. combinations of hyperparameters.
    splits : sequence of (train, test), or LeaveOneOutSplits
        Row numbers of each split.
    fit_params : dict, optional
        Parameters of `fit`, such as `sample_weight`.
    seed : int
        Seed of the permutations.

    Notes
    -----
    Log-probabilities must agree to 1e-10 · max(1, abs(log p)), regression values to 1e-10 · max(abs(value), standard
    deviation of the training targets), or to ten times the change of the refit when its rows are permuted, if that is
    larger (`foldwise.folds.tolerance`). Labels must be equal, unless the two best scores differ by less than that.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
    >>> check_foldable(NaiveBayes(), X, y, [{"var_floor": 0.1}], [(np.arange(20), np.arange(20, 30))])
    """
    rng = np.random.default_rng(seed)
    session = open_session(estimator, X, y, fit_params)
    need = Need.LABELS | Need.PROBA | Need.DECISION | Need.VALUES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair: Any
        for number, pair in enumerate(splits):
            train, test = (pair.train, pair.test) if isinstance(pair, Split) else (np.asarray(rows) for rows in pair)
            for setting in settings:
                problem = disagreement(session, setting, train, test, need)
                assert not problem, f"setting {setting} on split {number}: {problem}"
                if isinstance(splits, LeaveOneOutSplits) and answers_leave_one_out(session, setting, splits):
                    ours = answer_one_left_out(session, setting, splits, number, need)
                    problem = disagreement(session, setting, train, test, need, ours)
                    assert not problem, f"setting {setting}, leave-one-out of row {number}: {problem}"
            scale = spread_of(session.target, train)
            alone = [next(iter(session.answer([setting], train, test, need))).answer for setting in settings]
            order = rng.permutation(len(settings))
            together = answers_of(session, [settings[i] for i in order], train, test, need)
            for i, answer in zip(order, together, strict=True):
                assert same_answer(alone[i], answer, scale), (
                    f"setting {settings[i]} on split {number} depends on the other settings"
                )
            for what, other in scrambled_sessions(estimator, X, y, fit_params, train, test, rng):
                scrambled = answers_of(other, settings, train, test, need)
                for setting, a, b in zip(settings, alone, scrambled, strict=True):
                    assert same_answer(a, b, scale), f"setting {setting} on split {number} depends on {what}"


def scrambled_sessions(
    estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None, train: Any, test: Any, rng: np.random.Generator
) -> Iterator[tuple[str, Any]]:
    """Yield sessions of tables in which labels or rows were permuted that must not influence an answer."""
    n_rows = count_rows(X)
    labels = np.asarray(y).copy()
    unlearned = np.setdiff1d(np.arange(n_rows), train)
    if unlearned.size:  # a permutation keeps the set of classes, so any difference is a leak
        labels[unlearned] = labels[rng.permutation(unlearned)]
        yield "labels outside the training rows", open_session(estimator, X, labels, fit_params)
    outside = np.setdiff1d(unlearned, test)
    if outside.size > 1:
        order = np.arange(n_rows)
        order[outside] = rng.permutation(outside)
        moved = take_params(fit_params or {}, order, n_rows)
        yield "rows outside the split", open_session(estimator, take_rows(X, order), labels[order], moved)


def answers_of(session: Any, settings: Sequence[Any], train: Any, test: Any, need: Need) -> list[Any]:
    """Return one answer per setting."""
    found: list[Any] = [None] * len(settings)
    for block in session.answer(settings, train, test, need):
        for i in range(block.start, block.stop):
            found[i] = block.answer if isinstance(block.answer, Failure) else (block.answer, i - block.start)
    return found


def same_answer(a: Any, b: Any, scale: float) -> bool:
    """Whether two answers to one setting agree within the tolerance."""
    if isinstance(a, Failure) or isinstance(b, Failure):
        return isinstance(a, Failure) and isinstance(b, Failure) and type(a.error) is type(b.error)
    (x, i), (z, j) = (pair if isinstance(pair, tuple) else (pair, 0) for pair in (a, b))
    one, other = x.cut(i, i + 1), z.cut(j, j + 1)
    if (one.labels is None) != (other.labels is None) or (one.values is None) != (other.values is None):
        return False
    n_rows = next((len(part[0]) for part in (one.labels, one.values) if part is not None), 0)
    return not first_difference(one, other, np.arange(n_rows), scale)


def check_family(
    family: str,
    cells: CellMaker | None = None,
    *,
    n_rows: int = 200,
    gaps: float = 0.1,
    tolerance: float = 1e-9,
    seed: int = 0,
    **params: Any,
) -> None:
    """Check the laws of a distribution family of naive Bayes on random columns with missing cells and weights.

    Parameters
    ----------
    family : str
        Name of the family.
    cells : callable, optional
        `cells(rng, n)` returns n random cells. Families that come with Foldwise have a default.
    n_rows : int
        Number of rows.
    gaps : float
        Share of missing cells.
    tolerance : float
        Largest relative difference of log-probabilities.
    seed : int
        Seed of the random columns.
    **params
        Passed on to `NaiveBayes`.

    Examples
    --------
    >>> check_family("gaussian", n_rows=60)
    """
    rng = np.random.default_rng(seed)
    make = CELLS[family] if cells is None else cells
    columns = {f"c{j}": list(make(rng, n_rows)) for j in range(3)}
    X = pl.DataFrame(columns).with_columns(
        pl.when(pl.Series(rng.random(n_rows) >= gaps)).then(pl.col(name)).otherwise(None).alias(name)
        for name in columns
    )
    y = rng.integers(0, 3, n_rows)
    weight = rng.integers(0, 4, n_rows).astype(np.float64)

    def fresh() -> NaiveBayes:
        return NaiveBayes(families=family, **params)

    def same(a: NaiveBayes, b: NaiveBayes, law: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FoldwiseWarning)
            x, z = a.predict_log_proba(X), b.predict_log_proba(X)
        finite = np.isfinite(z)
        assert (finite == np.isfinite(x)).all(), f"{law}: different log-probabilities are infinite"
        worst = float(np.max(np.abs(x[finite] - z[finite]) / np.maximum(1.0, np.abs(z[finite])), initial=0.0))
        assert worst <= tolerance, f"{law}: log-probabilities differ by {worst:.2g}"

    whole = fresh().fit(X, y, weight)
    repeated = np.repeat(np.arange(n_rows), weight.astype(int))
    same(whole, fresh().fit(X[repeated], y[repeated]), "an integer weight equals repeated rows")
    order = rng.permutation(n_rows)
    same(whole, fresh().fit(X[order], y[order], weight[order]), "the order of rows does not matter")
    streamed, merged = fresh(), None
    for rows in np.array_split(order, 9):
        streamed.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
        part = fresh().partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
        merged = part if merged is None else merged + part
    assert merged is not None
    same(whole, streamed, "partial_fit on parts equals one fit")
    same(whole, merged, "models of parts merge to the model of all rows")
    extra = rng.choice(n_rows, n_rows // 4, replace=False)
    longer = fresh().fit(pl.concat([X, X[extra]]), np.concatenate([y, y[extra]]))
    same(fresh().fit(X, y), longer.forget(X[extra], y[extra]), "forget removes rows")
    same(whole, NaiveBayes.from_json(whole.to_json()), "from_json reads what to_json wrote")
    check_explanation(whole, X[:20])


def check_strategy(
    strategy: Strategy,
    space: Any = None,
    objective: Callable[[Mapping[str, Any]], float] | None = None,
    *,
    n_trials: int = 30,
    seed: int = 0,
) -> None:
    """Check that a search strategy keeps its promises.

    Its proposals lie in the space. The same seed and trials give the same proposals, also when they are replayed.
    Running trials are not proposed again, nor are failed ones.

    Parameters
    ----------
    strategy : Strategy
        The strategy.
    space : mapping or list of mappings, default None
        The search space. The default has floats, whole numbers, choices and a conditional parameter.
    objective : callable, default None
        Returns the score of a setting, NaN for a failed one. The default fails in a part of the space.
    n_trials : int, default 30
        Number of trials.
    seed : int, default 0
        Seed of the search.

    Raises
    ------
    AssertionError
        If a promise is not kept.

    Examples
    --------
    >>> from foldwise.testing import check_strategy
    >>> from foldwise.tuning import Evolutionary
    >>> check_strategy(Evolutionary(population=6))
    """
    space = STRATEGY_SPACE if space is None else space
    known = SearchSpace.of(space)
    score = default_objective(known) if objective is None else objective
    trials: list[Trial] = []
    running: list[Trial] = []
    most = max(1, strategy.batch) if isinstance(strategy, BatchStrategy) else 1
    calls: list[tuple[list[Trial], list[Any]]] = []
    while len(trials) + len(running) < n_trials:
        before = [*trials, *running]
        proposed = list(strategy.propose(space, before, trial_generator(seed, len(before))) or [])
        calls.append((before, proposed))
        for setting in proposed:
            assert known.contains(setting), f"proposed {setting}, which is not in the space"
            assert not is_tried(setting, [*trials, *running]), f"proposed {setting} a second time"
            running.append(Trial(setting, float("nan"), "running"))
        if not proposed or len(running) >= most:
            trials += [scored(one.setting, score(one.setting)) for one in running]
            if not proposed and not running:
                break
            running = []
    assert trials or running, "proposed nothing"
    for before, proposed in calls:
        again = list(strategy.propose(space, before, trial_generator(seed, len(before))) or [])
        assert again == proposed, f"proposed {proposed}, and {again} when the same trials were replayed"


def scored(setting: Mapping[str, Any], score: float) -> Trial:
    """The trial of a setting with its score."""
    return Trial(setting, score, "finished" if np.isfinite(score) else "failed", 0.01)


STRATEGY_SPACE = {
    "C": Float(0.03, 30_000, log=True),
    "kernel": Choice(["linear", "rbf", "poly"]),
    "gamma": Float(3e-5, 8, log=True, when={"kernel": "rbf"}),
    "degree": Int(2, 5, when={"kernel": "poly"}),
    "shrinking": [True, False],
    "tol": loguniform(1e-5, 1e-1),
}


def default_objective(space: SearchSpace) -> Callable[[Mapping[str, Any]], float]:
    """A score that is highest at 0.3 of each range, and fails near the end of the first."""

    def score(setting: Mapping[str, Any]) -> float:
        units = space.to_units(setting)
        units = units[~np.isnan(units)]
        return float("nan") if units[0] > 0.9 else -float(((units - 0.3) ** 2).sum())

    return score


def check_explanation(model: NaiveBayes, X: Any) -> None:
    """Check that the terms of an explanation sum to the log-probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldwiseWarning)
        answers = model.predict_log_proba(X)
    for explanation, answer in zip(model.explain(X), answers, strict=True):
        terms = [explanation.prior, *explanation.factors]
        for c, log_p in enumerate(answer):
            if explanation.contradictory or not math.isfinite(log_p):
                continue
            logs = [term.log[c] for term in terms]
            total = math.fsum([*logs, -explanation.log_normalizer])
            scale = max(1.0, *(abs(v) for v in logs))
            assert abs(total - log_p) <= 1e-12 * scale, "the terms of explain do not sum to predict_log_proba"
