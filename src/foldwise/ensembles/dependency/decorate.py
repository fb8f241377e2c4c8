"""DECORATE (Melville & Mooney 2003): members are made to differ by artificial rows that contradict the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from foldwise.data.arguments import above_zero, whole_at_least
from foldwise.ensembles.diversity.artificial import artificial_rows
from foldwise.ensembles.members import Member, fit_member
from foldwise.ensembles.protocol import Crew, Dependency, Floats, Lesson, Task
from foldwise.ensembles.training import Training
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels
from foldwise.folds.rows import stack_rows

LEAST = 1e-6  # of a probability whose inverse is taken


@dataclass(repr=False, eq=False)
class Decorate(Dependency):
    """The first member learns the rows; each next one also `share` times as many artificial rows.

    These bear labels drawn with probabilities inverse to what the ensemble says of them. A member stays only if the
    error of the ensemble on the training rows does not rise with it. There are as many members as the size wants, or
    fewer after so many `trials`.
    """

    share: float = 1.0
    trials: int = 50
    combiners: ClassVar[tuple[str, ...] | None] = ("Mean", "Vote")
    sparse: ClassVar[bool] = False

    def train(self, task: Task, lessons: Sequence[Lesson], training: Training) -> Crew:
        n = max(1, round(above_zero("share", self.share) * task.n_rows))
        whole_at_least("trials", self.trials, 1)
        if task.n_classes == 0:
            raise InputError("DECORATE contradicts classes, not numbers.", "use it with Ensemble only.")
        members = [fit_member(lessons[0], task)]
        said = shares_of(members[0], task.X, task.n_classes, training.proba)
        error = wrong_share(said, task)
        errors = [error]
        watch = training.watch
        if watch is not None:
            watch.add(members, [1.0])
        for trial in range(1, self.trials):
            if len(members) >= len(lessons) or (watch is not None and watch.settled):
                break
            lesson = lessons[len(members)]
            chance = np.random.RandomState([lesson.seed or 0, trial])
            more_rows = self._with_artificial(task, members, n, chance, training.proba)
            member = fit_member(lengthened(lesson, task.n_rows, n), more_rows)
            more = shares_of(member, task.X, task.n_classes, training.proba)
            now = wrong_share(said + more, task)
            if now <= error:
                members.append(member)
                said, error = said + more, now
                errors.append(now)
                if watch is not None:
                    watch.add([member], [1.0])
        if watch is not None:
            members, errors = members[: watch.best_size], errors[: watch.best_size]
        return Crew(tuple(members), np.ones(len(members)), {"errors": errors})

    def _with_artificial(
        self, task: Task, members: list[Member], n: int, chance: np.random.RandomState, proba: bool
    ) -> Task:
        """The task with rows that contradict the ensemble."""
        made = artificial_rows(task.X, n, chance)
        X = task.X if not isinstance(task.X, np.ndarray) else task.X.astype(made.dtype, copy=False)
        both = stack_rows(X, made)
        if both is None:
            raise InputError("artificial rows could not be put under the table.", "pass an array, or one frame.")
        said = sum(shares_of(member, made, task.n_classes, proba) for member in members) / len(members)
        against = 1 / np.maximum(said, LEAST)
        edges = np.cumsum(against / against.sum(axis=1, keepdims=True), axis=1)
        codes = np.minimum((chance.random_sample((n, 1)) > edges).sum(axis=1), task.n_classes - 1)
        assert isinstance(task.target, Labels)
        target = Labels(task.target.classes, np.concatenate([task.target.codes, codes]))
        weights = None if task.weights is None else np.append(task.weights, np.full(n, task.weights.mean()))
        return replace(task, X=both, target=target, weights=weights, n_rows=task.n_rows + n)


def lengthened(lesson: Lesson, n_rows: int, n: int) -> Lesson:
    """The lesson with the artificial rows, which come after all others, each once."""
    rows, weights = lesson.rows, lesson.weights
    return replace(
        lesson,
        rows=None if rows is None else np.append(rows, np.arange(n_rows, n_rows + n)),
        weights=None if weights is None else np.append(weights, np.ones(n)),
    )


def shares_of(member: Member, X: object, n_classes: int, proba: bool) -> Floats:  # (rows, classes)
    """A member's probabilities, or its vote, as the combiner reads them."""
    if proba:
        return np.asarray(member.says(X, proba=True))
    return np.asarray(np.eye(n_classes)[member.says(X, proba=False)])


def wrong_share(said: Floats, task: Task) -> float:
    """The error of the ensemble on the training rows."""
    return float(np.average(said.argmax(axis=1) != task.coded, weights=task.weights))
