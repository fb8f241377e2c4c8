"""Boosting of regression trees by shrunken residuals: f = 0, r = y; fit a tree to r; f += λ·tree; r -= λ·tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import above_zero, one_of
from foldwise.ensembles.members import Member, fit_member
from foldwise.ensembles.protocol import Crew, Dependency, Lesson, Task
from foldwise.ensembles.training import Training
from foldwise.errors import InputError
from foldwise.folds.protocol import Values


@dataclass(repr=False, eq=False)
class Residuals(Dependency):
    """Each member learns what the sum of those before it leaves over. `start` is 0 ("zero") or the mean of y."""

    learning_rate: float = 0.1
    start: str = "zero"
    combiners: ClassVar[tuple[str, ...] | None] = ("Sum",)

    def train(self, task: Task, lessons: Sequence[Lesson], training: Training) -> Crew:
        rate = above_zero("learning_rate", self.learning_rate)
        one_of("start", self.start, ["zero", "mean"])
        if not isinstance(task.target, Values):
            raise InputError("residuals are those of numbers.", "for classes take dependency='adaboost'.")
        left = task.target.numbers
        members: list[Member] = []
        weights: list[float] = []
        if self.start == "mean":
            first = Constant(float(np.average(left, weights=task.weights)))
            members, weights = [Member(Lesson("mean", first), first, None, 0)], [1.0]
            left = left - first.value
        watch = training.watch
        if watch is not None and members:
            watch.add(members, weights)
        for lesson in lessons:
            member = fit_member(lesson, replace(task, target=Values(left)))
            left = left - rate * member.says(task.X, proba=False)
            members.append(member)
            weights.append(rate)
            if watch is not None:
                watch.add([member], [rate])
                if watch.settled:
                    break
        if watch is not None and watch.sizes:
            members, weights = members[: watch.best_size], weights[: watch.best_size]
        return Crew(tuple(members), np.array(weights))


class Constant:
    """A member that says one number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.full(X.shape[0], self.value)
