"""One training set and its test rows: what all settings say of them, from lists if they decide, else from a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from foldwise.folds.nearest import formulas
from foldwise.folds.nearest.distances import Distance, NumericTable, Slack
from foldwise.folds.nearest.lists import LazyLists
from foldwise.folds.nearest.means import means
from foldwise.folds.nearest.members import Members, Ties
from foldwise.folds.nearest.searching import among_train, lists_by
from foldwise.folds.nearest.tie_search import Nearest, TieSearch
from foldwise.folds.nearest.votes import UNDECIDED, class_votes, uniform_labels, weighted_labels
from foldwise.folds.protocol import Labels, Rows, TargetValues
from foldwise.folds.rows import take_rows

WALK_ROWS = 4096  # test rows at a time

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class KNNSetting:
    """A setting that is answered with others."""

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
        """What a search depends on, given the distance."""
        return self.algorithm, self.leaf_size, self.n_jobs


@dataclass(frozen=True)
class KNNProblem:
    """A table with its target, and the type of the estimators."""

    kind: type
    X: Any  # as it came
    cells: NumericTable
    target: Labels | TargetValues


@dataclass(frozen=True)
class DistanceLists:
    """The lists of a table by one distance, and how far rounding may move them."""

    distance: Distance
    lists: LazyLists
    slack: Slack

    @classmethod
    def of(cls, distance: Distance, cells: NumericTable) -> DistanceLists:
        return cls(distance, lists_by(distance, cells), distance.slack(cells))


@dataclass(frozen=True)
class KNNBatch:
    """Settings and what is known of each: their numbers of neighbors in order, and where each stands."""

    settings_: Sequence[KNNSetting]

    @cached_property
    def ks(self) -> NDArray[np.int64]:
        return np.unique([plain.k for plain in self.settings_]).astype(np.int64)

    @cached_property
    def places(self) -> list[int]:
        """The place of each setting in `ks`."""
        return [int(i) for i in np.searchsorted(self.ks, [plain.k for plain in self.settings_])]

    @cached_property
    def weightings(self) -> list[bool]:
        return sorted({plain.weighted for plain in self.settings_})

    def pick(self, found: dict[bool, Any]) -> NDArray[Any]:
        """One a setting of what was found for each weighting and number of neighbors."""
        pairs = zip(self.settings_, self.places, strict=True)
        return np.stack([found[plain.weighted][i] for plain, i in pairs])


@dataclass(frozen=True)
class TieAnswer:
    """What scikit-learn's search says of rows that were left open, for settings alike."""

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
        """The class of every row of the table, as a place in `present`; rows of other classes are no neighbors."""
        assert isinstance(self.problem.target, Labels)
        if len(self.present) == len(self.problem.target.classes):
            return self.problem.target.codes
        recoded = np.zeros(len(self.problem.target.classes), dtype=np.int64)
        recoded[self.present] = np.arange(len(self.present))
        return recoded[self.problem.target.codes]

    @cached_property
    def walks(self) -> list[tuple[slice, Members]]:
        """The members of the test rows, some rows at a time."""
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
        """Members by a search among the training rows alone."""
        found = among_train(self.cells, self.distance, self.k_max, self.train, test)
        return Members.of(found, np.arange(len(test)), times, self.k_max)

    def labels(self, asked: KNNBatch) -> NDArray[np.int32]:  # (settings, rows)
        """Places in `present`."""
        n_classes = len(self.present)
        found = {weighted: np.empty((len(asked.ks), len(self.test)), np.int32) for weighted in asked.weightings}
        for rows, members in self.walks:
            ties = Ties.of(members, asked.ks, self.test[rows], self.slack)
            counted = uniform_labels(members, ties, self.codes, n_classes)
            if False in found:
                found[False][:, rows] = counted
            if True in found:
                off = self.slack.values[self.test[rows]]
                found[True][:, rows] = weighted_labels(members, ties, self.codes, counted, off, self._rounding)
        labels: NDArray[np.int32] = asked.pick(found)
        for found_ in self.ask(asked, {weighted: some == UNDECIDED for weighted, some in found.items()}):
            if found_.near is None:
                assert found_.proba is not None
                here = found_.proba.argmax(axis=1)
            else:
                here = formulas.labels(self._codes_of(found_.near), found_.distances, n_classes)
            for s in found_.settings:
                labels[s, found_.rows] = here
        return labels

    def proba(self, asked: KNNBatch) -> NDArray[np.float64]:  # (settings, rows, classes)
        """Shares of the votes of the classes in `present`."""
        shape = (len(asked.ks), len(self.test), len(self.present))
        votes = {weighted: np.empty(shape) for weighted in asked.weightings}
        open_ = {weighted: np.empty(shape[:2], dtype=np.bool_) for weighted in asked.weightings}
        for rows, members in self.walks:
            ties = Ties.of(members, asked.ks, self.test[rows], self.slack)
            off = self.slack.values[self.test[rows]]
            for weighted in asked.weightings:
                here = class_votes(members, ties, self.codes, shape[2], weighted, off, self._rounding)
                votes[weighted][:, rows], open_[weighted][:, rows] = here
        proba: NDArray[np.float64] = asked.pick({weighted: formulas.shares(some) for weighted, some in votes.items()})
        for found_ in self.ask(asked, open_):
            here_ = found_.proba
            if found_.near is not None:
                here_ = formulas.shares(formulas.votes(self._codes_of(found_.near), found_.distances, shape[2]))
            for s in found_.settings:
                proba[s, found_.rows] = here_
        return proba

    def values(self, asked: KNNBatch) -> NDArray[np.float64]:  # (settings, rows)
        """What a regressor predicts."""
        assert isinstance(self.problem.target, TargetValues)
        y, shape = self.problem.target.numbers, (len(asked.ks), len(self.test))
        scale = float(np.std(y[self.train]))
        found = {weighted: np.empty(shape) for weighted in asked.weightings}
        open_ = {weighted: np.empty(shape, dtype=np.bool_) for weighted in asked.weightings}
        for rows, members in self.walks:
            ties = Ties.of(members, asked.ks, self.test[rows], self.slack)
            off = self.slack.values[self.test[rows]]
            for weighted in asked.weightings:
                here = means(members, ties, y, weighted, off, self._rounding, scale)
                found[weighted][:, rows], open_[weighted][:, rows] = here
        values: NDArray[np.float64] = asked.pick(found)
        for found_ in self.ask(asked, open_):
            assert found_.near is not None
            for s in found_.settings:
                values[s, found_.rows] = formulas.values(y[self.train[found_.near.places]], found_.distances)
        return values

    def _codes_of(self, near: Nearest) -> NDArray[np.int64]:
        return self.codes[self.train[near.places]]

    def ask(self, asked: KNNBatch, open_: dict[bool, Mask]) -> Iterator[TieAnswer]:
        """What scikit-learn says of the rows that are open, by weighting and number of neighbors."""
        if not any(mask.any() for mask in open_.values()):
            return
        searches: dict[Any, list[int]] = {}
        for s, plain in enumerate(asked.settings_):
            searches.setdefault(plain.search, []).append(s)
        for settings in searches.values():
            alike: dict[int, dict[bool, list[int]]] = {}  # by number of neighbors and weighting
            for s in settings:
                plain, i = asked.settings_[s], asked.places[s]
                if plain.weights == "uniform" and self._counts_votes:
                    rows = np.flatnonzero(open_[False][i])
                    if rows.size:
                        yield TieAnswer([s], rows, None, self._counted(plain, rows))
                else:
                    alike.setdefault(i, {}).setdefault(plain.weighted, []).append(s)
            wanted = {i: np.flatnonzero(np.any([open_[w][i] for w in some], axis=0)) for i, some in alike.items()}
            at = {int(asked.ks[i]): i for i, rows in wanted.items() if rows.size}
            if not at:
                continue
            tie_search = self._tie_search(asked.settings_[settings[0]])
            for k, near in tie_search.nearest({k: wanted[i] for k, i in at.items()}):
                for weighted, some in alike[at[k]].items():
                    mine = open_[weighted][at[k]][near.rows]
                    if mine.any():
                        yield TieAnswer(some, near.rows[mine], near.of(mine), None, weighted)

    @cached_property
    def _counts_votes(self) -> bool:
        """Whether uniform votes are counted by scikit-learn without lists, in a search of its own."""
        return (
            isinstance(self.problem.target, Labels)
            and not self.distance.tree
            and self.distance.resolved not in ("euclidean", "cosine")
            and self.cells.X.dtype.kind == "f"
            and isinstance(self.problem.X, np.ndarray)
            and bool(take_rows(self.problem.X, self.test).flags.c_contiguous)
        )

    def _counted(self, plain: KNNSetting, rows: Rows) -> NDArray[np.float64]:  # (rows, classes)
        """Shares of uniform votes, by that search; it looks at each query alone."""
        model = self.problem.kind(plain.k, **plain.params)
        with config_context(assume_finite=True, skip_parameter_validation=True):
            model.fit(self.cells.X[self.train], self.codes[self.train])
            found: NDArray[np.float64] = model.predict_proba(take_rows(self.problem.X, self.test[rows]))
        return found

    def _tie_search(self, plain: KNNSetting) -> TieSearch:
        if plain.search not in self._tie_searches:
            search = NearestNeighbors(n_neighbors=plain.k, **plain.params)  # the choice of a tree looks at k
            with config_context(assume_finite=True, skip_parameter_validation=True):
                search.fit(self.cells.X[self.train])
            self._tie_searches[plain.search] = TieSearch(search, self.cells, self.distance, self.train, self.test)
        return self._tie_searches[plain.search]
