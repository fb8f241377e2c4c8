"""From a plan and a table to a crew and the rule that combines it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from foldwise.ensembles.plan import Plan, draw_lessons
from foldwise.ensembles.protocol import Crew, Learning, Lesson, Panel, Panels, Rule, Task
from foldwise.ensembles.stored import MemberError, Stored, needed, panel_of
from foldwise.ensembles.training import Training, ask
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split, freeze_splits


@dataclass(frozen=True)
class Built:
    """A trained ensemble."""

    crew: Crew
    rule: Rule
    proba: bool


def build(plan: Plan, task: Task) -> Built:
    """Train the members, choose among them where the size says so, and learn how to combine them."""
    lessons = draw_lessons(plan, task)
    check_codes(plan, lessons)
    watch = plan.size.watch(task, plan)
    train = task if watch is None or watch.train is None else task.some(watch.train)
    if watch is not None and watch.train is not None:
        lessons = draw_lessons(plan, train)
    proba = plan.wants_proba()
    crew = plan.dependency.train(train, lessons, Training(plan.n_jobs, watch, proba))
    if watch is not None and watch.train is not None:
        crew = of_table(crew, train, watch.train)
    panels: Panels
    if plan.plain and is_plain(lessons):
        stored = Stored(task.X, task.y, task.weights, task.n_classes)
        panels = StoredPanels(stored, lessons, task, proba)
    else:
        panels = TrainedPanels(plan, task, len(crew.members), proba)
    if plan.size.chooses:
        weights = plan.size.choose(panels.out_of_fold(getattr(plan.size, "cv", 5)), task)
        kept = np.flatnonzero(weights > 0)
        crew, panels = crew.some(kept.tolist(), weights[kept]), Some(panels, kept, weights[kept])
    return Built(crew, plan.combiner.learn(Learning(task, panels, crew, plan.seed)), proba)


def of_table(crew: Crew, task: Task, rows: Rows) -> Crew:
    """Members that were trained on some rows of a table, told by the rows of the table."""
    lessons = [replace(member.lesson, rows=rows[member.lesson.rows_of(task)]) for member in crew.members]
    return replace(
        crew, members=tuple(replace(member, lesson=one) for member, one in zip(crew.members, lessons, strict=True))
    )


def is_plain(lessons: Sequence[Lesson]) -> bool:
    """Whether lessons differ in estimators and parameters only."""
    parts = ("rows", "weights", "columns", "code")
    return all(getattr(lesson, part) is None for lesson in lessons for part in parts)


def check_codes(plan: Plan, lessons: Sequence[Lesson]) -> None:
    """Members that were told other targets must be decoded, and no others can."""
    if not lessons:
        raise InputError("the diversity left no member.", "an ensemble has at least one.")
    recoded = lessons[0].code is not None
    if recoded and not plan.combiner.decodes:
        raise InputError(
            f"members of a recoded target answer in classes of their own, of which {type(plan.combiner).__name__} "
            "knows nothing.",
            "take combiner='decode'.",
        )
    if plan.combiner.decodes and not recoded:
        raise InputError("there is no code to decode.", "take the diversity Recoded().")


class StoredPanels:
    """Out-of-fold answers by the members' own sessions."""

    def __init__(self, stored: Stored, lessons: Sequence[Lesson], task: Task, proba: bool) -> None:
        self._stored, self._lessons, self._task, self._proba = stored, lessons, task, proba

    def out_of_fold(self, cv: Any) -> Panel:
        splits = partition(cv, self._task)
        n_classes = self._task.n_classes
        need = needed(n_classes, self._proba)
        try:
            parts = [
                panel_of(
                    self._stored.inner_answers(self._lessons, split.train, split.test, need), n_classes, self._proba
                )
                for split in splits
            ]
        except MemberError as failed:
            raise failed.error from None
        return joined(parts, splits)


class TrainedPanels:
    """Out-of-fold answers by crews that are trained on each split."""

    def __init__(self, plan: Plan, task: Task, n_lessons: int, proba: bool) -> None:
        self._plan, self._task, self._n, self._proba = plan, task, n_lessons, proba

    def out_of_fold(self, cv: Any) -> Panel:
        if not self._plan.dependency.parallel:
            raise InputError(
                "what members say out of fold is asked of independent ones, but these depend on each other.",
                "take dependency='independent', or a combiner that learns nothing.",
            )
        splits = partition(cv, self._task)
        parts = []
        for split in splits:
            task = self._task.some(split.train)
            lessons = draw_lessons(self._plan, task)[: self._n]  # as many as training went for
            crew = self._plan.dependency.train(task, lessons, Training(self._plan.n_jobs, proba=self._proba))
            parts.append(ask(crew, take_rows(self._task.X, split.test), task.n_classes, self._proba, self._plan.n_jobs))
        return joined(parts, splits)


@dataclass(frozen=True)
class Some:
    """The panels of the members that were chosen."""

    panels: Panels
    places: Any
    weights: Any

    def out_of_fold(self, cv: Any) -> Panel:
        return replace(self.panels.out_of_fold(cv).some(self.places), weights=self.weights)


def partition(cv: Any, task: Task) -> Sequence[Split]:
    """Splits that test every row once; a number of folds is at most that of the rows of the largest class."""
    if cv is None or (isinstance(cv, int | np.integer) and not isinstance(cv, bool)):
        cv = most_folds(5 if cv is None else int(cv), task)
    splits = freeze_splits(cv, task.X, task.y, n_rows=task.n_rows, classifier=task.n_classes > 0)
    times = np.bincount(np.concatenate([split.test for split in splits]), minlength=task.n_rows)
    if (times != 1).any():
        raise InputError(
            f"out-of-fold answers need splits that test every row once, but row {int(np.flatnonzero(times != 1)[0])} "
            "is not.",
            "use a splitter such as KFold or StratifiedKFold, without repeats.",
        )
    return splits


def most_folds(folds: int, task: Task) -> int:
    """So many folds, or fewer where no class has as many rows: a small table is no reason to fail."""
    most = int(np.bincount(task.coded).max()) if task.n_classes else task.n_rows
    if most < 2 <= folds:
        raise InputError(
            f"out-of-fold answers need folds, but no class has more than one row (n_samples = {task.n_rows}).",
            "pass more rows.",
        )
    return min(folds, most)


def joined(parts: Sequence[Panel], splits: Sequence[Split]) -> Panel:
    """Panels of the test rows of all splits, in the order of rows."""
    order = np.argsort(np.concatenate([split.test for split in splits]))
    names = [name for name in ("labels", "proba", "values") if getattr(parts[0], name) is not None]
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=1)[:, order] for name in names
    }
    return replace(parts[0], **whole)
