"""Several diversities one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foldwise.ensembles.protocol import Diversity, Lesson, Task


@dataclass(repr=False, eq=False)
class Together(Diversity):
    """Each diversity changes what the one before it has left: a bootstrap sample of some columns, and so on."""

    parts: Sequence[Diversity] = ()

    @property
    def random(self) -> bool:
        return any(part.random for part in self.parts)

    def wanted(self, task: Task) -> int | None:
        return next((n for part in self.parts if (n := part.wanted(task)) is not None), None)

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        found = list(lessons)
        for part in self.parts:
            found = part.vary(found, task)
        return found
