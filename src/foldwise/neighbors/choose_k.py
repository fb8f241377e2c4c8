"""`choose_k`: the score of each number of neighbors, with a confidence interval, as a table and as a plot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from foldwise.data.arguments import whole_at_least
from foldwise.data.html import html_table
from foldwise.data.target import refuse_several, task_of
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import corrected_ends, share_tested
from foldwise.evaluation.metrics.scoring import check_single
from foldwise.evaluation.nested import NestedResult, nested_on_session
from foldwise.evaluation.plotting import axes, metric_name, printed_curve
from foldwise.evaluation.tables import interval_text, number
from foldwise.folds.engine import EvaluationTask, evaluate
from foldwise.folds.opening import open_session
from foldwise.folds.progress import Progress
from foldwise.folds.rows import count_rows
from foldwise.folds.splits import freeze_splits
from foldwise.folds.tolerance import tolerance
from foldwise.neighbors.estimators import KNNClassifier, KNNRegressor
from foldwise.tuning import GridSearchCV


@dataclass(frozen=True, repr=False)
class KCurve:
    """Scores of each number of neighbors, as returned by `choose_k`.

    Attributes
    ----------
    ks : tuple of int
        The numbers of neighbors, ascending.
    scores : ndarray of shape (n_ks, n_splits)
        Score of each number of neighbors on the test rows of each split.
    test_share : float
        Number of test rows divided by the number of training rows.
    metric : str
        Name of the metric.
    level : float
        Confidence level of the intervals.
    bounds : tuple of float
        Smallest and greatest possible value of the metric; intervals are cut there.
    nested : NestedResult or None
        Honest estimate of the whole procedure: in each split, k is chosen within the training rows. The mean score of
        `best_k` is slightly optimistic, because k is chosen and scored on the same splits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import choose_k
    >>> curve = choose_k(*load_iris(return_X_y=True), ks=[1, 5, 15], nested=False)
    >>> curve.best_k, curve.means.round(2).tolist()
    (15, [0.96, 0.97, 0.97])
    """

    ks: tuple[int, ...]
    scores: NDArray[np.float64]  # (ks, splits)
    test_share: float
    metric: str
    level: float
    bounds: tuple[float, float]
    nested: NestedResult | None

    @property
    def means(self) -> NDArray[np.float64]:  # (ks,)
        """The mean score of each number of neighbors."""
        return np.asarray(np.average(self.scores, axis=1))

    @property
    def best_k(self) -> int:
        """The number of neighbors with the highest mean score; the smallest one if several tie within rounding."""
        best = np.nanmax(self.means)
        return self.ks[int(np.argmax(self.means >= best - tolerance(best)))]

    @property
    def low(self) -> NDArray[np.float64]:  # (ks,)
        """The lower ends of the confidence intervals (corrected resampled t-test)."""
        return corrected_ends(self.scores, self.test_share, self.level, self.bounds)[0]

    @property
    def high(self) -> NDArray[np.float64]:  # (ks,)
        """The upper ends of the confidence intervals."""
        return corrected_ends(self.scores, self.test_share, self.level, self.bounds)[1]

    def to_frame(self) -> Any:
        """Return the curve as a polars data frame.

        Returns
        -------
        polars.DataFrame
            One row per number of neighbors: `n_neighbors`, the mean score under the name of the metric, `low`, `high`.
        """
        import polars as pl

        columns = {"n_neighbors": self.ks, self.metric: self.means, "low": self.low, "high": self.high}
        return pl.DataFrame({name: np.asarray(values) for name, values in columns.items()})

    def plot(self, ax: Any = None) -> Any:
        """Plot the mean score of each number of neighbors with its confidence interval.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        ax = axes(ax)
        n_splits, best = self.scores.shape[1], self.means[self.ks.index(self.best_k)]
        interval = f"{self.level:.0%} confidence interval"
        ax.fill_between(self.ks, self.low, self.high, alpha=0.2, linewidth=0, label=interval)
        ax.plot(self.ks, self.means, marker="o", markersize=3, label=f"Mean over {n_splits} splits")
        ax.plot(self.best_k, best, "o", markersize=9, fillstyle="none", color="black", label=f"Best k = {self.best_k}")
        if self.nested is not None:
            label = f"Honest estimate {number(self.nested.estimate.value)} (k chosen within training rows)"
            ax.axhline(self.nested.estimate.value, linestyle="--", linewidth=1, color="gray", label=label)
        ax.set_xlabel("Number of neighbors k")
        ax.set_ylabel({"r2": "R²"}.get(self.metric, self.metric.replace("_", " ").capitalize()))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", edgecolor="none")
        return ax

    def _summary(self) -> list[str]:
        """The honest estimate, then the best k with its optimistic score."""
        lines = []
        if self.nested is not None:
            ends = interval_text(*self.nested.interval(self.level))
            between = f" ({self.level:.0%} interval {ends})" if ends else ""
            lines.append(f"Honest estimate (nested): {self.metric} {number(self.nested.estimate.value)}{between}")
        best, n_splits = number(self.means[self.ks.index(self.best_k)]), self.scores.shape[1]
        return [
            *lines,
            f"Best k: {self.best_k} (mean {self.metric} {best} over {n_splits} splits, slightly optimistic)",
        ]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The heading and the cells of the printed table."""
        ends = zip(self.ks, self.low.tolist(), self.means.tolist(), self.high.tolist(), strict=True)
        cells = [[str(k), number(mean), interval_text(low, high)] for k, low, mean, high in ends]
        return ["k", "mean", f"{self.level:.0%} interval"], cells

    def __str__(self) -> str:
        ends = np.column_stack([self.low, self.means, self.high])
        return "\n".join([*self._summary(), "", *printed_curve(*self._table(), ends)])

    def _repr_html_(self) -> str:
        title, *notes = self._summary()
        return html_table(title, *self._table(), notes)

    __repr__ = __str__


def choose_k(
    X: Any,
    y: Any,
    ks: Iterable[int] = range(1, 31),
    *,
    estimator: Any = None,
    cv: Any = None,
    scoring: Any = None,
    nested: bool = True,
    groups: Any = None,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
) -> KCurve:
    """Score every number of neighbors on the same splits, and find the best one.

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_columns)
        The rows.
    y : array-like of shape (n_rows,)
        Class labels, or target values for a regressor.
    ks : iterable of int, default range(1, 31)
        The numbers of neighbors.
    estimator : estimator, optional
        Any estimator with a parameter `n_neighbors`, or a pipeline that ends in one. Default:
        `KNNClassifier()`, or `KNNRegressor()` for a quantity: numbers with decimals, or more than 20 different ones.
    cv : int, splitter or iterable, optional
        Splits, as in scikit-learn's `GridSearchCV`. Default: 50 random splits with 80% training rows, stratified by
        class for a classifier.
    scoring : str or callable, optional
        Metric, as in scikit-learn's `GridSearchCV`. Default: accuracy, or R² for a regressor.
    nested : bool, default True
        Whether to compute the honest estimate: k is chosen by 5-fold cross-validation within each training set.
    groups : array-like of shape (n_rows,), optional
        Group of each row, for a `cv` that keeps groups together. The inner cross-validation keeps them together too.
    level : float, default 0.95
        Confidence level of the intervals.
    random_state : int, Generator or None, default 0
        Seed of the random splits, or a numpy Generator to draw it from.
    n_jobs : int, optional
        Number of threads. Default: one per core.

    Returns
    -------
    KCurve
        Scores of every k, the best k, and the honest estimate.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import choose_k
    >>> curve = choose_k(*load_iris(return_X_y=True), ks=range(1, 16))
    >>> curve.best_k, round(curve.nested.estimate.value, 2)
    (15, 0.96)
    """
    check_single(scoring)
    check_level(level)
    refuse_several(y)
    if not isinstance(ks, Iterable):
        raise FoldwiseTypeError(f"ks must be an iterable of integers, got {ks!r}.", "pass range(1, 31), for example.")
    counts = tuple(sorted({whole_at_least("each value of ks", k, 1) for k in ks}))
    if not counts:
        raise InputError(
            "ks must contain at least one number of neighbors, got none.", "pass range(1, 31), for example."
        )
    usual = KNNRegressor if estimator is None and task_of(y) == "regression" else KNNClassifier
    model = usual() if estimator is None else clone(estimator)
    name = f"{model.steps[-1][0]}__n_neighbors" if isinstance(model, Pipeline) else "n_neighbors"
    if name not in model.get_params():
        raise InputError(
            f"estimator must have a parameter {name}, but {type(model).__name__} has none.",
            "pass an estimator with n_neighbors, or a pipeline that ends in one.",
        )
    if cv is None:
        splitter = StratifiedShuffleSplit if is_classifier(model) else ShuffleSplit
        seed = int(random_state.integers(1 << 31)) if isinstance(random_state, np.random.Generator) else random_state
        cv = splitter(50, test_size=0.2, random_state=seed)
    inner = 5 if groups is None else GroupKFold(5)
    search = GridSearchCV(model, {name: list(counts)}, scoring=scoring, cv=inner, n_jobs=n_jobs)
    plan = search.plan()
    session = open_session(model, X, y)
    splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(model))
    check_fewest(max(counts), min(len(split.train) for split in splits), nested)
    with Progress() as progress:
        settings = [{name: k} for k in counts]
        question = EvaluationTask(settings, splits)
        [outcome] = evaluate(session, [question], plan.work, n_jobs=n_jobs, audit=search.audit, progress=progress)
    errors = [one[-1] for one in outcome.failures] + [one[-1] for one in outcome.unscored]
    if errors:
        raise errors[0]
    unbiased = nested_on_session(search, session, splits, groups) if nested else None
    name, bounds = metric_name(scoring, model), plan.metrics["score"].bounds
    return KCurve(counts, outcome.scores["score"], share_tested(splits), name, level, bounds, unbiased)


def check_fewest(k: int, n_train: int, nested: bool) -> None:
    """Raise if some training set, or inner training set of the nested estimate, has fewer rows than neighbors."""
    fewest = n_train - -(-n_train // 5) if nested else n_train
    if k > fewest:
        inner = " of the inner 5-fold cross-validation" if nested else ""
        raise InputError(
            f"ks must not exceed the number of training rows. The smallest training set{inner} has {fewest} rows, "
            f"but ks contains {k}.",
            "remove the larger values from ks" + (", or pass nested=False." if nested and k <= n_train else "."),
        )
