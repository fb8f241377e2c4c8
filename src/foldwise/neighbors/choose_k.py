"""`choose_k`: how good each number of neighbors is, with its interval, as numbers and as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import corrected_ends, share_tested
from foldwise.evaluation.metrics.scoring import check_single
from foldwise.evaluation.nested import NestedResult, nested_on_session
from foldwise.evaluation.plotting import axes, interval_text, metric_name, printed_curve
from foldwise.evaluation.tables import number
from foldwise.folds.engine import EvaluationTask, evaluate
from foldwise.folds.opening import open_session
from foldwise.folds.progress import Progress
from foldwise.folds.rows import count_rows
from foldwise.folds.splits import freeze_splits
from foldwise.folds.tolerance import tolerance
from foldwise.neighbors.estimators import KNNClassifier
from foldwise.neighbors.parameters import check_count
from foldwise.tuning import GridSearchCV


@dataclass(frozen=True, repr=False)
class KCurve:
    """The scores of each number of neighbors on each split, and what choosing among them is worth.

    `nested` is the unbiased estimate: in each split, k is chosen within the training rows alone. The mean score of
    the best k, chosen and scored on the same splits, is a little too good.
    """

    ks: tuple[int, ...]
    scores: NDArray[np.float64]  # (ks, splits)
    test_share: float  # test rows to training rows
    metric: str
    level: float
    bounds: tuple[float, float]  # the least and the greatest value of the score; intervals end there
    nested: NestedResult | None

    @property
    def means(self) -> NDArray[np.float64]:  # (ks,)
        return np.asarray(np.average(self.scores, axis=1))

    @property
    def best_k(self) -> int:
        """The k of the highest mean score; of those that agree within the tolerance, the smallest."""
        best = np.nanmax(self.means)
        return self.ks[int(np.argmax(self.means >= best - tolerance(best)))]

    @property
    def low(self) -> NDArray[np.float64]:  # (ks,)
        """The lower ends of the intervals (corrected resampled t)."""
        return corrected_ends(self.scores, self.test_share, self.level, self.bounds)[0]

    @property
    def high(self) -> NDArray[np.float64]:  # (ks,)
        """The upper ends of the intervals."""
        return corrected_ends(self.scores, self.test_share, self.level, self.bounds)[1]

    def to_frame(self) -> Any:
        """The curve as a polars frame: k, mean score, ends of its interval."""
        import polars as pl

        columns = {"n_neighbors": self.ks, self.metric: self.means, "low": self.low, "high": self.high}
        return pl.DataFrame({name: np.asarray(values) for name, values in columns.items()})

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with its interval into a matplotlib axes, a new one by default; gives the axes."""
        ax = axes(ax)
        best = self.ks.index(self.best_k)
        ax.fill_between(self.ks, self.low, self.high, alpha=0.2, linewidth=0, label=f"{self.level:.0%} interval")
        ax.plot(self.ks, self.means, marker="o", markersize=3, label=f"mean over {self.scores.shape[1]} splits")
        ax.plot(self.best_k, self.means[best], marker="o", markersize=9, fillstyle="none", color="black")
        label, point = f"k = {self.best_k}", (self.best_k, self.means[best])
        ax.annotate(label, point, xytext=(0, 10), textcoords="offset points", ha="center")
        if self.nested is not None:
            label = f"nested estimate {self.nested.estimate.value:.3f}"
            ax.axhline(self.nested.estimate.value, linestyle="--", linewidth=1, color="gray", label=label)
        ax.set_xlabel("number of neighbors k")
        ax.set_ylabel(self.metric)
        ax.legend(loc="best", frameon=False)
        return ax

    def __str__(self) -> str:
        lines = []
        if self.nested is not None:
            low, high = self.nested.interval(self.level)
            between = f"{self.level:.0%}: {interval_text(low, high)}; nested"
            lines.append(f"{self.metric} of choosing k: {number(self.nested.estimate.value)} ({between})")
        best = self.means[self.ks.index(self.best_k)]
        lines.append(
            f"best k: {self.best_k} (mean {number(best)} of {self.scores.shape[1]} splits, on which it was chosen)"
        )
        ends = np.column_stack([self.low, self.means, self.high])
        cells = [
            [str(k), number(mean), interval_text(low, high)]
            for k, (low, mean, high) in zip(self.ks, ends.tolist(), strict=True)
        ]
        return "\n".join([*lines, "", *printed_curve(["k", "mean", f"{self.level:.0%} interval"], cells, ends)])

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
    """Score every number of neighbors on the same splits, and say which is best and how good choosing it is.

    Parameters
    ----------
    X, y : the table and its target
    ks : the numbers of neighbors
    estimator : `KNNClassifier()` by default; any estimator with `n_neighbors`, or a pipeline that ends in one
    cv : 50 (stratified) resamples of 80% and 20% by default; anything that scikit-learn's searches take
    scoring : accuracy by default, of a regressor R²; anything that scikit-learn's searches take
    nested : whether choosing is estimated too: k is chosen by 5-fold cross-validation within each training set
    groups : the group of each row, for a `cv` that keeps groups together; inside, GroupKFold does
    level : of the intervals
    random_state : the seed of the resamples, or a numpy Generator to draw it from
    n_jobs : threads over splits

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import choose_k
    >>> curve = choose_k(*load_iris(return_X_y=True), ks=range(1, 16))
    >>> curve.best_k, round(curve.nested.estimate.value, 2)
    (15, 0.96)
    """
    check_single(scoring, "a curve shows")
    check_level(level)
    if not isinstance(ks, Iterable):
        raise FoldwiseTypeError(f"ks must be several numbers of neighbors, got {ks!r}.", "pass range(1, 31), say.")
    counts = tuple(sorted({check_count("k", k) for k in ks}))
    if not counts:
        raise InputError("there is no number of neighbors to choose from.", "pass ks, such as range(1, 31).")
    model = KNNClassifier() if estimator is None else clone(estimator)
    name = f"{model.steps[-1][0]}__n_neighbors" if isinstance(model, Pipeline) else "n_neighbors"
    if name not in model.get_params():
        raise InputError(
            f"{type(model).__name__} has no parameter {name}, so there is no k to choose.",
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
    """Refuse a k that some training set has no neighbors for, the inner ones of the nested estimate included."""
    fewest = n_train - -(-n_train // 5) if nested else n_train
    if k > fewest:
        where = " within a training set, where k is chosen on four of five folds" if nested else ""
        raise InputError(
            f"k = {k} asks for more neighbors than the smallest training set has rows, {fewest}{where}.",
            "leave out the larger k" + (", or pass nested=False." if nested and k <= n_train else "."),
        )
