"""Learning curves and validation curves: scores by training rows, or by one parameter, as numbers and as a picture.

The numbers are those of scikit-learn's functions of the same names, answered by one fold session.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import check_random_state

from foldwise.data.arguments import check_jobs
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import corrected_ends, share_tested
from foldwise.evaluation.metrics.scoring import check_single, metrics_of
from foldwise.evaluation.plotting import axes, interval_text, metric_name, printed_curve
from foldwise.evaluation.procedure_scores import check_model
from foldwise.evaluation.tables import cut, number
from foldwise.folds.engine import EvaluationTask, Outcome, ScoringPlan, evaluate
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Params
from foldwise.folds.rows import count_rows, refuse_routing
from foldwise.folds.splits import Split, freeze_splits

Floats = NDArray[np.float64]

MANY_FOLD = 50.0  # a range of values so wide is drawn on a logarithmic scale


@dataclass(frozen=True, repr=False)
class Curve:
    """Scores of several models, one a tick, on training and test rows of each split."""

    train_scores: Floats  # (ticks, splits)
    test_scores: Floats  # (ticks, splits)
    test_share: float  # test rows to training rows, of whole splits: how far splits overlap does not hang on a part
    metric: str
    level: float
    bounds: tuple[float, float]  # the least and the greatest value of the score; intervals end there

    @property
    def ticks(self) -> Sequence[Any]:
        """What the models differ in."""
        raise NotImplementedError

    @property
    def axis(self) -> str:
        """What the ticks are."""
        raise NotImplementedError

    @property
    def axis_label(self) -> str:
        """The same as pictures say it."""
        return self.axis

    @property
    def train_means(self) -> Floats:  # (ticks,)
        return np.asarray(self.train_scores.mean(axis=1))

    @property
    def means(self) -> Floats:  # (ticks,)
        """The mean test scores."""
        return np.asarray(self.test_scores.mean(axis=1))

    @property
    def low(self) -> Floats:  # (ticks,)
        """The lower ends of the intervals of the test scores (corrected resampled t)."""
        return corrected_ends(self.test_scores, self.test_share, self.level, self.bounds)[0]

    @property
    def high(self) -> Floats:  # (ticks,)
        """The upper ends of the intervals."""
        return corrected_ends(self.test_scores, self.test_share, self.level, self.bounds)[1]

    def to_frame(self) -> Any:
        """The curve as a polars frame: ticks, mean scores on training and test rows, ends of the interval."""
        import polars as pl

        ticks = self.ticks if are_numbers(self.ticks) else [str(tick) for tick in self.ticks]
        columns = {"train": self.train_means, "test": self.means, "low": self.low, "high": self.high}
        return pl.DataFrame({self.axis: np.asarray(ticks), **columns})

    def plot(self, ax: Any = None) -> Any:
        """Draw both curves into a matplotlib axes, a new one by default; gives the axes."""
        ax = axes(ax)
        tests = f"test rows, mean of {self.test_scores.shape[1]} splits"
        between = f"{self.level:.0%} interval of the test score"
        if are_numbers(self.ticks):
            order = np.argsort(np.asarray(self.ticks, dtype=float))
            x = np.asarray(self.ticks, dtype=float)[order]
            if np.isfinite(self.low).any():
                ax.fill_between(x, self.low[order], self.high[order], alpha=0.2, linewidth=0, color="C0", label=between)
            style: dict[str, Any] = {"marker": "o", "markersize": 3}
            ax.plot(x, self.means[order], color="C0", label=tests, **style)
            ax.plot(x, self.train_means[order], color="C1", linestyle="--", label="training rows", **style)
            if x[0] > 0 and x[-1] > MANY_FOLD * x[0]:
                ax.set_xscale("log")
        else:  # values without an order have no line between them
            x = np.arange(len(self.ticks), dtype=float)
            if np.isfinite(self.low).any():
                ax.vlines(x, self.low, self.high, color="C0", linewidth=6, alpha=0.2, label=between)
            ax.plot(x, self.means, "o", color="C0", label=tests)
            ax.plot(x, self.train_means, "_", color="C1", markersize=14, label="training rows")
            ax.set_xticks(x, [cut(str(tick)) for tick in self.ticks])
            ax.margins(x=0.2, y=0.35)  # room for the legend
        ax.set_xlabel(self.axis_label)
        ax.set_ylabel(self.metric)
        ax.legend(loc="best", frameon=False)
        return ax

    def __str__(self) -> str:
        names = [cut(f"{tick:g}" if isinstance(tick, float) else str(tick)) for tick in self.ticks]
        ends = np.column_stack([self.low, self.means, self.high])
        heads = [cut(self.axis), "train", "test", f"{self.level:.0%} interval"]
        cells = [
            [name, number(train), number(mean), interval_text(low, high)]
            for name, train, (low, mean, high) in zip(names, self.train_means, ends.tolist(), strict=True)
        ]
        title = f"{self.metric} on {self.test_scores.shape[1]} splits"
        return "\n".join([title, "", *printed_curve(heads, cells, ends)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class LearningCurve(Curve):
    """Scores by the number of training rows."""

    train_sizes: NDArray[np.int64]  # (ticks,)

    @property
    def ticks(self) -> Sequence[Any]:
        return list(self.train_sizes.tolist())

    @property
    def axis(self) -> str:
        return "train_size"

    @property
    def axis_label(self) -> str:
        return "number of training rows"


@dataclass(frozen=True, repr=False)
class ValidationCurve(Curve):
    """Scores by the values of one parameter."""

    param_name: str
    param_range: tuple[Any, ...]  # (ticks,)

    @property
    def ticks(self) -> Sequence[Any]:
        return self.param_range

    @property
    def axis(self) -> str:
        return self.param_name


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    train_sizes: ArrayLike = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    shuffle: bool = False,
    random_state: Any = None,
    error_score: Any = np.nan,
    level: float = 0.95,
    **fit_params: Any,
) -> LearningCurve:
    """Score an estimator on growing parts of each split's training rows.

    The numbers are those of scikit-learn's `learning_curve` on the same splits, whose parameters have the same names.

    Parameters
    ----------
    estimator, X, y, groups : the model, the table, its target, and the groups of rows for a `cv` that wants them
    train_sizes : shares of the first split's training rows, or numbers of rows
        A part is the first so many training rows of a split.
    cv : 5 folds by default; anything that scikit-learn's searches take
    scoring : accuracy by default, of a regressor R²; one metric
    n_jobs : threads or processes over splits
    shuffle, random_state : whether training rows are shuffled before parts are taken, and by what
    error_score : the score of a fit that fails (with a warning), or "raise"
    level : of the intervals
    fit_params : such as `sample_weight`; they do not weigh the scores

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, learning_curve
    >>> curve = learning_curve(NaiveBayes(), *load_iris(return_X_y=True), train_sizes=[0.2, 1.0], shuffle=True,
    ...                        random_state=0)
    >>> curve.train_sizes.tolist(), curve.means.round(2).tolist()
    ([24, 120], [0.95, 0.95])
    """
    asked = CurveRequest.of(estimator, X, y, groups, cv, scoring, level, fit_params)
    sizes = absolute_sizes(train_sizes, len(asked.splits[0].train))
    trains = [split.train for split in asked.splits]
    if shuffle:
        rng = check_random_state(random_state)
        trains = [rng.permutation(train) for train in trains]
    parts = [
        Split(train[:size], split.test) for train, split in zip(trains, asked.splits, strict=True) for size in sizes
    ]
    hint = "" if shuffle else " Hint: shuffle=True mixes training rows that are sorted by class."
    outcome = asked.answer([{}], parts, n_jobs, error_score, hint)
    shape = (len(asked.splits), len(sizes))
    train_scores, test_scores = (table[0].reshape(shape).T for table in outcome)
    name = metric_name(scoring, estimator)
    return LearningCurve(train_scores, test_scores, asked.test_share, name, level, asked.bounds, sizes)


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any,
    param_name: str,
    param_range: Sequence[Any],
    *,
    groups: Any = None,
    cv: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    error_score: Any = np.nan,
    level: float = 0.95,
    **fit_params: Any,
) -> ValidationCurve:
    """Score an estimator for each value of one of its parameters; what the values share is done once.

    The numbers are those of scikit-learn's `validation_curve` on the same splits, whose parameters have the same names.
    The best of the mean scores is a little too good as an estimate, because it was chosen on these splits.

    Parameters
    ----------
    estimator, X, y, groups : the model, the table, its target, and the groups of rows for a `cv` that wants them
    param_name, param_range : the parameter, such as "alpha" or "model__max_depth", and its values
    cv : 5 folds by default; anything that scikit-learn's searches take
    scoring : accuracy by default, of a regressor R²; one metric
    n_jobs : threads or processes over splits
    error_score : the score of a fit that fails (with a warning), or "raise"
    level : of the intervals
    fit_params : such as `sample_weight`; they do not weigh the scores

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import KNNClassifier, validation_curve
    >>> curve = validation_curve(KNNClassifier(), *load_iris(return_X_y=True), "n_neighbors", [1, 10, 80])
    >>> curve.means.round(2).tolist()
    [0.96, 0.99, 0.92]
    """
    values = () if isinstance(param_range, str) or not isinstance(param_range, Iterable) else tuple(param_range)
    if not values:
        raise InputError(
            f"param_range must hold values, got {param_range!r}.", "pass the values that the parameter is to take."
        )
    check_model(estimator, "the model")
    known = estimator.get_params()
    if param_name not in known:
        raise InputError(
            f"Invalid parameter {param_name!r} for estimator {type(estimator).__name__}.",
            f"it has {listing(sorted(known))}.",
        )
    asked = CurveRequest.of(estimator, X, y, groups, cv, scoring, level, fit_params)
    settings = [{param_name: value} for value in values]
    train_scores, test_scores = asked.answer(settings, asked.splits, n_jobs, error_score)
    name = metric_name(scoring, estimator)
    return ValidationCurve(train_scores, test_scores, asked.test_share, name, level, asked.bounds, param_name, values)


@dataclass(frozen=True)
class CurveRequest:
    """A session, its splits, and the one metric that is asked for."""

    session: Any
    splits: Sequence[Split]
    metrics: dict[str, Any]

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        groups: Any,
        cv: Any,
        scoring: Any,
        level: float,
        fit_params: dict[str, Any],
    ) -> CurveRequest:
        check_single(scoring, "a curve shows")
        check_level(level)
        check_model(estimator, "the model")
        refuse_routing(fit_params)
        metrics, _, _ = metrics_of(scoring, estimator)
        session = open_session(estimator, X, y, fit_params)
        splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=is_classifier(estimator))
        return cls(session, splits, metrics)

    @property
    def bounds(self) -> tuple[float, float]:
        return tuple(self.metrics["score"].bounds)

    @property
    def test_share(self) -> float:
        return share_tested(self.splits)

    def answer(
        self, settings: Sequence[Params], splits: Sequence[Split], n_jobs: int | None, error_score: Any, hint: str = ""
    ) -> tuple[Floats, Floats]:
        """The scores on training and on test rows, both (settings, splits)."""
        check_jobs(n_jobs)
        work = ScoringPlan(self.metrics, on_train=True, weighted=False)
        [outcome] = evaluate(self.session, [EvaluationTask(settings, splits)], work, n_jobs=n_jobs, audit=True)
        report(outcome, error_score, hint)
        for setting, place in {(one[0], one[1]) for one in outcome.failures + outcome.unscored}:
            outcome.scores["score"][setting, place] = error_score
        for setting, place in {(one[0], one[1]) for one in outcome.failures + outcome.train_unscored}:
            outcome.train_scores["score"][setting, place] = error_score
        return outcome.train_scores["score"], outcome.scores["score"]


def report(outcome: Outcome, error_score: Any, hint: str) -> None:
    """Raise what failed, or warn of it."""
    lost = [one[-1] for one in outcome.failures]
    unscored = [one[-1] for one in (*outcome.unscored, *outcome.train_unscored)]
    if (lost or unscored) and error_score == "raise":
        raise (lost or unscored)[0]
    if lost and len(lost) == outcome.seconds.size:
        raise InputError(f"all the {len(lost)} fits failed; the first: {lost[0]!r}", "error_score='raise' shows it.")
    if lost:
        warnings.warn(
            f"{len(lost)} fits failed out of a total of {outcome.seconds.size}; their score is {error_score}. "
            f"The first: {lost[0]!r}.{hint}",
            FitFailedWarning,
            stacklevel=4,
        )
    if unscored:
        warnings.warn(
            f"Scoring failed {len(unscored)} times; the score is {error_score}. The first: {unscored[0]!r}",
            UserWarning,
            stacklevel=4,
        )


def absolute_sizes(train_sizes: ArrayLike, most: int) -> NDArray[np.int64]:
    """Numbers of training rows, sorted, each once."""
    sizes = np.asarray(train_sizes)
    if sizes.ndim != 1 or not sizes.size or sizes.dtype.kind not in "iuf":
        raise InputError(f"train_sizes must be a list of shares or of numbers of rows, got {train_sizes!r}.")
    low, high = sizes.min(), sizes.max()
    if sizes.dtype.kind == "f":
        if not (low > 0 and high <= 1):
            raise InputError(
                f"train_sizes are fractions of the training rows, which lie within (0, 1], but they are within "
                f"[{low:g}, {high:g}].",
                "for numbers of rows pass whole numbers.",
            )
        sizes = np.clip((sizes * most).astype(int), 1, most)
    elif low <= 0 or high > most:
        raise InputError(
            f"train_sizes are numbers of training rows within (0, {most}], but they are within [{low}, {high}].",
            f"the first split has {most} training rows.",
        )
    found = np.unique(sizes).astype(np.int64)
    if len(found) < len(sizes):
        warnings.warn(
            f"Removed duplicate entries from 'train_sizes': there are {len(found)} ticks instead of {len(sizes)}.",
            RuntimeWarning,
            stacklevel=3,
        )
    return found


def are_numbers(values: Sequence[Any]) -> bool:
    """Whether all are numbers, and no truth values."""
    return all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
