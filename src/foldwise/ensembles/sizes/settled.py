"""A size that is seen during training: enough members when the error on rows they do not see has settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.data.arguments import above_zero, at_least_zero, one_of, whole_at_least
from foldwise.ensembles.protocol import Floats, Size, Task
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows


@dataclass(repr=False, eq=False)
class Settled(Size):
    """Stops when `patience` checks in a row have not lowered the error by more than `tolerance` of itself.

    The error is that of the weighted mean (in boosting by residuals: the sum) of answers. by="oob": on the rows that
    each member has not drawn, so members must be trained on samples. by="validation": on a share of the rows, which are
    held out from training for good. Independent members come in batches; boosting is checked after each, and goes back
    to where its error was least.
    """

    most_members: int = 500
    by: str = "oob"
    patience: int = 5
    tolerance: float = 0.005
    batch: int = 10
    share: float = 0.2

    def most(self, usual: int) -> int:
        return whole_at_least("most_members", self.most_members, 1)

    def watch(self, task: Task, plan: Any) -> Watch:
        one_of("by", self.by, ["oob", "validation"])
        at_least_zero("tolerance", self.tolerance)
        whole_at_least("patience", self.patience, 1)
        whole_at_least("batch", self.batch, 1)
        if self.by == "oob":
            if plan.diversity is None or not plan.dependency.parallel:
                raise InputError(
                    "an out-of-bag error needs independent members trained on samples of the rows.",
                    "take diversity='bootstrap', or Settled(by='validation').",
                )
            return Watch(self, task, None, None, plan)
        if not 0 < above_zero("share", self.share) < 1:
            raise InputError(f"share must lie between 0 and 1, got {self.share!r}.")
        order = np.random.RandomState(0 if plan.seed is None else plan.seed).permutation(task.n_rows)
        n = max(1, int(self.share * task.n_rows))
        if n >= task.n_rows:
            raise InputError(f"n_samples = {task.n_rows} leaves nothing to train on beside the validation rows.")
        return Watch(self, task, np.sort(order[n:]), np.sort(order[:n]), plan)


class Watch:
    """Follows the error while members arrive."""

    def __init__(self, size: Settled, task: Task, train: Rows | None, held: Rows | None, plan: Any) -> None:
        self._size, self._task, self.train, self._held = size, task, train, held
        self._proba = plan.wants_proba()
        self._adds = type(plan.combiner).__name__ == "Sum"
        self._totals: Floats = np.zeros((task.n_rows, task.n_classes) if task.n_classes else task.n_rows)
        self._weights = np.zeros(task.n_rows)
        self._members = 0
        self.batch = size.batch
        self.sizes: list[int] = []
        self.errors: list[float] = []

    def add(self, members: Sequence[Any], weights: Sequence[float]) -> None:
        """Take more members into account."""
        for member, weight in zip(members, weights, strict=True):
            rows = member.lesson.left_out(self._task) if self._held is None else self._held
            if len(rows) == 0:
                continue
            said = member.says(take_rows(self._task.X, rows), self._proba)
            if self._task.n_classes and not self._proba:
                self._totals[rows, said] += weight
            else:
                self._totals[rows] += weight * said
            self._weights[rows] += weight
        self._members += len(members)
        self.sizes.append(self._members)
        self.errors.append(self._error())

    def _error(self) -> float:
        asked = self._weights > 0
        if not asked.any():
            raise InputError("no row was left out by any member.", "take smaller samples, or Settled(by='validation').")
        truth = self._task.coded[asked]
        given = None if self._task.weights is None else self._task.weights[asked]
        if self._task.n_classes:
            return float(np.average(self._totals[asked].argmax(axis=1) != truth, weights=given))
        values = self._totals[asked] if self._adds else self._totals[asked] / self._weights[asked]
        return float(np.average((values - truth) ** 2, weights=given))

    @property
    def best_size(self) -> int:
        """The number of members at which the error was least."""
        return self.sizes[int(np.argmin(self.errors))]

    @property
    def settled(self) -> bool:
        """Whether the last checks have brought no more."""
        patience = self._size.patience
        if len(self.errors) <= patience:
            return False
        before = min(self.errors[:-patience])
        return min(self.errors[-patience:]) >= before * (1 - self._size.tolerance)
