"""Members that know nothing of each other: trained in parallel, with the same result at any number of workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foldwise.ensembles.protocol import Crew, Dependency, Lesson, Task
from foldwise.ensembles.training import Training


@dataclass(repr=False, eq=False)
class Independent(Dependency):
    """Each lesson by itself. Where the size is decided during training, a batch at a time."""

    parallel: ClassVar[bool] = True

    def train(self, task: Task, lessons: Sequence[Lesson], training: Training) -> Crew:
        watch = training.watch
        if watch is None:
            members = training.fit(lessons, task)
            return Crew(tuple(members), np.ones(len(members)))
        members = []
        while len(members) < len(lessons) and not watch.settled:
            more = training.fit(lessons[len(members) : len(members) + watch.batch], task)
            members += more
            watch.add(more, [1.0] * len(more))
        return Crew(tuple(members), np.ones(len(members)), {"sizes": watch.sizes, "errors": watch.errors})
