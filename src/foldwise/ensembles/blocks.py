"""The four blocks of an ensemble.

    TrainingData ─ diversity ─> MemberSpec, MemberSpec, …   what each member is trained on
                 ─ dependency ─> FittedMembers              fitted members, each with a weight
                 ─ size ─> FittedMembers                    when to stop training, or which members to keep
                 ─ combiner ─> CombinerRule                 a function from members' predictions to the ensemble's

Blocks are small estimators in the sense of scikit-learn: `__init__` only stores, so that searches can set their
parameters (`combiner__cv`). A new block subclasses `Diversity`, `Dependency`, `EnsembleSize` or `Combiner`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sklearn.base import BaseEstimator

from foldwise.arrays import Floats
from foldwise.ensembles.protocol import FittedMembers, MemberPredictions, MemberSpec, TrainingData

__all__ = ["ChainedDiversity", "Combiner", "Dependency", "Diversity", "EnsembleSize"]

OutOfFold = Callable[[Any], MemberPredictions]
"""From a splitter to the out-of-fold predictions of all members for every row."""


@dataclass(frozen=True)
class CombinerData:
    """What a combiner may learn from."""

    data: TrainingData
    out_of_fold: OutOfFold
    fitted: FittedMembers | None  # None in a fold session, which does not fit members
    seed: int | None = None


class CombinerRule(Protocol):
    """A fitted combiner: a function that can be pickled."""

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        """(rows, classes) probabilities or (rows,) values, from the members' predictions for the rows X."""


class Diversity(BaseEstimator):  # type: ignore[misc]
    """The base of blocks that make members differ; subclasses define `draw` or `vary`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Diversity, Ensemble
    >>> class FirstRows(Diversity):
    ...     def draw(self, spec, data):
    ...         return spec.drawn(rows=spec.row_indices(data)[: data.n_rows // 2])
    >>> model = Ensemble(DecisionTreeClassifier(), diversity=FirstRows(), size=3)
    """

    @property
    def random(self) -> bool:
        """Whether it draws random numbers. If it does, two fits share no members."""
        return True

    def n_members(self, data: TrainingData) -> int | None:
        """Return the default number of members.

        Parameters
        ----------
        data : TrainingData
            The training table.

        Returns
        -------
        int or None
            None if any number is possible.
        """
        return None

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        """Change the specs of all members; by default each by `draw`.

        Parameters
        ----------
        specs : sequence of MemberSpec
            One per member.
        data : TrainingData
            The training table.

        Returns
        -------
        list of MemberSpec
            The changed specs, of which there may be more or fewer.
        """
        return [self.draw(spec, data) for spec in specs]

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        """Change the spec of one member.

        Parameters
        ----------
        spec : MemberSpec
            The spec so far.
        data : TrainingData
            The training table.

        Returns
        -------
        MemberSpec
            The changed spec.
        """
        raise NotImplementedError


@dataclass(repr=False, eq=False)
class ChainedDiversity(Diversity):
    """Several diversities, applied one after the other.

    Parameters
    ----------
    parts : sequence of Diversity
        The first one is applied first.

    Examples
    --------
    >>> from foldwise.ensembles import Bootstrap, ChainedDiversity, Subspaces
    >>> ChainedDiversity([Bootstrap(), Subspaces(0.5)]).random
    True
    """

    parts: Sequence[Diversity] = ()

    @property
    def random(self) -> bool:
        return any(part.random for part in self.parts)

    def n_members(self, data: TrainingData) -> int | None:
        return next((n for part in self.parts if (n := part.n_members(data)) is not None), None)

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        found = list(specs)
        for part in self.parts:
            found = part.vary(found, data)
        return found


class Dependency(BaseEstimator):  # type: ignore[misc]
    """The base of blocks that train the members, independently or one after the other; subclasses define `train`.

    Attributes
    ----------
    parallel : bool
        Whether members are independent.
    combiners : tuple of str or None
        The names of the only combiners that can be used; None for any.
    sparse : bool
        Whether sparse tables are supported.

    Examples
    --------
    >>> from foldwise.ensembles import AdaBoost, Independent
    >>> Independent.parallel, AdaBoost.parallel
    (True, False)
    """

    parallel: ClassVar[bool] = False
    combiners: ClassVar[tuple[str, ...] | None] = None
    sparse: ClassVar[bool] = True

    def train(self, data: TrainingData, specs: Sequence[MemberSpec], trainer: Any) -> FittedMembers:
        """Fit the members.

        Parameters
        ----------
        data : TrainingData
            The training table.
        specs : sequence of MemberSpec
            One per member.
        trainer : MemberTrainer
            Fits specs in parallel, and holds the monitor of early stopping.

        Returns
        -------
        FittedMembers
            One member per spec, or fewer if training stops early.
        """
        raise NotImplementedError


class EnsembleSize(BaseEstimator):  # type: ignore[misc]
    """The base of blocks that decide the number of members, before, during or after training.

    Attributes
    ----------
    chooses : bool
        Whether members are selected after training, from out-of-fold predictions.

    Examples
    --------
    >>> from foldwise.ensembles import FixedSize, GreedySelection
    >>> FixedSize(5).max_members(10), GreedySelection.chooses
    (5, True)
    """

    chooses: ClassVar[bool] = False

    def max_members(self, default: int) -> int:
        """Return how many members are trained at most.

        Parameters
        ----------
        default : int
            The number that follows from the members and the diversity.

        Returns
        -------
        int
            The number of specs to draw.
        """
        return default

    def monitor(self, data: TrainingData, config: Any) -> Any:
        """Create the monitor of one fit.

        Parameters
        ----------
        data : TrainingData
            The training table.
        config : EnsembleConfig
            The other blocks.

        Returns
        -------
        TrainingMonitor or None
            Decides when training stops; None to train all members.
        """
        return None

    def choose(self, predictions: MemberPredictions, data: TrainingData) -> Floats:
        """Select members after training.

        Parameters
        ----------
        predictions : MemberPredictions
            Out-of-fold predictions of all members.
        data : TrainingData
            The training table.

        Returns
        -------
        array of shape (members,)
            The weight of each member; members of weight 0 are dropped.
        """
        raise NotImplementedError


class Combiner(BaseEstimator):  # type: ignore[misc]
    """The base of blocks that combine the predictions of members; subclasses define `combine` or `learn`.

    Attributes
    ----------
    needs : {"proba", "labels", "any"}
        What it reads of classifiers; "any" means probabilities if all members have them.
    learns : bool
        Whether `learn` reads the data.
    exact : bool
        Whether rounding errors of predictions change the result by rounding errors only.
    decodes : bool
        Whether it needs members with recoded classes.

    Examples
    --------
    >>> from foldwise.ensembles import Combiner
    >>> class Maximum(Combiner):
    ...     def combine(self, predictions):
    ...         highest = predictions.answers.max(axis=0)
    ...         return highest / highest.sum(axis=1, keepdims=True)
    """

    needs: ClassVar[str] = "proba"
    learns: ClassVar[bool] = False
    exact: ClassVar[bool] = True
    decodes: ClassVar[bool] = False

    def learn(self, info: CombinerData) -> CombinerRule:
        """Learn how to combine members; by default nothing is learned.

        Parameters
        ----------
        info : CombinerData
            The training table, out-of-fold predictions and the fitted members.

        Returns
        -------
        CombinerRule
            A function of the members' predictions and the rows.
        """
        return StatelessRule(self)

    def combine(self, predictions: MemberPredictions) -> Floats:
        """Combine the predictions of members.

        Parameters
        ----------
        predictions : MemberPredictions
            The predictions of all members for some rows.

        Returns
        -------
        array
            (rows, classes) probabilities, or (rows,) values.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class StatelessRule:
    """The rule of a combiner that learns nothing."""

    combiner: Combiner

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        return self.combiner.combine(predictions)
