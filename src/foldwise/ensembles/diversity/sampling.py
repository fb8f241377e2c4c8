"""Samples and partitions of the rows or columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero, one_of, whole_at_least
from foldwise.ensembles.blocks import Diversity
from foldwise.ensembles.protocol import MemberSpec, TrainingData
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class Bootstrap(Diversity):
    """Train each member on rows drawn with replacement.

    Parameters
    ----------
    share : float or int, default=1.0
        The number of rows that are drawn, as a share or as a number. With 1.0, a sample contains on average 63.2% of
        the distinct rows.
    by : {"rows", "weights"}, default="rows"
        Whether drawn rows are passed to `fit` repeatedly, or all rows with the number of draws as weight. Weights are
        faster, and equivalent for estimators that treat a weight of 2 like two rows.

    References
    ----------
    L. Breiman (1996). Bagging predictors. Machine Learning 24(2).

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Bootstrap, Ensemble
    >>> model = Ensemble(DecisionTreeClassifier(), diversity=Bootstrap(0.5), size=20)
    """

    share: float | int = 1.0
    by: str = "rows"

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        one_of("by", self.by, ["rows", "weights"])
        rows = spec.row_indices(data)
        drawn = spec.random_state().randint(0, len(rows), share_of("share", self.share, len(rows)))
        if self.by == "rows":
            return with_rows(spec, spec, drawn, data)
        return with_counts(spec, np.bincount(drawn, minlength=len(rows)).astype(np.float64))


@dataclass(repr=False, eq=False)
class Pasting(Diversity):
    """Train each member on rows drawn without replacement.

    Parameters
    ----------
    share : float or int, default=0.5
        The number of rows that are drawn, as a share or as a number.

    References
    ----------
    L. Breiman (1999). Pasting small votes for classification in large databases and on-line. Machine Learning 36.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Ensemble, Pasting
    >>> model = Ensemble(DecisionTreeClassifier(), diversity=Pasting(1000), size=20)
    """

    share: float | int = 0.5

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        n_rows = len(spec.row_indices(data))
        n = share_of("share", self.share, n_rows)
        return with_rows(spec, spec, np.sort(spec.random_state().permutation(n_rows)[:n]), data)


@dataclass(repr=False, eq=False)
class PoissonBootstrap(Diversity):
    """Weight each row of a member by an independent Poisson draw, so that the table can be processed in chunks.

    Members whose `fit` does not accept weights get the row repeatedly.

    Parameters
    ----------
    rate : float, default=1.0
        The mean of the Poisson distribution.

    Examples
    --------
    >>> from foldwise import NaiveBayes
    >>> from foldwise.ensembles import Ensemble, PoissonBootstrap
    >>> model = Ensemble(NaiveBayes(), diversity=PoissonBootstrap(), size=20)
    """

    rate: float = 1.0

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        rng = spec.random_state()
        counts = rng.poisson(above_zero("rate", self.rate), len(spec.row_indices(data))).astype(float)
        if not counts.any():  # with very few rows
            counts[rng.randint(len(counts))] = 1.0
        return with_counts(spec, counts)


@dataclass(repr=False, eq=False)
class Subspaces(Diversity):
    """Train each member on columns drawn without replacement.

    Parameters
    ----------
    share : float or int, default=0.5
        The number of columns that are drawn, as a share or as a number.

    References
    ----------
    T. K. Ho (1998). The random subspace method for constructing decision forests. IEEE TPAMI 20(8).

    Examples
    --------
    >>> from foldwise import KNNClassifier
    >>> from foldwise.ensembles import Ensemble, Subspaces
    >>> model = Ensemble(KNNClassifier(), diversity=Subspaces(0.3), size=20)
    """

    share: float | int = 0.5

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        columns = spec.column_indices(data)
        n = share_of("share", self.share, len(columns))
        return spec.drawn(columns=np.sort(spec.random_state().permutation(columns)[:n]))


@dataclass(repr=False, eq=False)
class RowParts(Diversity):
    """Partition the rows at random, and train each member on one part.

    Parameters
    ----------
    parts : int, optional
        The number of parts; by default the number of members. With fewer parts than members, the rows are partitioned
        again for the next members.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Ensemble, RowParts
    >>> model = Ensemble(DecisionTreeClassifier(), diversity=RowParts(), size=4)
    """

    parts: int | None = None

    def n_members(self, data: TrainingData) -> int | None:
        return self.parts

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        n = len(specs) if self.parts is None else whole_at_least("parts", self.parts, 1)
        # the seed of the first member of each round decides the partition
        return [self._part(spec, specs[i - i % n], i % n, n, data) for i, spec in enumerate(specs)]

    def _part(self, spec: MemberSpec, first: MemberSpec, part: int, n: int, data: TrainingData) -> MemberSpec:
        """The spec with its part of the rows; the seed is that of the first spec."""
        drawn = np.sort(split_at_random(first, len(first.row_indices(data)), n, "samples")[part])
        return with_rows(spec, first, drawn, data)


@dataclass(repr=False, eq=False)
class ColumnParts(RowParts):
    """Partition the columns at random, and train each member on one part.

    Parameters
    ----------
    parts : int, optional
        The number of parts; by default the number of members. With fewer parts than members, the columns are
        partitioned again for the next members.

    Examples
    --------
    >>> from foldwise import NaiveBayes
    >>> from foldwise.ensembles import ColumnParts, Ensemble
    >>> model = Ensemble(NaiveBayes(), diversity=ColumnParts(), size=3)
    """

    def _part(self, spec: MemberSpec, first: MemberSpec, part: int, n: int, data: TrainingData) -> MemberSpec:
        columns = first.column_indices(data)
        return spec.drawn(columns=np.sort(columns[split_at_random(first, len(columns), n, "features")[part]]))


def share_of(name: str, share: float | int, n: int) -> int:
    """How many of n: an integer is the number itself, a float is a share; at least 1."""
    whole = isinstance(share, int | np.integer) and not isinstance(share, bool)
    if whole and 1 <= share <= n:
        return int(share)
    if not whole and isinstance(share, float | np.floating) and 0 < share <= 1:
        return max(1, int(share * n))
    raise InputError(
        f"{name} must be a float above 0 and at most 1.0, or an integer from 1 to {n}, got {share!r}.",
        f"a float is a share of the {n}, with 1.0 for all; an integer is how many of them.",
    )


def with_rows(spec: MemberSpec, source: MemberSpec, drawn: NDArray[Any], data: TrainingData) -> MemberSpec:
    """The spec with rows drawn from those of `source`, and their weights."""
    weights = {} if source.weights is None else {"weights": source.weights[drawn]}
    return spec.drawn(rows=source.row_indices(data)[drawn], **weights)


def with_counts(spec: MemberSpec, counts: Floats) -> MemberSpec:
    """The spec with the number of draws of each row as its weight."""
    if spec.weights is None:
        return spec.drawn(weights=counts, counts=True)
    return spec.drawn(weights=counts * spec.weights, counts=spec.counts)


def split_at_random(spec: MemberSpec, n: int, parts: int, what: str) -> list[NDArray[Any]]:
    """The integers below n in random parts whose sizes differ by at most one."""
    if parts > n:
        raise InputError(f"n_{what} = {n} cannot be divided into {parts} parts.", "use fewer parts or members.")
    return np.array_split(spec.random_state().permutation(n), parts)
