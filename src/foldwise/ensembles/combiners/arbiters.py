"""Arbiter trees (Chan & Stolfo 1993, 1995): where two disagree, a third decides that was trained on such rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.members import Member, fit_member, with_seeds
from foldwise.ensembles.protocol import Combiner, Floats, Learning, Lesson, Panel, Rule, Task
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows


@dataclass(repr=False, eq=False)
class ArbiterTree(Combiner):
    """Members, trained on disjoint rows, are joined in pairs up to a root.

    The arbiter of a pair is trained on those of their rows on which they disagree; with `wrong`, also on those where
    both are wrong; where there are none, on all their rows. It is asked where they differ: whatever it says then has
    the majority of the three, or the tie, which is the arbiter's. `arbiter` is by default of the members' own kind.
    """

    arbiter: Any = None
    wrong: bool = False
    needs: ClassVar[str] = "labels"
    learns: ClassVar[bool] = True
    exact: ClassVar[bool] = False

    def learn(self, learning: Learning) -> Rule:
        if learning.task.n_classes == 0:
            raise InputError("arbiters decide between classes, not numbers.", "take combiner='mean'.")
        assert learning.crew is not None
        members = learning.crew.members
        nodes: list[Node] = [Node(i, member.lesson.rows_of(learning.task)) for i, member in enumerate(members)]
        while len(nodes) > 1:
            pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
            nodes = [self._join(pair[0], pair[1], members, learning) if len(pair) == 2 else pair[0] for pair in pairs]
        return Arbitrated(nodes[0])

    def _join(self, left: Node, right: Node, members: tuple[Any, ...], learning: Learning) -> Node:
        task = learning.task
        rows = np.unique(np.concatenate([left.rows, right.rows]))
        X = take_rows(task.X, rows)
        one, other = (node.decide([member.says(X, proba=False) for member in members], X) for node in (left, right))
        asked = one != other
        if self.wrong:
            asked |= (one != task.coded[rows]) & (other != task.coded[rows])
        chosen = rows[asked] if asked.any() else rows
        return Node(-1, rows, left, right, self._train(chosen, members[0].lesson, task))

    def _train(self, rows: Rows, like: Lesson, task: Task) -> Member:
        estimator = like.estimator if self.arbiter is None else with_seeds(self.arbiter, like.seed)
        params = like.params if self.arbiter is None else {}
        return fit_member(Lesson("arbiter", estimator, like.seed, rows=rows, params=params), task)


@dataclass(frozen=True)
class Node:
    """A member (by its place), or two nodes and their arbiter; `rows` are those they were trained on."""

    place: int
    rows: Rows
    left: Node | None = None
    right: Node | None = None
    arbiter: Member | None = None

    def decide(self, said: Any, X: Any) -> NDArray[np.intp]:  # (rows,)
        """The label of each row, from what all members say."""
        if self.left is None or self.right is None or self.arbiter is None:
            return np.asarray(said[self.place])
        one, other = self.left.decide(said, X), self.right.decide(said, X)
        if (one == other).all():
            return one
        return np.where(one == other, one, self.arbiter.says(X, proba=False))


@dataclass(frozen=True)
class Arbitrated:
    """The tree; its decisions are certain."""

    root: Node

    def __call__(self, panel: Panel, X: Any) -> Floats:
        return np.eye(panel.n_classes)[self.root.decide(panel.as_labels(), X)]
