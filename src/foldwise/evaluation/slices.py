"""`score_slices`: every metric, the calibration and the cost by slices of a table, with tests of the differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from foldwise.arrays import Floats
from foldwise.data.arguments import whole_at_least
from foldwise.data.frames import as_polars
from foldwise.data.schema import listing
from foldwise.data.target import encode_target
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import holm
from foldwise.evaluation.decision import check_proba
from foldwise.evaluation.estimates import StudentSpread, check_level
from foldwise.evaluation.label_names import find, names_of
from foldwise.evaluation.metrics import Metric, class_metric, cost_metric, value_metric
from foldwise.evaluation.metrics.metric import PredictionBatch
from foldwise.evaluation.metrics.registry import ALIASES, METRICS
from foldwise.evaluation.predicted_classes import class_predictions
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.evaluation.slice_scores import LEAST_OF_CLASS, SliceScore, SliceScores, SliceVerdict
from foldwise.evaluation.slicing import BINS, TableSlice, slices_of
from foldwise.folds.protocol import Need

LEAST_ROWS = 30
LEAST_GROUPS = 10
CALIBRATION = "calibration"
CLASS_METRICS = ("log_loss", "accuracy", "balanced_accuracy", "roc_auc")
VALUE_METRICS = ("root_mean_squared_error", "mean_absolute_error", "r2")


def score_slices(
    y: Any,
    predicted: Any,
    columns: Any,
    slices: str | Sequence[str] | None = None,
    *,
    metrics: str | Sequence[str | Metric] | None = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    costs: Any = None,
    weights: Any = None,
    groups: Any = None,
    bins: int | Mapping[str, Any] = BINS,
    least_rows: int = LEAST_ROWS,
    level: float = 0.95,
) -> SliceScores:
    """Score predictions by slices of a table, and test which slices differ from the rest.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The true classes or values.
    predicted : array-like of shape (n_rows, n_classes) or (n_rows,)
        Probabilities of classes, or predicted values of a quantity, for rows that the model was not trained on. For two
        classes, the probabilities of the second class are enough. Predicted labels of classes are scored by metrics of
        labels, such as accuracy.
    columns : frame of n_rows rows
        The columns to cut by. They need not be columns of the model.
    slices : str or list of str, default None
        Names of columns, as a list or separated by commas. None means all columns. Categories are slices of their own,
        and so are missing cells. Numbers and dates are cut into bins.
    metrics : list of str or Metric, default None
        Metrics by name. None means the usual ones, and "all" means every metric that is defined for the target.
        Calibration, and the cost if costs are given, are always added.
    classes : sequence, default None
        The class of each column of `predicted`; None means the sorted labels of y.
    positive : class label, default None
        The class whose calibration is shown. None means the second of two classes; with more classes, the predicted
        class of each row.
    costs : CostMatrix, default None
        Costs of actions, for the realized cost.
    weights : array-like of shape (n_rows,), default None
        Weight of each row.
    groups : array-like of shape (n_rows,), default None
        Groups of rows that depend on each other. Standard errors are then those of groups.
    bins : int or mapping, default 4
        Number of bins of numbers, cut at quantiles; or the edges between bins by the name of the column.
    least_rows : int, default 30
        A slice with fewer rows gets no verdict.
    level : float, default 0.95
        Level of intervals. A verdict needs a corrected p-value below 1 - level.

    Returns
    -------
    SliceScores
        The score of each slice by each metric, with intervals, sizes, differences from the rest and verdicts.

    Notes
    -----
    Calibration is the mean of the observed minus the mean of the predicted: the share of the positive class, or the
    value of a quantity. A difference is that between a slice and all other rows. Its p-value is that of Welch's t-test
    with the standard errors of the metric, and all p-values of a result are corrected together by Holm (1979), so that
    the probability of any wrong verdict is at most 1 - level. If a column has two slices, their tests are the same and
    count once.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from foldwise import score_slices
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=400)
    >>> columns = pl.DataFrame({"team": ["a", "b"] * 200})
    >>> y = np.where(columns["team"] == "a", rng.uniform(size=400) < p, rng.uniform(size=400) < 0.5).astype(int)
    >>> found = score_slices(y, np.column_stack([1 - p, p]), columns, metrics=["log_loss"])
    >>> found.to_frame().filter(metric="log_loss").select("slice", "rows", "verdict").rows()
    [('a', 200, 'better'), ('b', 200, 'worse')]
    """
    check_level(level)
    whole_at_least("least_rows", least_rows, 2)
    frame = as_polars(columns)
    labels_only = False
    if np.ndim(predicted) == 1 and len(predicted):
        about_classes = classes is not None or positive is not None or costs is not None or names_class_metric(metrics)
        found = class_predictions(y, predicted, classes, about_classes=about_classes)
        predicted, labels_only = (predicted, False) if found is None else found
    rows, known = scored(y, predicted, weights, groups, classes)
    if frame.height != len(rows.truth):
        raise InputError(
            f"columns must have one row per prediction, got {frame.height:,} rows for {len(rows.truth):,} predictions."
        )
    names = frame.columns if slices is None else slice_names(slices)
    index = None if positive is None else find(positive, names_of(known))
    if positive is not None and index is None:
        raise InputError(f"positive must be one of the classes, got {positive!r}.", f"choose among {listing(known)}.")
    chosen = chosen_metrics(metrics, known, costs, index, labels_only=labels_only)
    return slice_scores(rows, chosen, frame, names, positive=index, bins=bins, least_rows=least_rows, level=level)


def slice_names(slices: str | Iterable[str]) -> list[str]:
    """The names of columns, each once."""
    names = [name.strip() for name in slices.split(",")] if isinstance(slices, str) else [str(one) for one in slices]
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        raise InputError("slices= must name at least one column.", "pass slices='sex,age', for example.")
    return names


def scored(y: Any, predicted: Any, weights: Any, groups: Any, classes: Any) -> tuple[ScoredRows, list[Any]]:
    """Check the arguments, and return the rows and the classes; no classes for a quantity."""
    given = np.asarray(predicted, dtype=np.float64)
    if given.ndim not in (1, 2) or not len(given):
        raise InputError(
            f"predicted must have the shape (n_rows,) or (n_rows, n_classes) with at least one row, got {given.shape}.",
            "pass the output of predict_proba, or of predict for a quantity.",
        )
    known: list[Any] = []
    if given.ndim == 2:
        check_proba(given)
        target = encode_target(y, len(given), rows="predicted")
        known = names_of(target.classes if classes is None else classes)
        found = [find(name, known) for name in names_of(target.classes)]
        if len(known) != given.shape[1] or None in found:
            raise InputError(
                f"predicted has {given.shape[1]} columns, but y contains {listing(names_of(target.classes))}.",
                "pass the estimator's classes_ as classes.",
            )
        truth: NDArray[Any] = np.array(found, dtype=np.int64)[target.codes]
    else:
        truth = np.asarray(y, dtype=np.float64)
        if truth.shape != given.shape or not (np.isfinite(truth).all() and np.isfinite(given).all()):
            raise InputError(
                "y and predicted must be finite numbers, one per row.", "remove rows without a value, and pass both."
            )
    weighed = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weighed.shape != truth.shape or not (np.isfinite(weighed).all() and (weighed >= 0).all() and weighed.any()):
        raise InputError("weights must be finite numbers of at least 0, one per row.")
    codes = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if codes is not None and codes.shape != truth.shape:
        raise InputError(f"groups must have one value per row, got {len(codes):,} for {len(truth):,} rows.")
    return ScoredRows(truth, given, weighed, np.zeros(len(truth), dtype=np.intp), codes), known


def names_class_metric(metrics: Any) -> bool:
    """Whether a metric of classes is among those that were asked for."""
    wanted = [] if metrics is None else [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    names = [ALIASES.get(one, one) for one in wanted if isinstance(one, str)]
    asked = [METRICS[name] for name in names if name in METRICS]
    return any(one.task == "classification" for one in [*asked, *(one for one in wanted if isinstance(one, Metric))])


def chosen_metrics(
    metrics: Any, classes: Sequence[Any], costs: Any, positive: int | None, *, labels_only: bool = False
) -> list[Metric]:
    """The metrics of a result, and the cost if there are costs. Labels have only metrics of labels."""
    labels = np.asarray(classes)
    if labels_only and metrics in (None, "all"):
        metrics = [
            one.name
            for one in METRICS.values()
            if one.need == Need.LABELS and (metrics == "all" or one.name in CLASS_METRICS)
        ]
        metrics = [one for one in metrics if len(classes) == 2 or not METRICS[one].two_classes]
    if metrics == "all":
        metrics = [one.name for one in METRICS.values() if (one.task == "classification") == bool(classes)]
        metrics = [one for one in metrics if len(classes) == 2 or not METRICS[one].two_classes]
    wanted = (CLASS_METRICS if classes else VALUE_METRICS) if metrics is None else metrics
    wanted = [wanted] if isinstance(wanted, str | Metric) else list(wanted)
    if not classes:
        return [one if isinstance(one, Metric) else value_metric(one) for one in wanted]
    found = [one if isinstance(one, Metric) else class_metric(one, labels, costs, positive) for one in wanted]
    if costs is not None and all(one.name != "cost" for one in found):
        found.append(cost_metric(costs, labels))
    beyond = [one.name for one in found if one.need != Need.LABELS] if labels_only else []
    if beyond:
        raise InputError(
            f"predicted contains labels, but {listing(beyond)} must be computed from probabilities.",
            "pass the output of predict_proba, or choose metrics of labels, such as 'accuracy'.",
        )
    return found


def compared(truth: NDArray[Any], predicted: Floats, positive: int | None) -> tuple[Floats, Floats]:
    """What calibration compares in each row: what was observed, and what was predicted."""
    if predicted.ndim == 1:
        return truth, predicted
    index = compared_class(predicted, positive)
    if index is None:
        return (predicted.argmax(axis=1) == truth).astype(np.float64), np.asarray(predicted.max(axis=1))
    return (truth == index).astype(np.float64), predicted[:, index]


def compared_class(predicted: Floats, positive: int | None) -> int | None:
    """Return the class whose probability is compared; None means the predicted class of each row."""
    return 1 if positive is None and predicted.shape[1] == 2 else positive


def compared_words(predicted: Floats, positive: int | None) -> str:
    """Say what the mean of observed minus predicted is."""
    if predicted.ndim == 1:
        return "the mean true value minus the mean prediction"
    if compared_class(predicted, positive) is None:
        return "the share of correct predictions minus the mean probability of the predicted class"
    return "the share of the positive class minus its mean predicted probability"


def calibration_metric(quantity: bool, positive: int | None) -> Metric:
    """The mean of observed minus predicted, as a metric whose best value is 0."""

    def gaps(batch: PredictionBatch) -> Floats:  # (settings, rows)
        stack = batch.values if quantity else batch.answer.probabilities()
        assert stack is not None
        return np.stack([np.subtract(*compared(batch.truth, one, positive)) for one in stack])

    bounds = (-np.inf, np.inf) if quantity else (-1.0, 1.0)
    need = Need.VALUES if quantity else Need.PROBA
    return Metric(CALIBRATION, "observed − predicted", True, bounds, need, row_scores=gaps)


def slice_scores(
    rows: ScoredRows,
    metrics: Sequence[Metric],
    frame: pl.DataFrame,
    names: Sequence[str],
    *,
    positive: int | None = None,
    bins: int | Mapping[str, Any] = BINS,
    least_rows: int = LEAST_ROWS,
    level: float = 0.95,
) -> SliceScores:
    """Score slices of checked rows; `score_slices` describes the arguments."""
    quantity = rows.predicted.ndim == 1
    cut, edges = slices_of(frame, names, bins)
    every = [*metrics, calibration_metric(quantity, positive)]
    found = []
    for one in cut:
        pair = SlicePair.of(rows, one, least_rows)
        found += [pair.score(metric, level) for metric in every]
        sides = compared(pair.inside.truth, pair.inside.predicted, positive)
        observed, predicted = (weighted_mean(side, pair.inside.weights) for side in sides)
        found[-1] = replace(found[-1], observed=observed, predicted=predicted)
    overall = {metric.name: metric(rows.truth, rows.predicted, rows.weights) for metric in every}
    result, n_tests = corrected(found, 1 - level)
    least_groups = 0 if rows.groups is None else LEAST_GROUPS
    words = compared_words(rows.predicted, positive)
    return SliceScores(tuple(result), overall, edges, len(rows.truth), least_rows, level, n_tests, least_groups, words)


def corrected(found: list[SliceScore], alpha: float) -> tuple[list[SliceScore], int]:
    """Correct all p-values together by Holm's method, and turn them into verdicts. Also count the tests."""
    slices_by_column: dict[str, list[str]] = {}
    for one in found:
        labels = slices_by_column.setdefault(one.column, [])
        if one.label not in labels:
            labels.append(one.label)

    def is_mirror(one: SliceScore) -> bool:  # the second of two slices repeats the test of the first
        labels = slices_by_column[one.column]
        return len(labels) == 2 and one.label == labels[1]

    tested = [i for i, one in enumerate(found) if one.p is not None and not is_mirror(one)]
    adjusted = dict(zip(tested, holm([found[i].p or 0.0 for i in tested]).tolist(), strict=True)) if tested else {}
    keys = {(found[i].column, found[i].metric): p for i, p in adjusted.items()}
    result = []
    for i, one in enumerate(found):
        if one.p is None:
            result.append(one)
            continue
        p = keys[one.column, one.metric] if is_mirror(one) else adjusted[i]
        result.append(replace(one, p_corrected=p, verdict=one.direction if p < alpha else "not clear"))
    return result, len(tested)


@dataclass(frozen=True)
class SlicePair:
    """A slice and the rest of the rows."""

    cut: TableSlice
    inside: ScoredRows
    rest: ScoredRows
    is_small: bool

    @classmethod
    def of(cls, rows: ScoredRows, cut: TableSlice, least_rows: int) -> SlicePair:
        others = np.setdiff1d(np.arange(len(rows.truth)), cut.rows, assume_unique=True)
        inside, rest = rows_at(rows, cut.rows), rows_at(rows, others)
        small = min(len(cut.rows), len(others)) < least_rows
        if rows.groups is not None:
            small = small or min(n_units(inside), n_units(rest)) < LEAST_GROUPS
        return cls(cut, inside, rest, small)

    def score(self, metric: Metric, level: float) -> SliceScore:
        """The score of the slice by one metric, and the test of its difference from the rest."""
        inside = scored_once(self.inside, metric, level)
        rest = scored_once(self.rest, metric, level)
        found = SliceScore(
            *(self.cut.column, self.cut.label, metric.name, metric.title, len(self.cut.rows)),
            *(inside.value, inside.low, inside.high, rest.value),
        )
        if inside.value is None or rest.value is None or self.is_small or self.lacks_class(metric):
            return found
        gap, squares = inside.value - rest.value, (inside.error**2, rest.error**2)
        error = float(np.sqrt(sum(squares)))
        if not 0 < error < np.inf:
            return found
        below = sum(s**2 / max(n_units(side) - 1, 1) for s, side in zip(squares, (self.inside, self.rest), strict=True))
        freedom = sum(squares) ** 2 / below
        low, high = StudentSpread(error, freedom).between(gap, level)
        p = float(2 * stats.t.sf(abs(gap) / error, freedom))
        better = gap > 0 if metric.greater_is_better else gap < 0
        direction: SliceVerdict = "differs" if metric.name == CALIBRATION else "better" if better else "worse"
        return replace(found, difference=gap, difference_low=low, difference_high=high, p=p, direction=direction)

    def lacks_class(self, metric: Metric) -> bool:
        """Whether a metric that is computed by class has too few rows of some class."""
        if metric.task == "regression" or metric.row_scores is not None:
            return False
        counts = [np.bincount(side.truth, minlength=side.predicted.shape[1]) for side in (self.inside, self.rest)]
        occur = (counts[0] + counts[1]) > 0
        return bool((np.minimum(*counts)[occur] < LEAST_OF_CLASS).any())


@dataclass(frozen=True)
class ScoredSide:
    """The score of some rows, with its standard error and interval; None where it is not defined."""

    value: float | None
    error: float = np.nan
    low: float | None = None
    high: float | None = None


def scored_once(rows: ScoredRows, metric: Metric, level: float) -> ScoredSide:
    """Score some rows by one metric."""
    if not rows.weights.any():
        return ScoredSide(None)
    value = metric(rows.truth, rows.predicted, rows.weights)
    if not np.isfinite(value):
        return ScoredSide(None)
    if n_units(rows) < 2:
        return ScoredSide(value)
    parts = rows.parts(metric)
    spread: Any = None if parts is None else parts.spread(rows.groups)
    if spread is None:
        spread = StudentSpread(rows.error(metric)[0], n_units(rows) - 1)
    low, high = np.clip(spread.between(value, level), *metric.bounds).tolist()
    return ScoredSide(value, float(spread.error), low, high)


def weighted_mean(values: Floats, weights: Floats) -> float | None:
    return float(values @ weights / weights.sum()) if weights.any() else None


def rows_at(rows: ScoredRows, index: NDArray[np.intp]) -> ScoredRows:
    groups = None if rows.groups is None else rows.groups[index]
    return ScoredRows(rows.truth[index], rows.predicted[index], rows.weights[index], rows.fold[index], groups)


def n_units(rows: ScoredRows) -> int:
    """The number of independent units: rows, or groups of rows."""
    return len(rows.truth) if rows.groups is None else len(np.unique(rows.groups))
