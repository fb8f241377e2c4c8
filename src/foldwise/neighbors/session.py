"""The fold session of both estimators: one neighbor search serves every number of neighbors and every weighting.

If a distance learns nothing from the training rows, one search serves all splits as well: the neighbors of a row in a
training set are found by filtering its neighbors among all rows. A distance that learns (a scale, ranges, class shares,
principal components) differs between training sets, so each split has its own search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.arrays import Floats
from foldwise.data.arguments import check_jobs
from foldwise.data.target import refuse_several
from foldwise.data.view import View, mixes_text_and_numbers
from foldwise.folds.caches import KeyedCache
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.groups import group_settings, value_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession
from foldwise.folds.neighbor_lists import LazyLists, ListStore, NeighborLists, SearchRows
from foldwise.folds.protocol import Answer, Failure, Labels, Need, Params, Rows, TargetValues
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows, column_roles, dense_table, warn_of_objects
from foldwise.neighbors.parameters import VotingParams, check_distance, check_metric, check_voting
from foldwise.neighbors.search import NeighborIndex
from foldwise.neighbors.space import learn_space
from foldwise.neighbors.votes import Neighbors, class_votes, mean_values, with_laplace
from foldwise.summaries.passes import n_threads

LAZY = frozenset({"n_neighbors", "weights", "ties", "laplace", "n_jobs"})
DISTANCE = ("metric", "p", "scale", "column_weights", "pca", "categorical")  # the parameters of the distance
BLOCK_CELLS = 1 << 22  # probabilities per block of settings


@dataclass(frozen=True)
class MeasuredTable:
    """The whole table, encoded for one distance."""

    rows: EncodedRows
    distance: DistanceSpec
    lists: LazyLists | None  # neighbors among all rows; None if the distance learns from training rows


@dataclass(frozen=True)
class TrainTargets:
    """The targets of the training rows: values, or codes of the classes that occur in them."""

    y: NDArray[Any]
    present: NDArray[np.intp]

    @property
    def n_classes(self) -> int:
        return len(self.present)


class KNNSession(ModelSession):
    """Settings share one neighbor search; so do splits, if the distance learns nothing from their rows."""

    threads = True

    def __init__(self, estimator: Any, X: Any, y: Any, table: View) -> None:
        super().__init__(estimator, X, y)
        self._table = table
        self._encoded: KeyedCache[EncodedRows] = KeyedCache()  # by column roles and power
        self._store: ListStore[MeasuredTable | Exception] = ListStore()

    @property
    def shares(self) -> str:  # type: ignore[override]
        """What settings with the estimator's own distance share."""
        return self.shares_of([{}])

    def shares_of(self, settings: Sequence[Params]) -> str:
        """Whether valid settings share neighbors among all splits, or only within each."""
        tables = map(self._measured, settings)
        learns = {table.distance.learns for table in tables if isinstance(table, MeasuredTable)}
        if len(learns) == 2:
            return "neighbors, in part of each split"
        return "neighbors" if learns == {False} else "neighbors of each split"

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        for group in group_settings(self, settings):
            votings: dict[int, VotingParams] = {}
            table = self._measured(settings[group[0]])
            for i in group:
                voting, error = self._checked_voting(table, settings[i], len(train))
                if voting is None:  # the refit raises the error
                    yield [i], refitted(self.answer_by_refit(settings[i], train, test, need), error)
                else:
                    votings[i] = voting
            if isinstance(table, MeasuredTable) and votings:
                yield from self._answers(votings, table, settings, train, test, need)

    def _checked_voting(
        self, table: MeasuredTable | Exception, setting: Params, n_train: int
    ) -> tuple[VotingParams | None, Exception | None]:
        """Check a setting; with None, also return the error because of which it is refitted."""
        if isinstance(table, Exception):
            return None, table
        return attempt(partial(self._voting, setting, n_train))

    def _voting(self, setting: Params, n_train: int) -> VotingParams | None:
        """Check how neighbors vote; None if there are too few training rows, or if a parameter is unknown."""
        params = self.merged(setting)
        if len(params) > len(self.own_params):
            return None
        check_jobs(params["n_jobs"])
        ties = {name: params[name] for name in ("ties", "laplace") if name in params}
        voting = check_voting(params["n_neighbors"], params["weights"], **ties)
        return voting if voting.k <= n_train else None

    def _measured(self, setting: Params) -> MeasuredTable | Exception:
        """Encode the table for the distance of a setting; an exception if its parameters are invalid."""
        params = self.merged(setting)

        def make() -> tuple[MeasuredTable | Exception, LazyLists | None]:
            table, error = attempt(partial(self._measure, params))
            return (error or AssertionError(), None) if table is None else (table, table.lists)

        return self._store.get(tuple(value_key(params[name]) for name in DISTANCE), make)

    def _measure(self, params: dict[str, Any]) -> MeasuredTable:
        metric = check_metric(params["metric"], params["scale"], params["pca"])
        if metric == "hvdm" and isinstance(self.target, TargetValues):
            raise ValueError("hvdm is not available for regression")
        roles = column_roles(self._table, metric, params["categorical"])
        distance = check_distance(roles, **{name: params[name] for name in ("p", "scale", "column_weights", "pca")})
        # distances over the same columns share their encoded rows
        rows = self._encoded.get((roles, distance.p), lambda: roles.encode(self._table, distance.p))
        if distance.learns:
            return MeasuredTable(rows, distance, None)
        threads = n_threads(self.own_params["n_jobs"])

        def open_search() -> SearchRows:
            index = NeighborIndex(learn_space(distance, rows), rows)
            return lambda some, depth: iter([(some, *index.nearest(rows.take(some), depth, None, threads))])

        return MeasuredTable(rows, distance, LazyLists(rows.n_rows, open_search))

    def _answers(
        self,
        votings: dict[int, VotingParams],
        table: MeasuredTable,
        settings: Sequence[Params],
        train: Rows,
        test: Rows,
        need: Need,
    ) -> Iterator[IndexedAnswer]:
        """Answer settings that share a distance."""
        depth = min(len(train), 1 + max(voting.k for voting in votings.values()))
        targets = self._targets(train)
        found, error = attempt(partial(self._nearest, table, targets, train, test, depth))
        if found is None:  # the distance cannot be learned: each setting fails by itself
            for i in votings:
                yield [i], refitted(self.answer_by_refit(settings[i], train, test, need), error)
            return
        for group in group_votings(votings):
            most = max(1, BLOCK_CELLS // max(1, len(test) * targets.n_classes)) if need & ~Need.LABELS else len(group)
            for start in range(0, len(group), most):
                part = group[start : start + most]
                yield part, self._vote(found, targets, [votings[i] for i in part], need)

    def _targets(self, train: Rows) -> TrainTargets:
        if isinstance(self.target, TargetValues):
            return TrainTargets(self.target.numbers[train], np.empty(0, dtype=np.intp))
        assert isinstance(self.target, Labels)
        present, codes = np.unique(self.target.codes[train], return_inverse=True)
        return TrainTargets(codes.astype(np.int64), present)

    def _nearest(self, table: MeasuredTable, targets: TrainTargets, train: Rows, test: Rows, k: int) -> Neighbors:
        """Find the k nearest training rows of each test row, as indices in `train`."""
        lists = None
        if table.lists is not None and np.bincount(train).max() == 1:
            lists = table.lists.of(k, len(train), test)
        if lists is None:
            return self._search(table, targets, train, test, k)
        position = np.full(table.rows.n_rows, -1, dtype=np.int32)
        position[train] = np.arange(len(train))
        kept, short = filter_lists(lists, test, position, k)
        if short.size:
            more = self._search(table, targets, train, test[short], k)
            kept.distances[short], kept.indices[short] = more.distances, more.indices
        return kept

    def _search(self, table: MeasuredTable, targets: TrainTargets, train: Rows, test: Rows, k: int) -> Neighbors:
        """Find the same by a search among the training rows alone."""
        y = None if targets.n_classes == 0 else targets.y
        rows = table.rows.take(train)
        index = NeighborIndex(learn_space(table.distance, rows, y, targets.n_classes), rows)
        return Neighbors(*index.nearest(table.rows.take(test), k, None, n_threads(self.own_params["n_jobs"])))

    def _vote(
        self, found: Neighbors, targets: TrainTargets, votings: Sequence[VotingParams], need: Need
    ) -> Answer | Failure:
        """Predict for settings that differ only in `n_neighbors` and `laplace`."""
        try:
            ks, weights = [voting.k for voting in votings], votings[0].weights
            if targets.n_classes == 0:
                return Answer(values=mean_values(found, targets.y, ks, weights))
            shares = bool(need & (Need.PROBA | Need.DECISION | Need.MODEL))
            votes = class_votes(found, targets.y, targets.n_classes, ks, weights, votings[0].ties, shares)
            proba = None
            if votes.shares is not None:
                proba = with_laplace(votes.shares, ks, [voting.laplace for voting in votings])
            assert isinstance(self.target, Labels)
            return Answer(labels=votes.labels, proba=proba).among(targets.present, len(self.target.classes))
        except Exception as error:  # weights may be a function of the user, so its error is the answer
            return Failure(error, fitted=True)


def group_votings(votings: dict[int, VotingParams]) -> list[list[int]]:
    """Group settings that differ only in `n_neighbors` (ascending) and `laplace`, by index."""
    groups: dict[Any, list[int]] = {}
    for i in sorted(votings, key=lambda i: votings[i].k):
        groups.setdefault((value_key(votings[i].weights), votings[i].ties), []).append(i)
    return list(groups.values())


def filter_lists(
    found: NeighborLists, rows: NDArray[np.intp], position: NDArray[np.int32], k: int
) -> tuple[Neighbors, NDArray[np.intp]]:
    """Filter lists of neighbors among all rows for the k nearest training rows; also find lists that are too short.

    `position` is the index of each row in the training set, or -1. Neighbors are ordered by (distance, position).
    """
    kept = Neighbors(np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64))
    short = np.empty(len(rows), dtype=np.bool_)
    take_members(
        found.indices, found.distances, found.at[rows], position, found.whole, kept.distances, kept.indices, short
    )
    return kept, np.flatnonzero(short)


@njit(nogil=True, cache=True)
def take_members(
    near: NDArray[np.int32],  # (lists, depth)
    far: Floats,  # (lists, depth)
    at: NDArray[np.int64],
    position: NDArray[np.int32],
    whole: bool,
    distances: Floats,  # (rows, k)
    indices: NDArray[np.int64],  # (rows, k)
    short: NDArray[np.bool_],
) -> None:
    """Follow each list until the k-th distance is exceeded: rows that tie for the k-th neighbor are in any order."""
    depth, k = near.shape[1], distances.shape[1]
    d, p = np.empty(depth), np.empty(depth, dtype=np.int64)
    for row in range(at.size):
        i, n, passed = at[row], 0, whole
        for j in range(depth):
            if n >= k and far[i, j] > d[k - 1]:
                passed = True
                break
            index = position[near[i, j]]
            if index >= 0:
                t = n
                while t > 0 and d[t - 1] == far[i, j] and p[t - 1] > index:
                    d[t], p[t] = d[t - 1], p[t - 1]
                    t -= 1
                d[t], p[t] = far[i, j], index
                n += 1
        short[row] = n < k or not passed
        for j in range(min(n, k)):
            distances[row, j], indices[row, j] = d[j], p[j]


def open_knn(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> KNNSession | None:
    """Open a session; None if refits must answer: for fit parameters, or if only some rows of a column are valid."""
    refuse_several(y)
    if fit_params or len(np.shape(y)) != 1:
        return None
    table = dense_table(clone(estimator), X, None)
    if mixes_text_and_numbers(table):
        return None
    warn_of_objects(table, estimator.metric, estimator.categorical)
    return KNNSession(estimator, X, y, table)
