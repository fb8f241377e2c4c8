"""The Poisson bootstrap: each row's weight is Poisson(1), independent of the others, so it merges over chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldwise.data.arguments import above_zero
from foldwise.ensembles.protocol import Diversity, Lesson, Task


@dataclass(repr=False, eq=False)
class Poisson(Diversity):
    """Each row counts as often as a Poisson draw says; members that take no weights get it so many times."""

    rate: float = 1.0

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        above_zero("rate", self.rate)
        return [self._draw(lesson, task) for lesson in lessons]

    def _draw(self, lesson: Lesson, task: Task) -> Lesson:
        chance = lesson.random()
        times = chance.poisson(self.rate, len(lesson.rows_of(task))).astype(float)
        if not times.any():  # of a handful of rows
            times[chance.randint(len(times))] = 1.0
        counts = lesson.weights is None or lesson.counts
        return lesson.drawn(weights=times if lesson.weights is None else times * lesson.weights, counts=counts)
