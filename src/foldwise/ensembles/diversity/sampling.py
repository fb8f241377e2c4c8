"""Samples of the rows: with replacement (bootstrap; Breiman 1996) and without (pasting; Breiman 1999)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.data.arguments import one_of
from foldwise.ensembles.diversity.shares import number_of
from foldwise.ensembles.protocol import Diversity, Floats, Lesson, Task


@dataclass(repr=False, eq=False)
class Bootstrap(Diversity):
    """Each member gets as many rows as there are (or `share` of them), drawn with replacement.

    A sample holds 1 - 1/e = 63.2 % of the distinct rows. With by="weights" the member gets all rows, each weighted by
    how often it was drawn: cheaper, and the same to members for which a weight of 2 is two rows.
    """

    share: float | int = 1.0
    by: str = "rows"

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        one_of("by", self.by, ["rows", "weights"])
        return [self._draw(lesson, task) for lesson in lessons]

    def _draw(self, lesson: Lesson, task: Task) -> Lesson:
        rows = lesson.rows_of(task)
        drawn = lesson.random().randint(0, len(rows), number_of("share", self.share, len(rows)))
        if self.by == "rows":
            return lesson.drawn(rows=rows[drawn], **weights_of(lesson, drawn))
        times: Floats = np.bincount(drawn, minlength=len(rows)).astype(np.float64)
        counts = lesson.weights is None or lesson.counts
        return lesson.drawn(weights=times if lesson.weights is None else times * lesson.weights, counts=counts)


@dataclass(repr=False, eq=False)
class Pasting(Diversity):
    """Each member gets a share of the rows, drawn without replacement."""

    share: float | int = 0.5

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        return [self._draw(lesson, task) for lesson in lessons]

    def _draw(self, lesson: Lesson, task: Task) -> Lesson:
        rows = lesson.rows_of(task)
        drawn = np.sort(lesson.random().permutation(len(rows))[: number_of("share", self.share, len(rows))])
        return lesson.drawn(rows=rows[drawn], **weights_of(lesson, drawn))


def weights_of(lesson: Lesson, drawn: Any) -> dict[str, Any]:
    """The weights of rows that were drawn from those of a lesson."""
    return {} if lesson.weights is None else {"weights": lesson.weights[drawn]}
