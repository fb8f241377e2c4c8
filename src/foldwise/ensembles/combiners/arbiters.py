"""Arbiter trees: if two members disagree, a third model, trained on such rows, decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.ensembles.blocks import Combiner, CombinerData, CombinerRule
from foldwise.ensembles.members import Member, fit_member, with_seeds
from foldwise.ensembles.protocol import MemberPredictions, MemberSpec, TrainingData
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows


@dataclass(repr=False, eq=False)
class ArbiterTree(Combiner):
    """Combine members in a binary tree, in which arbiters decide where two branches disagree.

    The arbiter of a pair is trained on those training rows of the pair on which the two disagree, or on all of them if
    they never disagree. Members should be trained on disjoint rows (`RowParts`).

    Parameters
    ----------
    arbiter : classifier, optional
        The model that decides; by default a copy of the first member.
    wrong : bool, default=False
        Whether arbiters are also trained on rows that both sides predict wrongly.

    References
    ----------
    P. Chan and S. Stolfo (1995). A comparative evaluation of voting and meta-learning on partitioned data. ICML.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import ArbiterTree, Ensemble, RowParts
    >>> model = Ensemble(DecisionTreeClassifier(), diversity=RowParts(), size=4, combiner=ArbiterTree(wrong=True))
    """

    arbiter: Any = None
    wrong: bool = False
    needs: ClassVar[str] = "labels"
    learns: ClassVar[bool] = True
    exact: ClassVar[bool] = False

    def learn(self, info: CombinerData) -> CombinerRule:
        if info.data.n_classes == 0:
            raise InputError("ArbiterTree needs a classification target.", "use combiner='mean' for regression.")
        assert info.fitted is not None
        members = info.fitted.members
        nodes: list[ArbiterNode] = [
            ArbiterNode(i, member.spec.row_indices(info.data)) for i, member in enumerate(members)
        ]
        while len(nodes) > 1:
            pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
            nodes = [self._join(pair[0], pair[1], members, info) if len(pair) == 2 else pair[0] for pair in pairs]
        return ArbiterRule(nodes[0])

    def _join(self, left: ArbiterNode, right: ArbiterNode, members: tuple[Any, ...], info: CombinerData) -> ArbiterNode:
        data = info.data
        rows = np.unique(np.concatenate([left.rows, right.rows]))
        X = take_rows(data.X, rows)
        one, other = (node.decide([member.predict(X, proba=False) for member in members], X) for node in (left, right))
        disputed = one != other
        if self.wrong:
            disputed |= (one != data.encoded[rows]) & (other != data.encoded[rows])
        chosen = rows[disputed] if disputed.any() else rows
        return ArbiterNode(-1, rows, left, right, self._train(chosen, members[0].spec, data))

    def _train(self, rows: Rows, like: MemberSpec, data: TrainingData) -> Member:
        estimator = like.estimator if self.arbiter is None else with_seeds(self.arbiter, like.seed)
        params = like.params if self.arbiter is None else {}
        return fit_member(MemberSpec("arbiter", estimator, like.seed, rows=rows, params=params), data)


@dataclass(frozen=True)
class ArbiterNode:
    """A member (by its index), or two nodes and their arbiter, with the rows that they were trained on."""

    member: int
    rows: Rows
    left: ArbiterNode | None = None
    right: ArbiterNode | None = None
    arbiter: Member | None = None

    def decide(self, labels: Any, X: Any) -> NDArray[np.intp]:  # (rows,)
        """The label of each row, from the labels of all members."""
        if self.left is None or self.right is None or self.arbiter is None:
            return np.asarray(labels[self.member])
        one, other = self.left.decide(labels, X), self.right.decide(labels, X)
        if (one == other).all():
            return one
        return np.where(one == other, one, self.arbiter.predict(X, proba=False))


@dataclass(frozen=True)
class ArbiterRule:
    """The tree of arbiters; it predicts probabilities of 0 and 1."""

    root: ArbiterNode

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        return np.eye(predictions.n_classes)[self.root.decide(predictions.labels(), X)]
