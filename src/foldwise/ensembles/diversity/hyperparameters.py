"""Varied hyperparameters: the same estimator, set otherwise for each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from foldwise.ensembles.protocol import Diversity, Lesson, Task
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class Settings(Diversity):
    """Member i has the i-th setting: of a list, or of a grid; with `sampled`, drawn from lists and distributions."""

    space: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
    sampled: bool = False

    @property
    def random(self) -> bool:
        return self.sampled

    def wanted(self, task: Task) -> int | None:
        return None if self.sampled else len(self._listed())

    def vary(self, lessons: Sequence[Lesson], task: Task) -> list[Lesson]:
        if self.sampled:
            return [self._drawn(lesson) for lesson in lessons]
        settings = self._listed()
        return [
            replace(lesson, params={**lesson.params, **settings[i % len(settings)]}) for i, lesson in enumerate(lessons)
        ]

    def _drawn(self, lesson: Lesson) -> Lesson:
        if not self.space:
            raise InputError(
                "there is no setting to draw.", "pass a mapping from parameters to lists or distributions."
            )
        (setting,) = ParameterSampler(self.space, 1, random_state=lesson.random())
        return lesson.drawn(params={**lesson.params, **setting})

    def _listed(self) -> list[Mapping[str, Any]]:
        settings = list(ParameterGrid(self.space)) if isinstance(self.space, Mapping) else list(self.space)
        if not settings:
            raise InputError("the list of settings is empty.", "pass at least one setting, or a grid.")
        return settings
