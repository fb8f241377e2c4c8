"""Random subspaces (Ho 1998): each member sees a random subset of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foldwise.ensembles.diversity.shares import number_of
from foldwise.ensembles.protocol import Diversity, Lesson, Task


@dataclass(repr=False, eq=False)
class Subspaces(Diversity):
    """Each member gets a share of the columns, drawn without replacement."""

    share: float | int = 0.5

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        return [self._draw(lesson, task) for lesson in lessons]

    def _draw(self, lesson: Lesson, task: Task) -> Lesson:
        columns = np.arange(task.n_columns) if lesson.columns is None else lesson.columns
        n = number_of("share", self.share, len(columns))
        return lesson.drawn(columns=np.sort(lesson.random().permutation(columns)[:n]))
