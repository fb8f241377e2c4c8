"""Scores of stored out-of-fold answers on resampled rows: nothing is fitted.

Rows are drawn in units: a row that several splits test is one unit, and so are the rows of one group.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.folds.protocol import Answer, Labels, Need
from foldwise.folds.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Choose = Callable[[Floats], Ints]  # (draws, settings) -> (draws,): the setting that such scores make a search choose

DRAW_CELLS = 1 << 23  # of counts and of scores at a time
N_BLOCKS = 10  # of units that are left out in turn, where splits are none
MOST_BLOCKS = 20


@dataclass(frozen=True)
class BootstrapScores:
    """What came of some bootstraps: their winners' scores on rows not drawn, NaN where that is not defined."""

    scores: Floats  # (draws,)
    without: Floats | None = None  # (blocks, draws): the same had a block of units not been there


class ResampledScores(Protocol):
    """Stored answers that can be scored again on resampled rows."""

    n_settings: int
    n_units: int
    n_blocks: int  # that are left out in turn

    def draw(self, counts: Ints, choose: Choose) -> BootstrapScores:  # (draws, units)
        """Choose on rows that were drawn so many times, score on those that were not."""


def units_of(kept: OutOfFoldAnswers) -> NDArray[np.intp]:  # (m,)
    """The unit of each stored place."""
    labels = kept.rows if kept.groups is None else kept.groups[kept.rows]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def blocks_of(kept: OutOfFoldAnswers, units: NDArray[np.intp], n_units: int) -> NDArray[np.intp]:  # (units,)
    """Blocks of units to be left out in turn: those of each split, whose answers come from one model; where units are
    tested several times, or splits are very many or few, every tenth unit, as the order of rows may mean something.
    """
    n_splits = int(kept.split.max()) + 1
    if len(units) == n_units and 4 <= n_splits <= MOST_BLOCKS:
        found = np.empty(n_units, dtype=np.intp)
        found[units] = kept.split
        return found
    return np.arange(n_units) % min(N_BLOCKS, n_units)


def draws_of(n_units: int, n_draws: int, rng: np.random.Generator, at_once: int | None = None) -> Iterator[Ints]:
    """How often each unit is drawn by each of many bootstraps, some of them at a time: (draws, units)."""
    at_once = at_once or max(1, DRAW_CELLS // n_units)
    for start in range(0, n_draws, at_once):
        drawn = rng.integers(n_units, size=(min(at_once, n_draws - start), n_units), dtype=np.int32)
        yield count_draws(drawn)


@njit(nogil=True, cache=True)
def count_draws(drawn: Ints) -> Ints:  # (draws, units)
    """How often each number occurs in each line."""
    counts = np.zeros(drawn.shape, dtype=np.int32)
    for i in range(drawn.shape[0]):
        for j in range(drawn.shape[1]):
            counts[i, drawn[i, j]] += 1
    return counts


class MeanLosses:
    """Scores that average losses over rows: two products of matrices for all settings and draws.

    They come block by block of units, so that what each block contributes can be taken off again. Draws name units in
    the order `order`, which makes no difference to those that are drawn alike.
    """

    def __init__(self, kept: OutOfFoldAnswers, lossless: float) -> None:
        assert kept.losses is not None
        units, self._lossless = units_of(kept), lossless
        weights = np.ones(len(units)) if kept.weights is None else kept.weights[kept.rows]
        self.n_settings, self.n_units = len(kept.losses), int(units.max()) + 1
        blocks = blocks_of(kept, units, self.n_units)
        self.order = np.argsort(blocks, kind="stable")  # in memory the units of a block lie together
        self._blocks = [slice(start, stop) for start, stop in pairwise(np.cumsum([0, *np.bincount(blocks)]))]
        self.n_blocks = len(self._blocks)
        place = np.empty_like(self.order)
        place[self.order] = np.arange(self.n_units)
        units = place[units]
        total = np.bincount(units, weights, minlength=self.n_units)
        summed = np.array([np.bincount(units, one * weights, minlength=self.n_units) for one in kept.losses])
        # sums of 0 and 1 are whole numbers, which half the bytes hold as exactly
        counted = kept.weights is None and np.isin(kept.losses, (0.0, 1.0)).all() and len(units) < 1 << 22
        self._kind: Any = np.float32 if counted else np.float64
        self._losses = np.ascontiguousarray(summed.T, dtype=self._kind)  # (units, settings)
        self._weights = total.astype(self._kind)

    def draw(self, counts: Ints, choose: Choose) -> BootstrapScores:
        times = counts.astype(self._kind)
        rest_times = (counts == 0).astype(self._kind)
        inside = [self._sums(times[:, block], block) for block in self._blocks]
        outside = [self._sums(rest_times[:, block], block) for block in self._blocks]
        drawn, rest = LossSums.total(inside), LossSums.total(outside)
        scores = rest.of(choose(drawn.scores(self._lossless)), self._lossless)
        without = [
            (rest - left).of(choose((drawn - taken).scores(self._lossless)), self._lossless)
            for taken, left in zip(inside, outside, strict=True)
        ]
        return BootstrapScores(scores, np.stack(without))

    def _sums(self, times: NDArray[Any], block: slice) -> LossSums:
        return LossSums(*((times @ part[block]).astype(np.float64) for part in (self._losses, self._weights)))


@dataclass(frozen=True)
class LossSums:
    """Losses and weights of some rows, summed for each draw."""

    losses: Floats  # (draws, settings)
    weights: Floats  # (draws,)

    @staticmethod
    def total(parts: list[LossSums]) -> LossSums:
        return LossSums(np.sum([one.losses for one in parts], axis=0), np.sum([one.weights for one in parts], axis=0))

    def __sub__(self, other: LossSums) -> LossSums:
        return LossSums(self.losses - other.losses, self.weights - other.weights)

    def scores(self, lossless: float) -> Floats:  # (draws, settings)
        return lossless - self.losses / positive(self.weights)[:, None]

    def of(self, chosen: Ints, lossless: float) -> Floats:  # (draws,)
        """The score of one setting a draw."""
        return np.asarray(lossless - self.losses[np.arange(len(chosen)), chosen] / positive(self.weights))


def positive(weights: Floats) -> Floats:
    """Weights, with NaN for none: a mean over no rows is not defined. What differences leave of nothing is nothing."""
    return np.where(weights > 1e-9, weights, np.nan)


class RecomputedScores:
    """Any other metric, computed anew split by split and averaged over splits, as the search itself did.

    A metric that averages over classes says something else of rows that lack one, and mostly something better, as it
    is rare classes that get lost. So a draw is scored on the splits that keep all classes they test; where none does,
    on those that lose the fewest.
    """

    def __init__(self, kept: OutOfFoldAnswers, metric: Any, estimator: Any) -> None:
        self._kept, self._metric = kept, metric
        self._units = units_of(kept)
        self._places = [np.flatnonzero(kept.split == k) for k in range(int(kept.split.max()) + 1)]
        self._codes = kept.target.codes[kept.rows] if isinstance(kept.target, Labels) else None
        self._tested = [self._classes_of(places) for places in self._places]
        self._session = StoredSession(kept, estimator)
        self.n_settings = len(next(iter(kept.parts.values())))
        self.n_units, self.n_blocks = int(self._units.max()) + 1, 0

    def draw(self, counts: Ints, choose: Choose) -> BootstrapScores:
        every = np.arange(self.n_settings)
        chosen = choose(np.stack([self._mean(times, every) for times in counts]))
        rests = (counts == 0).astype(np.int64)
        return BootstrapScores(np.array([self._mean(rest, chosen[[draw]])[0] for draw, rest in enumerate(rests)]))

    def _mean(self, times: Ints, settings: Ints) -> Floats:  # (units,), settings -> (settings,)
        """The mean over the splits on which the metric is defined."""
        drawn = [np.repeat(places, times[self._units[places]]) for places in self._places]
        lost = [tested - self._classes_of(places) for tested, places in zip(self._tested, drawn, strict=True)]
        fewest = min((n for n, places in zip(lost, drawn, strict=True) if len(places)), default=0)
        scores = [self._on_split(places, settings) for n, places in zip(lost, drawn, strict=True) if n <= fewest]
        defined = np.array([one for one in scores if one is not None])
        return defined.mean(axis=0) if len(defined) else np.full(len(settings), np.nan)

    def _classes_of(self, places: NDArray[np.intp]) -> int:
        """How many classes some places hold."""
        return 0 if self._codes is None else int(np.count_nonzero(np.bincount(self._codes[places])))

    def _on_split(self, places: NDArray[np.intp], settings: Ints) -> Floats | None:
        if not len(places):
            return None
        parts: Any = {name: part[settings][:, places] for name, part in self._kept.parts.items()}
        split = Split(self._session.all_rows, self._kept.rows[places])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is not defined on a few rows says nothing of the whole
                found = self._metric(self._session, [{}] * len(settings), split, Answer(**parts))
        except Exception:  # a metric may be undefined on a resample, such as one of a single class
            return None
        scores = np.asarray(found, dtype=np.float64)
        return None if np.isnan(scores).any() else scores


class StoredSession:
    """What a metric asks of a session, where only answers are left of it."""

    def __init__(self, kept: OutOfFoldAnswers, estimator: Any) -> None:
        self.target: Any = kept.target
        self.estimator = estimator
        self.fit_params = {} if kept.weights is None else {"sample_weight": kept.weights}
        target: Any = kept.target
        truth = target.numbers if kept.classes is None else target.classes[target.codes]
        self.y, self.X = truth, np.empty((len(truth), 0))
        self.all_rows = np.arange(len(truth), dtype=np.intp)


def has_what_it_needs(kept: OutOfFoldAnswers, metric: Any) -> bool:
    """Whether the stored answers hold what the metric is computed from."""
    held = Need(0)
    for need, part in (
        (Need.LABELS, kept.labels),
        (Need.PROBA, kept.proba),
        (Need.DECISION, kept.proba if kept.decision is None else kept.decision),
        (Need.VALUES, kept.values),
    ):
        held |= need if part is not None else Need(0)
    if metric.need == Need.MODEL:  # a scorer of scikit-learn asks for one of these, by its name
        return not metric.wants_model and held != Need(0)
    return bool(held & metric.need == metric.need)
