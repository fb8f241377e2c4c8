"""Predictions of all settings for one split: from lists of neighbors, and from a search where ties leave them open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from foldwise.adapters.nearest import formulas
from foldwise.adapters.nearest.distances import Distance, NumericTable, Slack
from foldwise.adapters.nearest.means import means
from foldwise.adapters.nearest.members import Members, Ties
from foldwise.adapters.nearest.searching import among_train, lists_by
from foldwise.adapters.nearest.tie_search import Nearest, TieSearch
from foldwise.adapters.nearest.votes import UNDECIDED, class_votes, uniform_labels, weighted_labels
from foldwise.arrays import Bools
from foldwise.folds.neighbor_lists import LazyLists
from foldwise.folds.protocol import Labels, Rows, TargetValues
from foldwise.folds.rows import take_rows

WALK_ROWS = 4096  # test rows at a time


@dataclass(frozen=True)
class KNNSetting:
    """A setting that is answered together with others."""

    k: int
    weights: str | None
    algorithm: str
    leaf_size: int
    n_jobs: int | None
    metric: str
    p: Any

    @property
    def weighted(self) -> bool:
        return self.weights == "distance"

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of a search."""
        return {name: getattr(self, name) for name in ("algorithm", "leaf_size", "n_jobs", "metric", "p")}

    @property
    def search(self) -> tuple[Any, ...]:
        """The parameters on which a search depends, besides the distance."""
        return self.algorithm, self.leaf_size, self.n_jobs


@dataclass(frozen=True)
class KNNProblem:
    """A table with its target, and the type of the estimators."""

    kind: type
    X: Any  # as the user passed it
    cells: NumericTable
    target: Labels | TargetValues


@dataclass(frozen=True)
class DistanceLists:
    """The lists of a table for one distance, with bounds on rounding errors."""

    distance: Distance
    lists: LazyLists
    slack: Slack

    @classmethod
    def of(cls, distance: Distance, cells: NumericTable) -> DistanceLists:
        return cls(distance, lists_by(distance, cells), distance.slack(cells))


@dataclass(frozen=True)
class KNNBatch:
    """Settings that are answered together, with their sorted numbers of neighbors."""

    settings: Sequence[KNNSetting]

    @cached_property
    def ks(self) -> NDArray[np.int64]:
        return np.unique([plain.k for plain in self.settings]).astype(np.int64)

    @cached_property
    def k_indices(self) -> list[int]:
        """The index into `ks` of each setting."""
        return [int(i) for i in np.searchsorted(self.ks, [plain.k for plain in self.settings])]

    @cached_property
    def weightings(self) -> list[bool]:
        return sorted({plain.weighted for plain in self.settings})

    def pick(self, found: dict[bool, Any]) -> NDArray[Any]:
        """Results per setting, from results per weighting and number of neighbors."""
        pairs = zip(self.settings, self.k_indices, strict=True)
        return np.stack([found[plain.weighted][i] for plain, i in pairs])


@dataclass(frozen=True)
class TieAnswer:
    """Neighbors or probabilities by scikit-learn for rows that ties left open, for settings with the same result."""

    settings: list[int]
    rows: Rows
    near: Nearest | None
    proba: NDArray[np.float64] | None = None
    weighted: bool = False

    @property
    def distances(self) -> NDArray[Any] | None:
        assert self.near is not None
        return self.near.distances if self.weighted else None


class NeighborSplit:
    """Answers settings of one distance with up to `k_max` neighbors."""

    def __init__(self, problem: KNNProblem, distance_lists: DistanceLists, train: Rows, test: Rows, k_max: int) -> None:
        self.problem, self.lists, self.slack = problem, distance_lists.lists, distance_lists.slack
        self.train, self.test, self.k_max = train, test, k_max
        self.cells, self.distance = problem.cells, distance_lists.distance
        self._rounding = (self.slack.share, self.slack.squared)
        self._tie_searches: dict[Any, TieSearch] = {}

    @cached_property
    def present(self) -> NDArray[np.intp]:
        """The classes of the training rows."""
        assert isinstance(self.problem.target, Labels)
        codes = self.problem.target.codes[self.train]
        return np.flatnonzero(np.bincount(codes, minlength=len(self.problem.target.classes)))

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The index into `present` of every row's class; rows of other classes are not in the training set."""
        assert isinstance(self.problem.target, Labels)
        if len(self.present) == len(self.problem.target.classes):
            return self.problem.target.codes
        recoded = np.zeros(len(self.problem.target.classes), dtype=np.int64)
        recoded[self.present] = np.arange(len(self.present))
        return recoded[self.problem.target.codes]

    @cached_property
    def walks(self) -> list[tuple[slice, Members]]:
        """The neighbors of the test rows, in batches of rows."""
        times = np.bincount(self.train, minlength=len(self.cells.X)).astype(np.int32)
        found = self.lists.of(self.k_max, int(np.count_nonzero(times)), self.test)
        walks = []
        for start in range(0, len(self.test), WALK_ROWS):
            rows = slice(start, start + WALK_ROWS)
            test = self.test[rows]
            if found is None:
                members = self._direct(test, times)
            else:
                members = Members.of(found, test, times, self.k_max)
                short = np.flatnonzero((members.count < self.k_max) & np.isfinite(members.end))
                if short.size:
                    members = members.replaced(short, self._direct(test[short], times))
            walks.append((rows, members))
        return walks

    def _direct(self, test: Rows, times: NDArray[np.int32]) -> Members:
        """The neighbors by a search among the training rows alone."""
        found = among_train(self.cells, self.distance, self.k_max, self.train, test)
        return Members.of(found, np.arange(len(test)), times, self.k_max)

    def labels(self, batch: KNNBatch) -> NDArray[np.int32]:  # (settings, rows)
        """Labels, as indices into `present`."""
        n_classes = len(self.present)
        found = {weighted: np.empty((len(batch.ks), len(self.test)), np.int32) for weighted in batch.weightings}
        for rows, members in self.walks:
            ties = Ties.of(members, batch.ks, self.test[rows], self.slack)
            counted = uniform_labels(members, ties, self.codes, n_classes)
            if False in found:
                found[False][:, rows] = counted
            if True in found:
                off = self.slack.values[self.test[rows]]
                found[True][:, rows] = weighted_labels(members, ties, self.codes, counted, off, self._rounding)
        labels: NDArray[np.int32] = batch.pick(found)
        for decided in self._decide_ties(batch, {weighted: some == UNDECIDED for weighted, some in found.items()}):
            if decided.near is None:
                assert decided.proba is not None
                here = decided.proba.argmax(axis=1)
            else:
                here = formulas.labels(self._codes_of(decided.near), decided.distances, n_classes)
            for s in decided.settings:
                labels[s, decided.rows] = here
        return labels

    def proba(self, batch: KNNBatch) -> NDArray[np.float64]:  # (settings, rows, classes)
        """The share of votes of each class in `present`."""
        shape = (len(batch.ks), len(self.test), len(self.present))
        votes = {weighted: np.empty(shape) for weighted in batch.weightings}
        undecided = {weighted: np.empty(shape[:2], dtype=np.bool_) for weighted in batch.weightings}
        for rows, members in self.walks:
            ties = Ties.of(members, batch.ks, self.test[rows], self.slack)
            off = self.slack.values[self.test[rows]]
            for weighted in batch.weightings:
                here = class_votes(members, ties, self.codes, shape[2], weighted, off, self._rounding)
                votes[weighted][:, rows], undecided[weighted][:, rows] = here
        proba: NDArray[np.float64] = batch.pick({weighted: formulas.shares(some) for weighted, some in votes.items()})
        for decided in self._decide_ties(batch, undecided):
            shares = decided.proba
            if decided.near is not None:
                shares = formulas.shares(formulas.votes(self._codes_of(decided.near), decided.distances, shape[2]))
            for s in decided.settings:
                proba[s, decided.rows] = shares
        return proba

    def values(self, batch: KNNBatch) -> NDArray[np.float64]:  # (settings, rows)
        """The predictions of a regressor."""
        assert isinstance(self.problem.target, TargetValues)
        y, shape = self.problem.target.numbers, (len(batch.ks), len(self.test))
        scale = float(np.std(y[self.train]))
        found = {weighted: np.empty(shape) for weighted in batch.weightings}
        undecided = {weighted: np.empty(shape, dtype=np.bool_) for weighted in batch.weightings}
        for rows, members in self.walks:
            ties = Ties.of(members, batch.ks, self.test[rows], self.slack)
            off = self.slack.values[self.test[rows]]
            for weighted in batch.weightings:
                here = means(members, ties, y, weighted, off, self._rounding, scale)
                found[weighted][:, rows], undecided[weighted][:, rows] = here
        values: NDArray[np.float64] = batch.pick(found)
        for decided in self._decide_ties(batch, undecided):
            assert decided.near is not None
            for s in decided.settings:
                values[s, decided.rows] = formulas.values(y[self.train[decided.near.indices]], decided.distances)
        return values

    def _codes_of(self, near: Nearest) -> NDArray[np.int64]:
        return self.codes[self.train[near.indices]]

    def _decide_ties(self, batch: KNNBatch, undecided: dict[bool, Bools]) -> Iterator[TieAnswer]:
        """Results of scikit-learn for the undecided rows, which are given by weighting and number of neighbors."""
        if not any(mask.any() for mask in undecided.values()):
            return
        searches: dict[Any, list[int]] = {}
        for s, plain in enumerate(batch.settings):
            searches.setdefault(plain.search, []).append(s)
        for settings in searches.values():
            alike: dict[int, dict[bool, list[int]]] = {}  # by number of neighbors and weighting
            for s in settings:
                plain, i = batch.settings[s], batch.k_indices[s]
                if plain.weights == "uniform" and self._counts_votes:
                    rows = np.flatnonzero(undecided[False][i])
                    if rows.size:
                        yield TieAnswer([s], rows, None, self._counted(plain, rows))
                else:
                    alike.setdefault(i, {}).setdefault(plain.weighted, []).append(s)
            wanted = {i: np.flatnonzero(np.any([undecided[w][i] for w in some], axis=0)) for i, some in alike.items()}
            at = {int(batch.ks[i]): i for i, rows in wanted.items() if rows.size}
            if not at:
                continue
            tie_search = self._tie_search(batch.settings[settings[0]])
            for k, near in tie_search.nearest({k: wanted[i] for k, i in at.items()}):
                for weighted, some in alike[at[k]].items():
                    mine = undecided[weighted][at[k]][near.rows]
                    if mine.any():
                        yield TieAnswer(some, near.rows[mine], near.of(mine), None, weighted)

    @cached_property
    def _counts_votes(self) -> bool:
        """Whether scikit-learn counts unweighted votes in a search of their own."""
        return (
            isinstance(self.problem.target, Labels)
            and not self.distance.tree
            and self.distance.resolved not in ("euclidean", "cosine")
            and self.cells.X.dtype.kind == "f"
            and isinstance(self.problem.X, np.ndarray)
            and bool(take_rows(self.problem.X, self.test).flags.c_contiguous)
        )

    def _counted(self, plain: KNNSetting, rows: Rows) -> NDArray[np.float64]:  # (rows, classes)
        """The shares of unweighted votes by that search, which handles each query separately."""
        model = self.problem.kind(plain.k, **plain.params)
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model.fit(self.cells.X[self.train], self.codes[self.train])
            found: NDArray[np.float64] = model.predict_proba(take_rows(self.problem.X, self.test[rows]))
        return found

    def _tie_search(self, plain: KNNSetting) -> TieSearch:
        if plain.search not in self._tie_searches:
            search = NearestNeighbors(n_neighbors=plain.k, **plain.params)  # the choice of the algorithm depends on k
            with config_context(assume_finite=True, skip_parameter_validation=True):
                search.fit(self.cells.X[self.train])
            self._tie_searches[plain.search] = TieSearch(search, self.cells, self.distance, self.train, self.test)
        return self._tie_searches[plain.search]
