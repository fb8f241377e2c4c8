"""The facts about the coverage of a run: measured overall, by class and by bins of the prediction, and what holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.coverage import CalibrationSample, CoverageRule, calibration_sample, coverage_level, selecting_rule
from foldwise.app.task import FitTask
from foldwise.arrays import Floats
from foldwise.decisions.conformal.interval_scores import NOTABLE_TIES, joined_ties
from foldwise.decisions.conformal.levels import SLACK, least_rows, quantile_of
from foldwise.evaluation.shares import ShareSpread
from foldwise.evaluation.tables import number

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

N_BINS = 5
LEAST_IN_BIN = 10


def coverage_rule(result: FitResult) -> CoverageRule | None:
    """Return the rule of a run; None if no coverage was requested."""
    config = result.setup.config
    if config.coverage is None:
        return None
    level = coverage_level(config.coverage)
    return CoverageRule.of_scores(level, config.guarantee, rule_scores(result, calibration_sample(result)))


def rule_scores(result: FitResult, sample: CalibrationSample) -> Floats:
    """The scores that the quantile is taken of. Rows that the final model cannot distinguish share one."""
    task, scores = result.setup.task, sample.scores
    counts = np.unique(sample.truth, return_counts=True)[1]
    if task.aside is not None or not task.is_quantity or counts.max() < NOTABLE_TIES * len(scores):
        return scores
    selection = result.final.selection
    rows = selection.tested.rows[selection.honest.index]
    fitted = np.asarray(result.final.model.predict(result.setup.X[rows.tolist()]), dtype=np.float64)
    return joined_ties(scores, sample.truth, fitted)


def coverage_facts(result: FitResult, rule: CoverageRule | None) -> dict[str, Any] | None:
    """Measure the coverage of a rule, each part of the rows with the quantile of the others."""
    if rule is None:
        return None
    task, sample = result.setup.task, calibration_sample(result)
    hits = crossed_hits(sample, rule.level)
    sizes = sizes_of(sample, rule)
    unknown = np.full(len(hits), np.nan) if sizes is None else sizes
    overall = measured(hits, unknown, sample.group)
    facts: dict[str, Any] = {
        **rule.to_metadata(),
        "quantity": task.is_quantity,
        "measured": overall,
        "by_class": by_class(task, sample, hits, unknown),
        "by_bin": by_bin(sample, hits, unknown),
        "set_sizes": None if task.is_quantity or sizes is None else set_sizes(sizes),
        "on_selecting_rows": selecting_rule(result, rule.level).to_metadata()["quantile"],
        "test": on_test_rows(result, rule),
    }
    return {**facts, "words": words(task, rule, facts), "warning": too_few(rule)}


def crossed_hits(sample: CalibrationSample, level: float) -> NDArray[np.bool_]:
    """Whether each row is covered by the quantile of the other parts."""
    scores, hits = sample.scores, np.zeros(len(sample.truth), dtype=bool)
    for part in np.unique(sample.part):
        inside = sample.part == part
        hits[inside] = scores[inside] <= quantile_of(np.sort(scores[~inside]), level) + SLACK
    return hits


def sizes_of(sample: CalibrationSample, rule: CoverageRule) -> Floats | None:
    """The width of each interval, or the number of classes in each set; None if intervals are infinite."""
    if sample.predicted.ndim == 2:
        return np.asarray(rule.sets(sample.predicted).sum(axis=1), dtype=np.float64)
    return np.full(len(sample.truth), 2 * rule.quantile) if math.isfinite(rule.quantile) else None


def measured(hits: NDArray[np.bool_], sizes: Floats, group: NDArray[np.intp] | None = None) -> dict[str, Any]:
    """The share of covered rows with its 95% interval, and the mean size."""
    share, n_rows = float(hits.mean()), float(len(hits))
    if group is not None:
        n_rows = independent_rows(hits, group)
    low, high = ShareSpread((share,), (n_rows,)).between(share, 0.95)
    size = float(sizes.mean()) if np.isfinite(sizes).all() else None
    return {"value": share, "low": max(0.0, low), "high": min(1.0, high), "n": len(hits), "size": size}


def independent_rows(hits: NDArray[np.bool_], group: NDArray[np.intp]) -> float:
    """How many independent rows would give the share the same error, if rows of a group are alike."""
    share = float(hits.mean())
    codes = np.unique(group, return_inverse=True)[1]
    sums = np.bincount(codes, hits - share)
    n_groups = len(sums)
    variance = float((sums**2).sum()) * n_groups / max(1, n_groups - 1) / len(hits) ** 2
    alone = share * (1 - share)
    return float(len(hits)) if variance * len(hits) <= alone else max(1.0, alone / variance)


def by_class(
    task: FitTask, sample: CalibrationSample, hits: NDArray[np.bool_], sizes: Floats
) -> list[dict[str, Any]] | None:
    if task.is_quantity:
        return None
    found = []
    for k, name in enumerate(task.classes.tolist()):
        rows = sample.truth == k
        if rows.any():
            found.append({"class": str(name), **measured(hits[rows], sizes[rows])})
    return found


def by_bin(sample: CalibrationSample, hits: NDArray[np.bool_], sizes: Floats) -> list[dict[str, Any]]:
    """Coverage by bins of the predicted value, or of the probability of the most probable class."""
    at = sample.predicted if sample.predicted.ndim == 1 else sample.predicted.max(axis=1)
    n_bins = min(N_BINS, len(at) // LEAST_IN_BIN)
    if n_bins < 2:
        return []
    cuts = np.unique(np.quantile(at, np.arange(1, n_bins) / n_bins))
    codes, found = np.searchsorted(cuts, at, side="right"), []
    for k in np.unique(codes):
        rows = codes == k
        ends = {"from": float(at[rows].min()), "to": float(at[rows].max())}
        found.append({**ends, **measured(hits[rows], sizes[rows])})
    return found


def set_sizes(sizes: Floats) -> dict[str, float]:
    """The shares of empty sets, of sets with one class, and of larger ones."""
    return {
        "empty": float((sizes == 0).mean()),
        "one": float((sizes == 1).mean()),
        "more": float((sizes > 1).mean()),
    }


def on_test_rows(result: FitResult, rule: CoverageRule) -> dict[str, Any] | None:
    """The coverage on a separate test table."""
    task = result.setup.task
    if task.test is None:
        return None
    predict = result.final.model.predict if task.is_quantity else result.final.model.predict_proba
    predicted = np.asarray(predict(task.test.X.select(result.setup.X.columns)), dtype=np.float64)
    sample = CalibrationSample(task.test.y, predicted, np.zeros(len(predicted), dtype=np.intp), None)
    sizes = sizes_of(sample, rule)
    hits = sample.scores <= rule.quantile + SLACK
    return measured(hits, np.full(len(hits), np.nan) if sizes is None else sizes)


def too_few(rule: CoverageRule) -> str | None:
    """Say that intervals are infinite, or that sets contain all classes."""
    if math.isfinite(rule.quantile):
        return None
    return (
        f"A coverage of {percent(rule.level)} needs at least {least_rows(rule.level)} calibration rows, but there are "
        f"{rule.n_rows}. Intervals are therefore infinite, and sets contain all classes. Use more rows, or a lower "
        "coverage."
    )


def words(task: FitTask, rule: CoverageRule, facts: dict[str, Any]) -> list[str]:
    """Say what the rule is, what was measured, and what holds."""
    what = "interval" if task.is_quantity else "set"
    return [
        one
        for one in (rule_words(task, rule), measured_words(rule, facts, what), promise(task, rule, what), limits(task))
        if one
    ]


def rule_words(task: FitTask, rule: CoverageRule) -> str:
    if not math.isfinite(rule.quantile):
        return too_few(rule) or ""
    if task.is_quantity:
        return f"The interval of a row is its predicted value plus or minus {number(rule.quantile)}."
    least = max(0.0, 1 - rule.quantile)
    return (
        f"The set of a row contains every class whose probability is at least {100 * least:.3g}%. A set is empty if "
        "no class is probable enough."
    )


def measured_words(rule: CoverageRule, facts: dict[str, Any], what: str) -> str:
    found = facts["measured"]
    where = "rows that were set aside" if rule.guaranteed else "held-out rows"
    value, low, high = (percent(found[name]) for name in ("value", "low", "high"))
    return (
        f"Requested coverage: {percent(rule.level)}. Measured on {found['n']:,} {where}: the {what} contained the "
        f"truth {value} of the time (95% interval {low} to {high})."
    )


def promise(task: FitTask, rule: CoverageRule, what: str) -> str:
    """What theorems say about the rule."""
    if not rule.guaranteed:
        return (
            "Measured, not guaranteed. Each of these rows was predicted by models that were selected and trained "
            "without it, but the final model was trained on all rows. No theorem covers this combination."
        )
    many = f"{rule.n_rows:,} rows were set aside before the search and used only to calibrate the {what}s"
    if task.groups is not None:
        many = f"{rule.n_rows:,} groups were set aside before the search. One random row of each calibrates the {what}s"
    new = "a row of a new group" if task.groups is not None else "a new row"
    units = "groups" if task.groups is not None else "rows"
    return (
        f"Guaranteed: {many}. If new {units} are exchangeable with those of this table, the {what} of {new} contains "
        f"the truth with a probability of at least {percent(rule.level)}. This takes the selection of the model "
        "into account."
    )


def limits(task: FitTask) -> str:
    """When the coverage does not hold."""
    average = "Coverage is an average over rows. It can be lower for some kinds of rows, as the tables below show."
    if task.moments is not None:
        return f"{average} Later rows may differ from earlier ones, so the coverage may change over time."
    if task.groups is not None:
        return average
    return (
        f"{average} It may also be lower if rows belong to groups or depend on time, which this run did not consider."
    )


def percent(share: float) -> str:
    """A share with one decimal where it is not a whole percentage."""
    return f"{100 * share:.1f}%" if abs(100 * share - round(100 * share)) > 0.05 else f"{100 * share:.0f}%"
