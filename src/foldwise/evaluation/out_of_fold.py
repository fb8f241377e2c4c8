"""What a search keeps of every setting's answers: later estimates resample them instead of fitting again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.evaluation.metrics.protocol import SearchMetric, as_row_metric
from foldwise.folds.engine import Outcome
from foldwise.folds.protocol import Answer, FoldSession, Labels, Need, TargetValues
from foldwise.folds.splits import LeaveOneOutSplits, Split, test_rows

KEEP_BYTES = 256 * 2**20  # the most that is kept unasked
CHOICES = ("losses", "all", "none")


@dataclass(frozen=True, repr=False)
class OutOfFoldAnswers:
    """Out-of-fold answers: one line for each setting, in the order of `cv_results_`; one place for each tested row.

    Place i is row `rows[i]` of the table, tested in split `split[i]`; a row that several splits test has several.
    Losses are those of the metric that chooses, where it is a mean over rows (0/1, log loss, Brier, squared, absolute,
    cost); of another metric, what it is computed from. `why` says why something is missing. A label of -1 and a NaN
    stand for what a setting could not answer.
    """

    rows: NDArray[np.intp]  # (m,), the row of the table
    split: NDArray[np.intp]  # (m,), the split that tested it
    target: Labels | TargetValues | None = None  # the truth of all rows of the table
    groups: NDArray[np.intp] | None = None  # of all rows of the table, numbered, if fit was given any
    weights: NDArray[np.float64] | None = None  # of all rows of the table, if fit was given any
    labels: NDArray[np.integer[Any]] | None = None  # (S, m), places in `classes`
    losses: NDArray[np.float64] | None = None  # (S, m), of the metric that chooses, if it averages over rows
    values: NDArray[np.float64] | None = None  # (S, m), of regressors
    proba: NDArray[np.float64] | None = None  # (S, m, K), with keep="all", or where the metric that chooses needs it
    decision: NDArray[np.float64] | None = None  # (S, m) or (S, m, columns), likewise
    why: str = ""

    @property
    def classes(self) -> NDArray[Any] | None:
        return self.target.classes if isinstance(self.target, Labels) else None

    @property
    def parts(self) -> dict[str, NDArray[Any]]:
        """What is held of every setting, by name."""
        named = {name: getattr(self, name) for name in ("labels", "losses", "values", "proba", "decision")}
        return {name: part for name, part in named.items() if part is not None}

    @property
    def complete(self) -> NDArray[np.bool_]:  # (S,)
        """Which settings have an answer to every row."""
        lacks = [part < 0 if name == "labels" else np.isnan(part) for name, part in self.parts.items()]
        return np.asarray(~np.any([lack.reshape(len(lack), -1).any(axis=1) for lack in lacks], axis=0))

    def of_settings(self, places: NDArray[np.intp]) -> OutOfFoldAnswers:
        """The answers of some settings alone."""
        parts: dict[str, Any] = {name: part[places] for name, part in self.parts.items()}
        return replace(self, **parts)

    def __repr__(self) -> str:
        held = ", ".join(f"{name} {part.shape}" for name, part in self.parts.items())
        return f"OutOfFoldAnswers({held or 'nothing'}{f'; {self.why}' if self.why else ''})"


class OutOfFoldRecorder:
    """Takes labels or values, losses and perhaps probabilities of each block; `need` is what must be asked for it."""

    def __init__(self, metric: SearchMetric | None, need: Need, scores: Need) -> None:
        self._row_metric = as_row_metric(metric)
        self._scores = scores  # which of probabilities and decision values are kept
        self.need = need

    def record(self, session: FoldSession, split: Split, answer: Answer) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": answer.labels, "values": answer.values}
        if self._row_metric is not None:
            try:
                found["losses"] = self._row_metric.losses(session, split, answer)
            except Exception:  # the metric itself has reported it
                found["losses"] = None
        if self._scores.has(Need.DECISION):
            found["decision"] = answer.decision
        if self._scores.has(Need.PROBA) or (self._scores.has(Need.DECISION) and answer.decision is None):
            found["proba"] = answer.probabilities()
        return {name: part for name, part in found.items() if part is not None}


def recorder_for(
    keep: str,
    session: FoldSession,
    metrics: dict[str, SearchMetric],
    chooser: str,
    n_settings: int,
    splits: Sequence[Split],
) -> tuple[OutOfFoldRecorder | None, str]:
    """What will be kept, and why not more. Unasked, no model predicts twice: what metrics need anyway is kept."""
    if keep not in CHOICES:
        raise InputError(f"keep must be one of {', '.join(map(repr, CHOICES))}, got {keep!r}.")
    if keep == "none":
        return None, "keep='none'"
    if not isinstance(session.target, Labels | TargetValues):
        return None, "the target is neither labels nor numbers"
    regression = isinstance(session.target, TargetValues)
    metric = metrics.get(chooser)
    wanted = Need(0) if metric is None else metric.need
    if keep == "all":
        need = Need.VALUES if regression else Need.LABELS | Need.PROBA
        return OutOfFoldRecorder(metric, need, Need(0) if regression else Need.PROBA | (wanted & Need.DECISION)), ""
    if all(one.need == Need.MODEL for one in metrics.values()) and not session.threads:
        return None, "the scorer asks each model by itself; keep='all' asks it again for what is kept"
    # a metric that averages no losses is computed anew from what it was computed from
    scores = Need(0) if as_row_metric(metric) is not None else wanted & (Need.PROBA | Need.DECISION)
    n_scores = len(session.target.classes) if scores and isinstance(session.target, Labels) else 0
    cells = n_settings * len(test_rows(splits))
    if cells * ((16 if regression else 10) + 8 * n_scores) > KEEP_BYTES:
        return None, f"labels and losses would take more than {KEEP_BYTES >> 20} MB; keep='all' keeps them anyway"
    # labels cost a session that shares its work next to nothing, but another call of `predict` elsewhere
    free = Need.LABELS if session.threads and not regression else Need(0)
    return OutOfFoldRecorder(metric, free, scores), ""


def gather(
    outcomes: Sequence[Outcome],
    session: FoldSession,
    n_settings: int,
    splits: Sequence[Split],
    why: str,
    groups: Any = None,
) -> OutOfFoldAnswers:
    """The blocks of all rounds as whole arrays."""
    rows = test_rows(splits)
    one_each = isinstance(splits, LeaveOneOutSplits)
    ends = np.arange(len(rows) + 1) if one_each else np.cumsum([0, *(len(split.test) for split in splits)])
    number = np.repeat(np.arange(len(splits)), np.diff(ends))
    arrays: dict[str, Any] = {}
    classes = session.target.classes if isinstance(session.target, Labels) else None
    first = 0
    for outcome in outcomes:
        for settings, k, part in outcome.kept:
            for name, values in part.items():
                if name not in arrays:
                    small = np.int16 if classes is not None and len(classes) < 1 << 15 else np.int32
                    fill, kind = (-1, small) if name == "labels" else (np.nan, np.float64)
                    arrays[name] = np.full((n_settings, len(rows), *values.shape[2:]), fill, dtype=kind)
                tested = slice(None) if k is None else slice(ends[k], ends[k + 1])
                arrays[name][[first + i for i in settings], tested] = values
        first += len(next(iter(outcome.scores.values())))
    if not why and "losses" not in arrays:
        why = "no losses: the metric that chooses is no mean over rows"
    together = None if groups is None else numbered(groups)
    weights = session.fit_params.get("sample_weight")
    weighed = None if weights is None else np.asarray(weights, dtype=np.float64)
    return OutOfFoldAnswers(rows, number, session.target, together, weighed, **arrays, why=why)


def numbered(groups: Any) -> NDArray[np.intp]:
    """Groups by number."""
    return np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.intp)
