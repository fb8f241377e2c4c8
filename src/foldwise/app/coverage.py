"""`CoverageRule`: intervals or sets for the predictions of a run, and the rows that a guarantee sets aside.

By default the rule rests on the crossed choice: rows that were predicted by models selected and trained without them.
No theorem covers the final model, which learned from all rows. With a guarantee, rows are set aside before the search,
and the rule rests on what the final model predicts for them: split conformal prediction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.task import LEAST_ROWS, FitTask, HeldOutTable
from foldwise.arrays import Floats
from foldwise.data.table import rows_of
from foldwise.decisions.conformal.levels import SLACK, check_coverage, closed, least_rows, quantile_of
from foldwise.errors import InputError
from foldwise.models.column_roles import outline

if TYPE_CHECKING:
    from foldwise.app.result import FitResult


ASIDE = 0.2  # share of rows that a guarantee sets aside
SPARE = 4  # times the rows that a finite quantile needs: with just enough, intervals are as wide as the largest error


def coverage_level(coverage: Any) -> float:
    """Return a coverage that was given as a share, or as text such as "90%".

    >>> coverage_level("90%"), coverage_level(0.9)
    (0.9, 0.9)
    """
    if not isinstance(coverage, str):
        return check_coverage(coverage)
    text = coverage.strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise InputError(f"coverage must be a share such as 0.9 or 90%, got {coverage!r}.") from None
    value = round(value / 100, 12) if text.endswith("%") else value
    if not 0 < value < 1:
        meant = f"{value:g}%" if not text.endswith("%") and 50 <= value < 100 else "0.9 or 90%"
        raise InputError(f"coverage must be above 0% and below 100%, got {coverage!r}.", f"write {meant}.")
    return value


def check_guarantee(coverage: Any, guarantee: bool, time: str | None) -> None:
    """Refuse a guarantee without a coverage, or with a time column."""
    if coverage is not None:
        coverage_level(coverage)
    if not guarantee:
        return
    if coverage is None:
        raise InputError("guarantee=True needs a coverage to guarantee.", "pass coverage=0.9.")
    if time is not None:
        raise InputError(
            "guarantee=True cannot be combined with time=. Later rows are not exchangeable with earlier ones, so "
            "nothing can be guaranteed.",
            "leave one of them out.",
        )


@dataclass(frozen=True)
class CoverageRule:
    """How intervals or sets follow from predictions.

    Attributes
    ----------
    level : float
        The requested coverage.
    guaranteed : bool
        Whether rows were set aside for it.
    quantile : float
        Half the width of intervals, or 1 minus the least probability of a class in a set. Infinite if there were too
        few rows.
    n_rows : int
        The number of rows that it rests on.

    Examples
    --------
    >>> rule = CoverageRule(0.9, False, 2.0, 100)
    >>> rule.intervals(np.array([5.0]))
    array([[3., 7.]])
    """

    level: float
    guaranteed: bool
    quantile: float
    n_rows: int

    @classmethod
    def of_scores(cls, level: float, guaranteed: bool, scores: Floats) -> CoverageRule:
        return cls(level, guaranteed, quantile_of(np.sort(scores), level), len(scores))

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, Any]) -> CoverageRule | None:
        """Read the rule of a model file; None if the run had no coverage."""
        stored = metadata.get("coverage")
        if not isinstance(stored, Mapping):
            return None
        quantile = stored.get("quantile")
        try:
            found = math.inf if quantile is None else float(quantile)
            return cls(float(stored["level"]), bool(stored["guaranteed"]), found, int(stored["rows"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the coverage in the model file is not valid: {error}.", "save the model again, or run fit again."
            ) from error

    def to_metadata(self) -> dict[str, Any]:
        """Return plain values for a model file."""
        quantile = self.quantile if math.isfinite(self.quantile) else None
        return {"level": self.level, "guaranteed": self.guaranteed, "quantile": quantile, "rows": self.n_rows}

    def intervals(self, values: Floats) -> Floats:  # (rows, 2)
        return closed(values - self.quantile, values + self.quantile)

    def sets(self, proba: Floats) -> NDArray[np.bool_]:  # (rows, classes)
        return np.asarray(1.0 - proba <= self.quantile + SLACK)

    @property
    def words(self) -> str:
        """The level, and whether it is guaranteed."""
        return f"{100 * self.level:g}% coverage, {'guaranteed' if self.guaranteed else 'measured, not guaranteed'}"


def scores_of(truth: NDArray[Any], predicted: Floats) -> Floats:
    """Return the calibration scores: absolute residuals, or 1 minus the probability of the true class."""
    if predicted.ndim == 1:
        return np.abs(truth - predicted)
    known = truth < predicted.shape[1]
    found = np.full(len(truth), np.inf)  # a class that the model does not know is in no set
    found[known] = 1.0 - predicted[np.flatnonzero(known), truth[known]]
    return found


def set_aside(task: FitTask, level: float, seed: int) -> FitTask:
    """Split calibration rows off a task: whole groups, of which one random row each is kept, or random rows.

    Rows of a class that would otherwise be missing from the training rows are not set aside.
    """
    rng, n_rows = np.random.default_rng(seed), task.n_rows
    wanted = min(max(math.ceil(ASIDE * n_rows), SPARE * least_rows(level)), n_rows // 2)
    aside = np.zeros(n_rows, dtype=bool)
    if task.groups is None:
        order = rng.permutation(n_rows)
        aside[order[:wanted]] = True
        calibration = np.sort(order[:wanted])
    else:
        groups = rng.permutation(int(task.groups.max()) + 1)
        taken = groups[: max(1, min(math.ceil(ASIDE * len(groups)), len(groups) - 2))]
        aside[np.isin(task.groups, taken)] = True
        calibration = np.sort([rng.choice(np.flatnonzero(task.groups == group)) for group in taken])
    if not task.is_quantity:
        known = np.isin(task.y, task.y[~aside])
        aside &= known
        calibration = calibration[known[calibration]]
    kept = np.flatnonzero(~aside)
    if len(kept) < LEAST_ROWS or len(np.unique(task.y[kept])) < 2:
        raise InputError(
            f"guarantee=True sets {int(aside.sum())} of {n_rows} rows aside, which leaves too few to learn from.",
            "pass more rows, or leave guarantee= out.",
        )
    held = HeldOutTable(task.table.X[calibration.tolist()], task.y[calibration], None, task.n_classes)
    table = rows_of(task.table, ~aside)
    groups_left = None if task.groups is None else np.unique(task.groups[kept], return_inverse=True)[1].astype(np.intp)
    return replace(
        task,
        table=table,
        outline=outline(table, task.outline.task),
        y=task.y[kept],
        groups=groups_left,
        weights=None if task.weights is None else task.weights[kept],
        aside=held,
    )


@dataclass(frozen=True)
class CalibrationSample:
    """The rows that a rule rests on."""

    truth: NDArray[Any]
    predicted: Floats  # (rows,) or (rows, classes)
    part: NDArray[np.intp]  # parts of rows, of which each is covered by the rule of the others
    group: NDArray[np.intp] | None  # of each row

    @property
    def scores(self) -> Floats:
        return scores_of(self.truth, self.predicted)


def calibration_sample(result: FitResult) -> CalibrationSample:
    """Return the rows set aside with the predictions of the final model, or those of the crossed choice."""
    task, selection = result.setup.task, result.final.selection
    if task.aside is not None:
        predict = result.final.model.predict if task.is_quantity else result.final.model.predict_proba
        predicted = np.asarray(predict(task.aside.X.select(result.setup.X.columns)), dtype=np.float64)
        parts = np.random.default_rng(result.setup.config.seed).permutation(len(predicted)) % 5
        return CalibrationSample(task.aside.y, predicted, parts.astype(np.intp), None)
    honest, tested = selection.honest, selection.tested
    group = None if task.groups is None else task.groups[tested.rows[honest.index]]
    return CalibrationSample(tested.truth[honest.index], honest.predicted, tested.fold[honest.index], group)


def selecting_rule(result: FitResult, level: float) -> CoverageRule:
    """Return the rule that rests on the rows that selected the model. It covers too little; for comparison only."""
    selection = result.final.selection
    truth = selection.tested.truth[selection.honest.index]
    return CoverageRule.of_scores(level, False, scores_of(truth, selection.optimistic))
