"""Samples and partitions of the rows or the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import above_zero, one_of, whole_at_least
from foldwise.ensembles.protocol import Diversity, Floats, MemberSpec, TrainingData
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class Bootstrap(Diversity):
    """Each member gets as many rows as there are (or `share` of them), drawn with replacement (Breiman 1996).

    A sample holds 1 - 1/e = 63.2% of the distinct rows. With by="weights" the member gets all rows, each weighted by
    how often it was drawn: cheaper, and the same to members for which a weight of 2 is two rows.
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
    """Each member gets a share of the rows, drawn without replacement (Breiman 1999)."""

    share: float | int = 0.5

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        n_rows = len(spec.row_indices(data))
        n = share_of("share", self.share, n_rows)
        return with_rows(spec, spec, np.sort(spec.random_state().permutation(n_rows)[:n]), data)


@dataclass(repr=False, eq=False)
class PoissonBootstrap(Diversity):
    """Each row counts as often as a Poisson draw says, independent of the others, so that chunks of rows can be merged.

    Members that take no weights get the row that many times.
    """

    rate: float = 1.0

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        rng = spec.random_state()
        counts = rng.poisson(above_zero("rate", self.rate), len(spec.row_indices(data))).astype(float)
        if not counts.any():  # of a handful of rows
            counts[rng.randint(len(counts))] = 1.0
        return with_counts(spec, counts)


@dataclass(repr=False, eq=False)
class Subspaces(Diversity):
    """Each member gets a share of the columns, drawn without replacement (Ho 1998)."""

    share: float | int = 0.5

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        columns = spec.column_indices(data)
        n = share_of("share", self.share, len(columns))
        return spec.drawn(columns=np.sort(spec.random_state().permutation(columns)[:n]))


@dataclass(repr=False, eq=False)
class RowParts(Diversity):
    """The rows, dealt at random into as many parts as members (or `parts`); member i learns from part i.

    If there are more members than parts, the rows are dealt again for the next members.
    """

    parts: int | None = None

    def n_members(self, data: TrainingData) -> int | None:
        return self.parts

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        n = len(specs) if self.parts is None else whole_at_least("parts", self.parts, 1)
        # the first member of each round deals for all of it
        return [self.deal(spec, specs[i - i % n], i % n, n, data) for i, spec in enumerate(specs)]

    def deal(self, spec: MemberSpec, dealer: MemberSpec, part: int, n: int, data: TrainingData) -> MemberSpec:
        """The spec with its part of the rows."""
        drawn = np.sort(split_at_random(dealer, len(dealer.row_indices(data)), n, "samples")[part])
        return with_rows(spec, dealer, drawn, data)


@dataclass(repr=False, eq=False)
class ColumnParts(RowParts):
    """The columns, dealt at random into as many parts as members (or `parts`); member i learns from part i."""

    def deal(self, spec: MemberSpec, dealer: MemberSpec, part: int, n: int, data: TrainingData) -> MemberSpec:
        columns = dealer.column_indices(data)
        return spec.drawn(columns=np.sort(columns[split_at_random(dealer, len(columns), n, "features")[part]]))


def share_of(name: str, share: float | int, n: int) -> int:
    """How many of n: a whole number is itself, a fraction is a share; at least 1."""
    whole = isinstance(share, int | np.integer) and not isinstance(share, bool)
    if whole and 1 <= share <= n:
        return int(share)
    if not whole and isinstance(share, float | np.floating) and 0 < share <= 1:
        return max(1, int(share * n))
    raise InputError(
        f"{name} must be a share above 0 and at most 1.0, or a whole number from 1 to {n}, got {share!r}.",
        "1.0 takes as many as there are, 1 takes one.",
    )


def with_rows(spec: MemberSpec, source: MemberSpec, drawn: NDArray[Any], data: TrainingData) -> MemberSpec:
    """The spec with rows that were drawn from those of `source`, and their weights."""
    weights = {} if source.weights is None else {"weights": source.weights[drawn]}
    return spec.drawn(rows=source.row_indices(data)[drawn], **weights)


def with_counts(spec: MemberSpec, counts: Floats) -> MemberSpec:
    """The spec with all of its rows, each as often as it was drawn."""
    if spec.weights is None:
        return spec.drawn(weights=counts, counts=True)
    return spec.drawn(weights=counts * spec.weights, counts=spec.counts)


def split_at_random(spec: MemberSpec, n: int, parts: int, what: str) -> list[NDArray[Any]]:
    """The numbers below n in parts that differ in size by one at most."""
    if parts > n:
        raise InputError(f"n_{what} = {n} cannot be dealt into {parts} parts.", "use fewer parts or members.")
    return np.array_split(spec.random_state().permutation(n), parts)
