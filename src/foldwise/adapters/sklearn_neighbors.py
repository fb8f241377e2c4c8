"""The session of scikit-learn's k-nearest-neighbors estimators: one list of neighbors per row serves all splits.

Rows outside a training set are removed from the lists. One pass along each list serves all numbers of neighbors and
both kinds of weights. If the prediction depends on a tie for the k-th neighbor, scikit-learn's own search decides it.
Unusual settings and tables are refitted.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from foldwise.adapters.nearest import (
    Distance,
    DistanceLists,
    KNNBatch,
    KNNProblem,
    KNNSetting,
    NeighborSplit,
    NumericTable,
    by_tree,
    is_known,
)
from foldwise.adapters.nearest.tie_search import THREADS, is_usual
from foldwise.adapters.support import SKLEARN, Support, is_whole
from foldwise.folds.caches import IdentityCache
from foldwise.folds.fallback import attempt, raise_hidden
from foldwise.folds.model_session import IndexedAnswer, ModelSession, in_order
from foldwise.folds.neighbor_lists import LazyLists, ListStore
from foldwise.folds.protocol import Answer, Block, Failure, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows

LAZY = frozenset({"n_neighbors", "weights", "algorithm", "leaf_size", "n_jobs"})
LARGEST = 1e100  # larger numbers overflow in powers
EUCLIDEAN = {"metric": "euclidean", "metric_params": None, "algorithm": "brute"}


class NeighborSession(ModelSession):
    """A session in which settings and splits share the lists of neighbors."""

    shares = "neighbors"
    threads = True

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.problem: KNNProblem | None = None
        self._shelf: ListStore[DistanceLists] = ListStore()
        self._read = IdentityCache(self._plain)

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY if self._read.of(params) is not None else frozenset()

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        need = need | Need.PROBA if need & Need.DECISION else need  # the estimators have no decision values
        yield from in_order(self._pieces(settings, train, test, need))

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        known = [self._read.of(setting) if len(train) and len(test) else None for setting in settings]
        groups: dict[Distance | None, list[int]] = {}
        for i, plain in enumerate(known):
            groups.setdefault(None if plain is None else self.distance(plain, len(train)), []).append(i)
        for distance, indices in groups.items():
            if distance is None:
                answers = self.answer_group([settings[i] for i in indices], train, take_rows(self.X, test), need)
                yield from (([i], answer) for i, answer in zip(indices, answers, strict=True))
                continue
            assert self.problem is not None
            k_max = max(plain.k for plain in (known[i] for i in indices) if plain is not None)
            split = NeighborSplit(self.problem, self.distance_lists(distance), train, test, k_max)
            size = self.block_size(len(test)) if need & Need.PROBA else len(indices)
            for a in range(0, len(indices), size):
                block = indices[a : a + size]
                batch = KNNBatch([plain for plain in (known[i] for i in block) if plain is not None])
                answer = finished(split, batch, need)
                if need & Need.MODEL:
                    yield from self._with_models(answer, settings, block, train)
                else:
                    yield block, answer

    def _with_models(
        self, answer: Answer, settings: Sequence[Params], indices: Sequence[int], train: Rows
    ) -> Iterator[IndexedAnswer]:
        for at, i in enumerate(indices):
            model = self.fit_alone(settings[i], train)
            one = answer.cut(at, at + 1)
            yield [i], model if isinstance(model, Failure) else replace(one, models=(model,))

    def _plain(self, setting: Params) -> KNNSetting | None:
        """The setting, if it can be answered together with others; None if it may be invalid, or is not supported."""
        if not setting.keys() <= self.own_params.keys():
            return None
        params = self.merged(setting)
        k, weights, algorithm = params["n_neighbors"], params["weights"], params["algorithm"]
        leaf_size, n_jobs, metric, p = (params[name] for name in ("leaf_size", "n_jobs", "metric", "p"))
        usual = (
            is_whole(k)
            and k >= 1
            and (weights is None or (isinstance(weights, str) and weights in ("uniform", "distance")))
            and (isinstance(algorithm, str) and algorithm in ("auto", "ball_tree", "kd_tree", "brute"))
            and is_whole(leaf_size)
            and leaf_size >= 1
            and (n_jobs is None or (is_whole(n_jobs) and n_jobs != 0))
            and is_known(metric, p, params["metric_params"])
        )
        if not usual or (metric == "cosine" and algorithm.endswith("tree")):
            return None
        return KNNSetting(int(k), weights, algorithm, int(leaf_size), n_jobs, metric, p)

    def distance(self, plain: KNNSetting, n_train: int) -> Distance | None:
        """The distance and its search; None if there are more neighbors than rows."""
        if plain.k > n_train or self.problem is None:
            return None
        tree = by_tree(plain.algorithm, plain.metric, self.problem.cells.X.shape[1], plain.k, n_train)
        return Distance(plain.metric, 2.0 if plain.p is None else float(plain.p), tree)

    def distance_lists(self, distance: Distance) -> DistanceLists:
        assert self.problem is not None
        cells = self.problem.cells

        def made() -> tuple[DistanceLists, LazyLists]:
            distance_lists = DistanceLists.of(distance, cells)
            return distance_lists, distance_lists.lists

        return self._shelf.get(distance, made)


def finished(split: NeighborSplit, batch: KNNBatch, need: Need) -> Answer:
    """The needed predictions that the estimator has."""
    target = split.problem.target
    if not isinstance(target, Labels):
        return Answer(values=split.values(batch) if need & Need.VALUES else None)
    labels = split.labels(batch) if need & Need.LABELS else None
    proba = split.proba(batch) if need & Need.PROBA else None
    return Answer(labels=labels, proba=proba).among(split.present, len(target.classes))


SUPPORT = Support(
    SKLEARN,
    functions=("sklearn.neighbors.NearestNeighbors._kneighbors_reduce_func", THREADS),
)


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> NeighborSession | None:
    """A session for a table of finite numbers and one target; None otherwise."""
    if fit_params or not is_usual():
        return None
    session = NeighborSession(estimator, X, y, fit_params)
    if session.target is None or not has_usual_target(session, y):
        return None
    cells = cells_of(session)
    if cells is None or len(cells.X) != session.n_rows:
        return None
    session.problem = KNNProblem(type(estimator), X, cells, session.target)
    return session


def has_usual_target(session: NeighborSession, y: Any) -> bool:
    """Whether the target has classes, or finite numbers whose mean is computed in double precision."""
    if isinstance(session.target, Labels):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about many classes, which each fit gives too
            return type_of_target(y) in ("binary", "multiclass")
    dtype = np.asarray(y).dtype
    return (dtype.kind in "iu" or dtype == np.float64) and bool(np.isfinite(np.asarray(y)).all())


def cells_of(session: NeighborSession) -> NumericTable | None:
    """The table as scikit-learn reads it; None if that depends on the rows, or if it is invalid."""
    X = session.X
    if nw.dependencies.is_into_dataframe(X):
        schema = nw.from_native(X, eager_only=True).schema
        if not all(dtype.is_numeric() for dtype in schema.values()):
            return None
    elif isinstance(X, list):
        kinds = {np.asarray(row).dtype for row in X}
        if len(kinds) != 1 or kinds.pop().kind not in "fiu":
            return None
    elif type(X) is not np.ndarray or X.dtype.kind not in "fiu":
        return None
    table, error = attempt(lambda: numbers_of_table(X))
    if table is None:
        # some distances accept missing values, and are refitted
        raise_hidden(error, partial(session.refit, EUCLIDEAN, np.arange(session.n_rows)))
        return None
    if not (table.dtype in (np.float64, np.float32) or table.dtype.kind in "iu") or table.size == 0:
        return None
    return NumericTable(table) if float(np.abs(table).max()) < LARGEST else None


def numbers_of_table(X: Any) -> NDArray[Any]:
    """The cells of a table; raises like a fit, also for the names of columns."""
    NearestNeighbors(algorithm="brute").fit(X)
    cells: NDArray[Any] = check_array(X, order="C")
    return cells
