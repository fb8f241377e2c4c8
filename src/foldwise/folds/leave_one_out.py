"""Leave-one-out at once: a session that can answers all rows together, and single splits fill in what it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Answer, Failure, FoldSession, LeaveOneOutSession, Need, Params, Rows
from foldwise.folds.splits import LeaveOneOutSplits, Split

PARTS = ("labels", "log_proba", "proba", "decision", "values")


@dataclass(frozen=True)
class LeaveOneOutAnswer:
    """Settings start..stop of those asked for, about every row that was asked for.

    A place that failed holds nothing of use.
    """

    start: int
    stop: int
    answer: Answer
    failed: tuple[tuple[int, int, Failure], ...]  # setting among all asked, place, what went wrong
    singly: int  # splits that were answered one by one

    def lost(self, n_rows: int) -> NDArray[np.bool_]:  # (settings, rows)
        """Where a setting failed."""
        found = np.zeros((self.stop - self.start, n_rows), dtype=bool)
        for i, place, _ in self.failed:
            found[i - self.start, place] = True
        return found


def answers_leave_one_out(session: FoldSession, setting: Params, splits: Sequence[Split]) -> bool:
    """Whether these splits are leave-one-out and the session answers them at once for this setting."""
    return (
        isinstance(splits, LeaveOneOutSplits)
        and isinstance(session, LeaveOneOutSession)
        and session.answers_leave_one_out(setting)
    )


def answer_leave_one_out(
    session: Any, settings: Sequence[Params], splits: LeaveOneOutSplits, need: Need, places: Rows | None = None
) -> Iterator[LeaveOneOutAnswer]:
    """The answers to all splits, or to those at some places."""
    asked = np.arange(len(splits)) if places is None else places
    for turns in session.answer_leave_one_out(settings, splits.rows, asked, need):
        chosen = settings[turns.start : turns.stop]
        if isinstance(turns.answer, Failure):
            lost = [(i, k, turns.answer) for i in range(turns.start, turns.stop) for k in range(len(asked))]
            yield LeaveOneOutAnswer(turns.start, turns.stop, Answer(), tuple(lost), 0)
            continue
        filled = Filled(turns.answer)
        failed = []
        for k in turns.rest.tolist():
            split = splits[int(asked[k])]
            for block in session.answer(chosen, split.train, split.test, need):
                if isinstance(block.answer, Failure):
                    failed += [(turns.start + i, k, block.answer) for i in range(block.start, block.stop)]
                else:
                    filled.put(block.start, block.stop, k, block.answer)
        yield LeaveOneOutAnswer(turns.start, turns.stop, filled.answer, tuple(failed), len(turns.rest))


def answer_one_left_out(session: Any, setting: Params, splits: Any, place: int, need: Need) -> Answer | Failure:
    """What one split of leave-one-out says when all are answered at once."""
    [told] = answer_leave_one_out(session, [setting], splits, need | Need.LABELS, np.array([place]))
    return told.failed[0][2] if told.failed else told.answer


class Filled:
    """The arrays of an answer, into which those of single rows are written."""

    def __init__(self, answer: Answer) -> None:
        held = {name: getattr(answer, name) for name in PARTS}
        self._arrays = {name: part for name, part in held.items() if part is not None}

    def put(self, start: int, stop: int, place: int, answer: Answer) -> None:
        """The answer of some settings about the row at one place."""
        for name in self._arrays:
            part: Any = answer.log_probabilities() if name == "log_proba" else getattr(answer, name)
            self._arrays[name][start:stop, place] = part[:, 0]

    @property
    def answer(self) -> Answer:
        return Answer(**self._arrays)
