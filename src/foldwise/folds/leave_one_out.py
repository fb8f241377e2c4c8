"""Leave-one-out in one pass: a session predicts all rows together, and the rows it leaves open are refitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import ARRAYS, Answer, Failure, FoldSession, LeaveOneOutSession, Need, Params, Rows
from foldwise.folds.splits import LeaveOneOutSplits, Split


@dataclass(frozen=True)
class LeaveOneOutAnswer:
    """The answer of settings start to stop - 1 for every requested row; meaningless where a setting failed."""

    start: int
    stop: int
    answer: Answer
    failed: tuple[tuple[int, int, Failure], ...]  # index of the setting, index of the split, error
    n_refits: int  # splits that were answered one by one

    def failures(self, n_rows: int) -> NDArray[np.bool_]:  # (settings, rows)
        """Where a setting failed."""
        found = np.zeros((self.stop - self.start, n_rows), dtype=bool)
        for i, k, _ in self.failed:
            found[i - self.start, k] = True
        return found


def answers_leave_one_out(session: FoldSession, setting: Params, splits: Sequence[Split]) -> bool:
    """Whether these splits are leave-one-out and the session answers them together for this setting."""
    return (
        isinstance(splits, LeaveOneOutSplits)
        and isinstance(session, LeaveOneOutSession)
        and session.answers_leave_one_out(setting)
    )


def answer_leave_one_out(
    session: Any, settings: Sequence[Params], splits: LeaveOneOutSplits, need: Need, indices: Rows | None = None
) -> Iterator[LeaveOneOutAnswer]:
    """The answers to all splits, or to those with these indices."""
    requested = np.arange(len(splits)) if indices is None else indices
    for block in session.answer_leave_one_out(settings, splits.rows, requested, need):
        start, stop, answer = block.start, block.stop, block.answer
        if isinstance(answer, Failure):
            every = tuple((i, k, answer) for i in range(start, stop) for k in range(len(requested)))
            yield LeaveOneOutAnswer(start, stop, Answer(), every, 0)
            continue
        failed = []
        for k in block.refit.tolist():
            split = splits[int(requested[k])]
            for one in session.answer(settings[start:stop], split.train, split.test, need):
                if isinstance(one.answer, Failure):
                    failed += [(start + i, k, one.answer) for i in range(one.start, one.stop)]
                else:
                    write_row(answer, k, slice(one.start, one.stop), one.answer)
        yield LeaveOneOutAnswer(start, stop, answer, tuple(failed), len(block.refit))


def answer_one_left_out(session: Any, setting: Params, splits: Any, index: int, need: Need) -> Answer | Failure:
    """The answer to one split of leave-one-out, computed as if all were requested together."""
    [found] = answer_leave_one_out(session, [setting], splits, need | Need.LABELS, np.array([index]))
    return found.failed[0][2] if found.failed else found.answer


def write_row(answer: Answer, row: int, settings: slice, single: Answer) -> None:
    """Overwrite one row of an answer with the predictions of some settings for that row alone."""
    for name in ARRAYS:
        array = getattr(answer, name)
        if array is not None:
            part: Any = single.log_probabilities() if name == "log_proba" else getattr(single, name)
            array[settings, row] = part[:, 0]
