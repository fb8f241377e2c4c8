"""AdaBoost: each member learns from rows weighted by the mistakes of those before it.

Two classes: Freund & Schapire 1996. E is the weight of the rows that a member gets wrong, α = ½ log((1 - E) / E) its
vote, and the weights become w·exp(-α y ŷ), normalised. More classes: SAMME (Zhu et al. 2009), α = log((1 - E) / E) +
log(K - 1), w·exp(α·[wrong]); for two classes it is the same ensemble with doubled votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from foldwise.data.arguments import above_zero, one_of
from foldwise.ensembles.members import Member, fit_member, takes_weights
from foldwise.ensembles.protocol import Crew, Dependency, Floats, Lesson, Task
from foldwise.ensembles.training import Training
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class AdaBoost(Dependency):
    """Boosting by weights, or by resampling where a member takes none.

    E = 0: the vote would be infinite, so this member decides alone and training stops. E at least that of guessing (½
    of two classes, 1 - 1/K of K): the member is dropped and training stops; if it is the first, it stays, for want of
    another. Weights given to members sum to the number of rows (or to the weights given to fit), so that they are
    sound as frequencies.
    """

    by: str = "auto"
    learning_rate: float = 1.0
    combiners: ClassVar[tuple[str, ...] | None] = ("Vote", "Mean")

    def train(self, task: Task, lessons: Sequence[Lesson], training: Training) -> Crew:
        one_of("by", self.by, ["auto", "weights", "resampling"])
        rate = above_zero("learning_rate", self.learning_rate)
        if task.n_classes == 0:
            raise InputError("AdaBoost learns classes, not numbers.", "for a regression take dependency='residuals'.")
        w = np.ones(task.n_rows) if task.weights is None else task.weights
        row = float(w.mean())  # the weight of a row, as given
        w = w / w.sum()
        members: list[Member] = []
        votes: list[float] = []
        errors: list[float] = []
        watch = training.watch
        for lesson in lessons:
            member = self._fit(lesson, replace(task, weights=None), w, row)
            said = member.says(task.X, proba=False)
            wrong = said != task.coded
            error = float(w[wrong].sum())
            errors.append(error)
            if error <= 0:
                return Crew((member,), np.ones(1), {"errors": errors, "votes": [*votes, np.inf]})
            if error >= 1 - 1 / max(task.n_classes, 2):
                if not members:
                    members, votes = [member], [1.0]
                break
            alpha = rate * vote_of(error, task.n_classes)
            members.append(member)
            votes.append(alpha)
            w = reweigh(w, wrong, alpha, task.n_classes)
            if watch is not None:
                watch.add([member], [alpha])
                if watch.settled:
                    break
        if watch is not None and watch.sizes:
            members, votes = members[: watch.best_size], votes[: watch.best_size]
        return Crew(tuple(members), np.array(votes), {"errors": errors, "votes": votes})

    def _fit(self, lesson: Lesson, task: Task, w: Floats, row: float) -> Member:
        rows = lesson.rows_of(task)
        own = w[rows]
        by = self.by
        if by == "auto":
            by = "weights" if takes_weights(lesson.estimator) else "resampling"
        if own.sum() <= 0:
            raise InputError(f"all rows of the member {lesson.name!r} have lost their weight.", "use larger samples.")
        if by == "weights":
            return fit_member(lesson, task, w * (row * len(rows) / own.sum()))
        drawn = lesson.random().choice(len(rows), len(rows), p=own / own.sum())
        weights = None if lesson.weights is None else lesson.weights[drawn]
        return fit_member(lesson.drawn(rows=rows[drawn], weights=weights), task)


def vote_of(error: float, n_classes: int) -> float:
    """α, the weight of a member's vote."""
    odds = float(np.log((1 - error) / error))
    return 0.5 * odds if n_classes <= 2 else odds + float(np.log(n_classes - 1))


def reweigh(w: Floats, wrong: np.ndarray[tuple[int], np.dtype[np.bool_]], alpha: float, n_classes: int) -> Floats:
    """The weights of the next round: wrong rows gain by exp(α), and of two classes right ones lose by as much."""
    new = w * np.exp(np.where(wrong, alpha, -alpha if n_classes <= 2 else 0.0))
    return np.asarray(new / new.sum())
