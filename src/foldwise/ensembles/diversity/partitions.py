"""Partitions: disjoint sets of rows with all columns (horizontal), or of columns with all rows (vertical)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import whole_at_least
from foldwise.ensembles.diversity.sampling import weights_of
from foldwise.ensembles.protocol import Diversity, Lesson, Task
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class RowParts(Diversity):
    """The rows, dealt at random into as many parts as members (or `parts`); member i learns from part i.

    Where there are more members than parts, the next round deals anew.
    """

    parts: int | None = None

    def wanted(self, task: Task) -> int | None:
        return self.parts

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        found = []
        for lesson, at, round_of in rounds(lessons, self.parts):
            rows = round_of.rows_of(task)
            part = np.sort(deal(round_of, len(rows), at[1], "samples")[at[0]])
            found.append(lesson.drawn(rows=rows[part], **weights_of(round_of, part)))
        return found


@dataclass(repr=False, eq=False)
class ColumnParts(Diversity):
    """The columns, dealt at random into as many parts as members (or `parts`); member i learns from part i."""

    parts: int | None = None

    def wanted(self, task: Task) -> int | None:
        return self.parts

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        found = []
        for lesson, at, round_of in rounds(lessons, self.parts):
            columns = np.arange(task.n_columns) if round_of.columns is None else round_of.columns
            found.append(lesson.drawn(columns=np.sort(columns[deal(round_of, len(columns), at[1], "features")[at[0]]])))
        return found


def rounds(lessons: Sequence[Lesson], parts: int | None) -> list[tuple[Lesson, tuple[int, int], Lesson]]:
    """Each lesson with its part, the number of parts, and the first lesson of its round, which deals for all of it."""
    n = len(lessons) if parts is None else whole_at_least("parts", parts, 1)
    return [(lesson, (i % n, n), lessons[i - i % n]) for i, lesson in enumerate(lessons)]


def deal(lesson: Lesson, n: int, parts: int, what: str) -> list[NDArray[Any]]:
    """n things in parts that differ in size by one at most."""
    if parts > n:
        raise InputError(f"n_{what} = {n} cannot be dealt into {parts} parts.", "use fewer parts or members.")
    return np.array_split(lesson.random().permutation(n), parts)
