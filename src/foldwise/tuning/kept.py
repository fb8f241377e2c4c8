"""What a search keeps of every setting's answers: later estimates resample them instead of fitting again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.folds.engine import Outcome
from foldwise.folds.protocol import Answer, FoldSession, Labels, Need, Values
from foldwise.folds.splits import EachLeftOut, Split, test_rows

KEEP_BYTES = 256 * 2**20  # the most that is kept unasked
CHOICES = ("losses", "all", "none")


@dataclass(frozen=True, repr=False)
class Kept:
    """Out-of-fold answers: one line for each setting, in the order of `cv_results_`; one place for each tested row.

    Place i is row `rows[i]` of the table, tested in split `split[i]`; a row that several splits test has several.
    Losses are those of the metric that chooses, where it is a mean over rows (0/1, log loss, Brier, squared, absolute,
    cost). `why` says why something is missing. A label of -1 and a NaN stand for what a setting could not answer.
    """

    rows: NDArray[np.intp]  # (m,), the row of the table
    split: NDArray[np.intp]  # (m,), the split that tested it
    classes: NDArray[Any] | None = None
    labels: NDArray[np.integer[Any]] | None = None  # (S, m), places in `classes`
    losses: NDArray[np.float64] | None = None  # (S, m), of the metric that chooses, if it averages over rows
    values: NDArray[np.float64] | None = None  # (S, m), of regressors
    proba: NDArray[np.float64] | None = None  # (S, m, K), with keep="all"
    why: str = ""

    def __repr__(self) -> str:
        parts = {"labels": self.labels, "losses": self.losses, "values": self.values, "proba": self.proba}
        held = ", ".join(f"{name} {part.shape}" for name, part in parts.items() if part is not None)
        return f"Kept({held or 'nothing'}{f'; {self.why}' if self.why else ''})"


class AnswerKeeper:
    """Takes labels or values, losses and perhaps probabilities of each block; `need` is what must be asked for it."""

    def __init__(self, metric: Any, need: Need, *, probabilities: bool) -> None:
        self._losses = getattr(metric, "losses", None)
        self._probabilities = probabilities
        self.need = need

    def take(self, session: FoldSession, split: Split, answer: Answer) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": answer.labels, "values": answer.values}
        if self._losses is not None:
            try:
                found["losses"] = self._losses(session, split, answer)
            except Exception:  # the metric itself has reported it
                found["losses"] = None
        if self._probabilities:
            found["proba"] = answer.probabilities()
        return {name: part for name, part in found.items() if part is not None}


def keeper_of(
    keep: str, session: FoldSession, metrics: dict[str, Any], chooser: str, n_settings: int, splits: Sequence[Split]
) -> tuple[AnswerKeeper | None, str]:
    """What will be kept, and why not more. Unasked, no model predicts twice: what metrics need anyway is kept."""
    if keep not in CHOICES:
        raise InputError(f"keep must be one of {', '.join(map(repr, CHOICES))}, got {keep!r}.")
    if keep == "none":
        return None, "keep='none'"
    if not isinstance(session.target, Labels | Values):
        return None, "the target is neither labels nor numbers"
    regression = isinstance(session.target, Values)
    metric = metrics.get(chooser)
    if keep == "all":
        need = Need.VALUES if regression else Need.LABELS | Need.PROBA
        return AnswerKeeper(metric, need, probabilities=not regression), ""
    if all(one.need == Need.MODEL for one in metrics.values()) and not session.threads:
        return None, "the scorer asks each model by itself; keep='all' asks it again for what is kept"
    cells = n_settings * len(test_rows(splits))
    if cells * (16 if regression else 10) > KEEP_BYTES:
        return None, f"labels and losses would take more than {KEEP_BYTES >> 20} MB; keep='all' keeps them anyway"
    # labels cost a session that shares its work next to nothing, but another call of `predict` elsewhere
    free = Need.LABELS if session.threads and not regression else Need(0)
    return AnswerKeeper(metric, free, probabilities=False), ""


def gather(
    outcomes: Sequence[Outcome], session: FoldSession, n_settings: int, splits: Sequence[Split], why: str
) -> Kept:
    """The blocks of all rounds as whole arrays."""
    rows = test_rows(splits)
    one_each = isinstance(splits, EachLeftOut)
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
    return Kept(rows, number, classes, **arrays, why=why)
