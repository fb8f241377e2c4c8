"""The fold session of both estimators: one search answers every number of neighbours and every way of voting.

Where a distance learns nothing from the training rows, one search answers all splits too: a row's neighbours in a
training set are those of its neighbours among all rows that are in it. A distance that learns (a scale, ranges, value
differences, principal components) is another one in every training set, so each split is searched anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.data.arguments import check_jobs
from foldwise.data.validation import validate_table
from foldwise.data.view import View, mixes_text_and_numbers
from foldwise.folds.groups import group_settings, value_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession
from foldwise.folds.nearest.lists import LazyLists, ListStore, Search
from foldwise.folds.protocol import Answer, Failure, Labels, Need, Params, Rows, Values
from foldwise.folds.rows import take_rows
from foldwise.neighbors.cells import Cells
from foldwise.neighbors.classifier import with_laplace
from foldwise.neighbors.distance import Distance
from foldwise.neighbors.layout import Layout, lay_out
from foldwise.neighbors.parameters import Poll, check_distance, check_metric, check_poll
from foldwise.neighbors.search import Index
from foldwise.neighbors.space import learn_space
from foldwise.neighbors.striking import strike_out
from foldwise.neighbors.votes import Neighbours, class_votes, mean_values
from foldwise.summaries.passes import n_threads

LAZY = frozenset({"n_neighbors", "weights", "ties", "laplace", "n_jobs"})
PLACING = ("metric", "p", "scale", "column_weights", "pca", "categorical")  # what decides where rows are placed
BLOCK_CELLS = 1 << 22  # probabilities of a block


@dataclass(frozen=True)
class Placing:
    """The cells of the whole table for one way of measuring."""

    cells: Cells
    distance: Distance
    lists: LazyLists | None  # of neighbours among all rows, where the distance learns nothing from some of them


class KNNSession(ModelSession):
    """Settings share a search; so do splits, where nothing is learned from their rows."""

    threads = True

    def __init__(self, estimator: Any, X: Any, y: Any, table: View) -> None:
        super().__init__(estimator, X, y)
        self._table = table
        self._params = estimator.get_params(deep=False)
        self._cells: dict[tuple[Layout, float], Cells] = {}
        self._shelf: ListStore[Placing | None] = ListStore()
        self._learns: set[bool] = set()  # of the distances asked for

    @property
    def shares(self) -> str:  # type: ignore[override]
        """What the settings asked for so far shared; of none, what the estimator's own parameters would share."""
        own = None if self._learns else self._placing({})
        learns = self._learns or {own is None or own.distance.learns}
        if learns == {True}:
            return "neighbours of each split"
        return "neighbours" if learns == {False} else "neighbours, in part of each split"

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        for group in group_settings(self, settings):
            polls: dict[int, Poll] = {}
            placing = self._placing(settings[group[0]])
            for i in group:
                poll = None if placing is None else self._poll(settings[i], len(train))
                if poll is None:  # the estimator itself says what is wrong
                    yield [i], self._alone(settings[i], train, test, need)
                else:
                    polls[i] = poll
            if placing is not None and polls:
                yield from self._asked(polls, placing, settings, train, test, need)

    def _alone(self, setting: Params, train: Rows, test: Rows, need: Need) -> Answer | Failure:
        model = self.fit_alone(setting, train)
        return model if isinstance(model, Failure) else self.predict(model, take_rows(self.X, test), need)

    def _poll(self, setting: Params, n_train: int) -> Poll | None:
        """How the neighbours are asked; None where the estimator would refuse."""
        try:
            params = {**self._params, **setting}
            if len(params) > len(self._params):
                return None
            check_jobs(params["n_jobs"])
            votes = {name: params[name] for name in ("ties", "laplace") if name in params}
            poll = check_poll(params["n_neighbors"], params["weights"], **votes)
            return poll if poll.k <= n_train else None
        except (TypeError, ValueError):
            return None

    def _placing(self, setting: Params) -> Placing | None:
        """The table as one way of measuring sees it; None where the estimator would refuse some row of it."""
        params = {**self._params, **setting}

        def made() -> tuple[Placing | None, LazyLists | None]:
            try:
                placing = self._made(params)
            except (TypeError, ValueError):
                return None, None
            return placing, placing.lists

        return self._shelf.get(tuple(value_key(params[name]) for name in PLACING), made)

    def _made(self, params: dict[str, Any]) -> Placing:
        metric = check_metric(params["metric"], params["scale"], params["pca"])
        if metric == "hvdm" and isinstance(self.target, Values):
            raise ValueError("a regression has no classes")
        layout = lay_out(self._table, metric, params["categorical"])
        distance = check_distance(layout, **{name: params[name] for name in ("p", "scale", "column_weights", "pca")})
        if (layout, distance.p) not in self._cells:  # measures that see the same cells share them
            self._cells[layout, distance.p] = layout.cells(self._table, distance.p)
        cells = self._cells[layout, distance.p]
        if distance.learns:
            return Placing(cells, distance, None)
        threads = n_threads(self._params["n_jobs"])

        def opened() -> Search:
            index = Index(learn_space(distance, cells), cells)
            return lambda rows, depth: iter([(rows, *index.nearest(cells.take(rows), depth, None, threads))])

        return Placing(cells, distance, LazyLists(cells.n_rows, opened))

    def _asked(
        self,
        polls: dict[int, Poll],
        placing: Placing,
        settings: Sequence[Params],
        train: Rows,
        test: Rows,
        need: Need,
    ) -> Iterator[IndexedAnswer]:
        """The answers to settings of one placing."""
        self._learns.add(placing.distance.learns)
        wanted = min(len(train), 1 + max(poll.k for poll in polls.values()))
        try:
            voters = self._voters(placing, train)
            found = self._nearest(placing, voters, train, test, wanted)
        except (TypeError, ValueError):  # what is learned is refused: each setting fails by itself
            for i in polls:
                yield [i], self._alone(settings[i], train, test, need)
            return
        for places in alike(polls):
            most = max(1, BLOCK_CELLS // max(1, len(test) * voters.n_classes)) if need & ~Need.LABELS else len(places)
            for start in range(0, len(places), most):
                part = places[start : start + most]
                yield part, self._say(found, voters, [polls[i] for i in part], need)

    def _voters(self, placing: Placing, train: Rows) -> Voters:
        if isinstance(self.target, Values):
            return Voters(self.target.numbers[train], np.empty(0, dtype=np.intp))
        assert isinstance(self.target, Labels)
        present, codes = np.unique(self.target.codes[train], return_inverse=True)
        return Voters(codes.astype(np.int64), present)

    def _nearest(self, placing: Placing, voters: Voters, train: Rows, test: Rows, k: int) -> Neighbours:
        """The k nearest training rows of each test row, by their places in `train`."""
        found = None
        if placing.lists is not None and np.bincount(train).max() == 1:
            found = placing.lists.of(k, len(train), test)
        if found is None:
            return self._search(placing, voters, train, test, k)
        position = np.full(placing.cells.n_rows, -1, dtype=np.int32)
        position[train] = np.arange(len(train))
        kept, short = strike_out(found, test, position, k)
        if short.size:
            more = self._search(placing, voters, train, test[short], k)
            kept.distances[short], kept.places[short] = more.distances, more.places
        return kept

    def _search(self, placing: Placing, voters: Voters, train: Rows, test: Rows, k: int) -> Neighbours:
        """The same by a search among the training rows alone."""
        y = None if voters.n_classes == 0 else voters.y
        cells = placing.cells.take(train)
        index = Index(learn_space(placing.distance, cells, y, voters.n_classes), cells)
        return Neighbours(*index.nearest(placing.cells.take(test), k, None, n_threads(self._params["n_jobs"])))

    def _say(self, found: Neighbours, voters: Voters, polls: Sequence[Poll], need: Need) -> Answer | Failure:
        """What the neighbours of each test row say, asked in several ways that differ in their number."""
        try:
            ks = [poll.k for poll in polls]
            if voters.n_classes == 0:
                return Answer(values=mean_values(found, voters.y, ks, polls[0].weights))
            shares = bool(need & (Need.PROBA | Need.DECISION | Need.MODEL))
            n_classes = voters.n_classes
            votes = class_votes(found, voters.y, n_classes, ks, polls[0].weights, polls[0].ties, shares)
            proba = None if votes.shares is None else with_laplace(votes.shares, polls)
            assert isinstance(self.target, Labels)
            return Answer(labels=votes.labels, proba=proba).among(voters.present, len(self.target.classes))
        except Exception as error:
            return Failure(error, fitted=True)


@dataclass(frozen=True)
class Voters:
    """The targets of the training rows: values, or codes among the classes that occur in them."""

    y: NDArray[Any]
    present: NDArray[np.intp]

    @property
    def n_classes(self) -> int:
        return len(self.present)


def alike(polls: dict[int, Poll]) -> list[list[int]]:
    """The places of polls that differ only in the number of neighbours and in Laplace, with that number ascending."""
    groups: dict[Any, list[int]] = {}
    for i in sorted(polls, key=lambda i: polls[i].k):
        groups.setdefault((value_key(polls[i].weights), polls[i].ties), []).append(i)
    return list(groups.values())


def open_knn(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> KNNSession | None:
    """A session, or None where a refit must decide: fit takes no parameters; some tables are refused by their rows."""
    if fit_params:
        return None
    table = validate_table(clone(estimator), X, None).table
    if not isinstance(table, View) or mixes_text_and_numbers(table):
        return None
    return KNNSession(estimator, X, y, table)
