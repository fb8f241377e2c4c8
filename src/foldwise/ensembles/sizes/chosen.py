"""Sizes chosen after training, from out-of-fold predictions: greedy selection, and pruning by order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.ensembles.diversity.shares import number_of
from foldwise.ensembles.protocol import Floats, Panel, Size, Task
from foldwise.ensembles.sizes.selection import START, Selection, select_greedily
from foldwise.errors import InputError

Metric = str | Callable[[Any, Any], float] | None


@dataclass(repr=False, eq=False)
class Greedy(Size):
    """Caruana's selection: weights by greedy forward selection with replacement; see `select_greedily`.

    `n` is how many members are trained; None for as many as usual.
    """

    rounds: int | None = None
    start: int = START
    metric: Metric = None
    shrinkage: float | None = None
    cv: Any = 5
    n: int | None = None
    chooses: ClassVar[bool] = True

    def most(self, usual: int) -> int:
        return usual if self.n is None else self.n

    def choose(self, panel: Panel, task: Task) -> Floats:
        options = {"rounds": self.rounds, "start": self.start, "shrinkage": self.shrinkage}
        return selected(panel, task, self.metric, **options).weights


@dataclass(repr=False, eq=False)
class Pruned(Size):
    """The first so many (or the best so many, where `keep` is None) in the order of greedy selection, each once.

    (Margineantu & Dietterich 1997.) `keep` is a number, a share, or None; `n` is how many members are trained.
    """

    keep: int | float | None = None
    n: int | None = None
    metric: Metric = None
    cv: Any = 5
    chooses: ClassVar[bool] = True

    def most(self, usual: int) -> int:
        return usual if self.n is None else self.n

    def choose(self, panel: Panel, task: Task) -> Floats:
        found = selected(panel, task, self.metric, start=1, replacement=False)
        if self.keep is None:
            return np.asarray((found.weights > 0).astype(np.float64))
        weights = np.zeros(len(found.weights))
        weights[found.order[: number_of("keep", self.keep, len(weights))]] = 1.0
        return weights


def selected(panel: Panel, task: Task, metric: Metric, **options: Any) -> Selection:
    """Greedy selection over a panel; members that give labels give whole probabilities."""
    if panel.code is not None:
        raise InputError("members of a recoded target all are needed to decode it.", "take a fixed size.")
    if panel.values is not None:
        stored = panel.values
    elif panel.proba is not None:
        stored = panel.proba
    else:
        stored = np.eye(panel.n_classes)[panel.as_labels()]
        metric = "accuracy" if metric is None else metric
    return select_greedily(stored, task.coded, metric=metric, sample_weight=task.weights, **options)
