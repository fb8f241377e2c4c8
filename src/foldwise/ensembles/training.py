"""Fits members, on as many workers as asked; the watch decides, where the size is seen during training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from foldwise.ensembles.members import Member, fit_member
from foldwise.ensembles.protocol import Crew, Lesson, Panel, Task
from foldwise.ensembles.trees import for_trees, is_checked

PANEL_CELLS = 1 << 23  # answers of all members that are held at once


@dataclass(frozen=True)
class Training:
    """How members are fitted."""

    n_jobs: int | None = None
    watch: Any = None
    proba: bool = True  # whether the combiner reads probabilities, or labels

    def fit(self, lessons: Sequence[Lesson], task: Task) -> list[Member]:
        """One member a lesson, in order."""
        X = for_trees(task.X, (lesson.estimator for lesson in lessons))
        task = replace(task, X=X, checked=is_checked(X))
        if effective_n_jobs(self.n_jobs) == 1:
            return [fit_member(lesson, task) for lesson in lessons]
        threads = all(releases_gil(lesson.estimator) for lesson in lessons)
        pool = Parallel(self.n_jobs, prefer="threads" if threads else None)
        found: list[Member] = pool(delayed(fit_member)(lesson, task) for lesson in lessons)
        return found


def releases_gil(estimator: Any) -> bool:
    """Whether threads are enough for it: compiled fits, scikit-learn's trees and our own estimators."""
    return type(estimator).__module__.startswith(("sklearn.tree.", "foldwise."))


def ask(crew: Crew, X: Any, task_classes: int, proba: bool, n_jobs: int | None = None) -> Panel:
    """What all members of a crew say of rows."""
    given = for_trees(X, (member.model for member in crew.members))
    checked = is_checked(given)
    if effective_n_jobs(n_jobs) == 1:
        said = [member.says(given, proba, checked) for member in crew.members]
    else:
        pool = Parallel(n_jobs, prefer="threads")
        said = pool(delayed(member.says)(given, proba, checked) for member in crew.members)
    return panel_of_crew(np.array(said), crew, task_classes, proba)


def panel_of_crew(said: Any, crew: Crew, n_classes: int, proba: bool) -> Panel:
    """Answers under the name they go by."""
    if n_classes == 0:
        return Panel(crew.weights, values=said)
    codes = [member.lesson.code for member in crew.members]
    code = np.array(codes) if codes and codes[0] is not None else None
    part = {"proba": said} if proba else {"labels": said}
    return Panel(crew.weights, n_classes=n_classes, code=code, **part)
