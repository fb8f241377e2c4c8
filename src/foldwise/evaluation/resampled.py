"""Scores of stored out-of-fold predictions on bootstrap samples of the rows; nothing is fitted.

Rows are drawn in units: all test predictions of one row are one unit, and so are all rows of one group.
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

from foldwise.arrays import AnyInts, Floats
from foldwise.evaluation.metrics.metric import OrderScores
from foldwise.evaluation.metrics.ranking import in_order
from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.folds.protocol import Answer, Labels, Need
from foldwise.folds.splits import Split

ScoreOf = Callable[[Floats], Floats]  # the scores of mean losses
# (draws, settings) -> (draws,): the setting that the search selects by these scores
Choose = Callable[[Floats], AnyInts]

DRAW_CELLS = 1 << 23  # most counts or scores in memory at a time
N_BLOCKS = 10  # jackknife blocks of units, if splits cannot serve as blocks
MOST_BLOCKS = 20


@dataclass(frozen=True)
class BootstrapScores:
    """Scores of the selected settings on the rows not drawn by some bootstraps; NaN where not defined."""

    scores: Floats  # (draws,)
    without: Floats | None = None  # (blocks, draws): the same without one block of units, for the jackknife


class ResampledScores(Protocol):
    """Stored predictions that can be scored on bootstrap samples."""

    n_settings: int
    n_units: int
    n_blocks: int  # of the jackknife

    def draw(self, counts: AnyInts, choose: Choose) -> BootstrapScores:  # (draws, units)
        """Select a setting on the drawn rows, given how often each was drawn, and score it on the others."""


def units_of(kept: OutOfFoldAnswers) -> NDArray[np.intp]:  # (m,)
    """Return the unit of each stored prediction."""
    labels = kept.rows if kept.groups is None else kept.groups[kept.rows]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def blocks_of(kept: OutOfFoldAnswers, units: NDArray[np.intp], n_units: int) -> NDArray[np.intp]:  # (units,)
    """Assign units to jackknife blocks.

    The units of each split are a block, since one model predicted them. If units are tested several times, or if there
    are too few or too many splits, units are dealt to ten blocks in turn.
    """
    n_splits = int(kept.split.max()) + 1
    if len(units) == n_units and 4 <= n_splits <= MOST_BLOCKS:
        found = np.empty(n_units, dtype=np.intp)
        found[units] = kept.split
        return found
    return np.arange(n_units) % min(N_BLOCKS, n_units)


def draws_of(n_units: int, n_draws: int, rng: np.random.Generator, at_once: int | None = None) -> Iterator[AnyInts]:
    """Yield how often each unit is drawn by each bootstrap, in batches of shape (draws, units)."""
    at_once = at_once or max(1, DRAW_CELLS // n_units)
    for start in range(0, n_draws, at_once):
        drawn = rng.integers(n_units, size=(min(at_once, n_draws - start), n_units), dtype=np.int32)
        yield count_draws(drawn)


@njit(nogil=True, cache=True)
def count_draws(drawn: AnyInts) -> AnyInts:  # (draws, units)
    """Count how often each number occurs in each row."""
    counts = np.zeros(drawn.shape, dtype=np.int32)
    for i in range(drawn.shape[0]):
        for j in range(drawn.shape[1]):
            counts[i, drawn[i, j]] += 1
    return counts


class MeanLosses:
    """Scores of means over rows: two matrix products for all settings and draws.

    Sums are computed per block of units, so that each block can be subtracted for the jackknife. Counts refer to units
    in the order of `order`, which is a permutation and does not matter for random draws.
    """

    def __init__(self, kept: OutOfFoldAnswers, score_of: ScoreOf) -> None:
        assert kept.losses is not None
        units, self._score_of = units_of(kept), score_of
        weights = np.ones(len(units)) if kept.weights is None else kept.weights[kept.rows]
        self.n_settings, self.n_units = len(kept.losses), int(units.max()) + 1
        blocks = blocks_of(kept, units, self.n_units)
        self.order = np.argsort(blocks, kind="stable")  # units of a block are adjacent in memory
        self._blocks = [slice(start, stop) for start, stop in pairwise(np.cumsum([0, *np.bincount(blocks)]))]
        self.n_blocks = len(self._blocks)
        position = np.empty_like(self.order)
        position[self.order] = np.arange(self.n_units)
        units = position[units]
        total = np.bincount(units, weights, minlength=self.n_units)
        summed = np.array([np.bincount(units, one * weights, minlength=self.n_units) for one in kept.losses])
        # sums of zeros and ones are integers, which float32 represents exactly up to 2^24
        counted = kept.weights is None and np.isin(kept.losses, (0.0, 1.0)).all() and len(units) < 1 << 22
        self._kind: Any = np.float32 if counted else np.float64
        self._losses = np.ascontiguousarray(summed.T, dtype=self._kind)  # (units, settings)
        self._weights = total.astype(self._kind)

    def draw(self, counts: AnyInts, choose: Choose) -> BootstrapScores:
        times = counts.astype(self._kind)
        rest_times = (counts == 0).astype(self._kind)
        inside = [self._sums(times[:, block], block) for block in self._blocks]
        outside = [self._sums(rest_times[:, block], block) for block in self._blocks]
        drawn, rest = LossSums.total(inside), LossSums.total(outside)
        scores = self._score_of(rest.of(choose(self._score_of(drawn.means()))))
        without = [
            self._score_of((rest - left).of(choose(self._score_of((drawn - taken).means()))))
            for taken, left in zip(inside, outside, strict=True)
        ]
        return BootstrapScores(scores, np.stack(without))

    def _sums(self, times: NDArray[Any], block: slice) -> LossSums:
        return LossSums(*((times @ part[block]).astype(np.float64) for part in (self._losses, self._weights)))


@dataclass(frozen=True)
class LossSums:
    """Sums of losses and weights over some rows, for each draw."""

    losses: Floats  # (draws, settings)
    weights: Floats  # (draws,)

    @staticmethod
    def total(parts: list[LossSums]) -> LossSums:
        return LossSums(np.sum([one.losses for one in parts], axis=0), np.sum([one.weights for one in parts], axis=0))

    def __sub__(self, other: LossSums) -> LossSums:
        return LossSums(self.losses - other.losses, self.weights - other.weights)

    def means(self) -> Floats:  # (draws, settings)
        return self.losses / positive(self.weights)[:, None]

    def of(self, chosen: AnyInts) -> Floats:  # (draws,)
        """Return the mean loss of one setting per draw."""
        return np.asarray(self.means()[np.arange(len(chosen)), chosen])


def positive(weights: Floats) -> Floats:
    """Replace zero weights, up to rounding errors of differences, by NaN: a mean over no rows is not defined."""
    return np.where(weights > 1e-9, weights, np.nan)


class SplitwiseScores:
    """Metrics that are computed split by split and averaged over splits, as the search does."""

    n_settings: int

    def draw(self, counts: AnyInts, choose: Choose) -> BootstrapScores:
        every = np.arange(self.n_settings)
        chosen = choose(np.stack([self._mean(times, every) for times in counts]))
        rests = (counts == 0).astype(np.int64)
        return BootstrapScores(np.array([self._mean(rest, chosen[[draw]])[0] for draw, rest in enumerate(rests)]))

    def _mean(self, times: AnyInts, settings: AnyInts) -> Floats:  # (units,), settings -> (settings,)
        """Compute the mean over the splits on which the metric is defined; NaN if there is none."""
        raise NotImplementedError


class RecomputedScores(SplitwiseScores):
    """Any metric, recomputed from stored predictions.

    A metric that averages over classes is mostly better on rows that lack a class, since rare classes are the ones that
    get lost. So a draw is scored on the splits that keep all classes they test, or else on those that lose the fewest.
    """

    def __init__(self, kept: OutOfFoldAnswers, metric: Any, estimator: Any) -> None:
        self._kept, self._metric = kept, metric
        self._units = units_of(kept)
        self._rows_of_splits = [np.flatnonzero(kept.split == k) for k in range(int(kept.split.max()) + 1)]
        self._codes = kept.target.codes[kept.rows] if isinstance(kept.target, Labels) else None
        self._tested = [self._classes_of(indices) for indices in self._rows_of_splits]
        self._session = StoredSession(kept, estimator)
        self.n_settings = len(next(iter(kept.parts.values())))
        self.n_units, self.n_blocks = int(self._units.max()) + 1, 0

    def _mean(self, times: AnyInts, settings: AnyInts) -> Floats:
        drawn = [np.repeat(indices, times[self._units[indices]]) for indices in self._rows_of_splits]
        lost = [tested - self._classes_of(indices) for tested, indices in zip(self._tested, drawn, strict=True)]
        fewest = min((n for n, indices in zip(lost, drawn, strict=True) if len(indices)), default=0)
        scores = [self._on_split(indices, settings) for n, indices in zip(lost, drawn, strict=True) if n <= fewest]
        defined = np.array([one for one in scores if one is not None])
        return defined.mean(axis=0) if len(defined) else np.full(len(settings), np.nan)

    def _classes_of(self, indices: NDArray[np.intp]) -> int:
        """Count the classes of some stored predictions."""
        return 0 if self._codes is None else int(np.count_nonzero(np.bincount(self._codes[indices])))

    def _on_split(self, indices: NDArray[np.intp], settings: AnyInts) -> Floats | None:
        if not len(indices):
            return None
        parts: Any = {name: part[settings][:, indices] for name, part in self._kept.parts.items()}
        split = Split(self._session.all_rows, self._kept.rows[indices])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a metric is undefined on a few rows is not worth a warning
                found = self._metric(self._session, [{}] * len(settings), split, Answer(**parts))
        except Exception:  # a metric may be undefined on a resample, such as one of a single class
            return None
        scores = np.asarray(found, dtype=np.float64)
        return None if np.isnan(scores).any() else scores


class ResampledOrders(SplitwiseScores):
    """A score of the order of rows, such as the area under the ROC curve, averaged over the splits where it is defined.

    Rows are sorted once for all draws.
    """

    def __init__(self, kept: OutOfFoldAnswers, of_order: OrderScores) -> None:
        assert isinstance(kept.target, Labels)
        self._of_order = of_order
        scores: Any = kept.decision if kept.decision is not None else kept.proba[:, :, 1]  # type: ignore[index]
        self._units = units_of(kept)
        self.n_settings, self.n_units, self.n_blocks = len(scores), int(self._units.max()) + 1, 0
        positive = kept.target.codes[kept.rows] == 1
        self._splits = []
        for k in range(int(kept.split.max()) + 1):
            indices = np.flatnonzero(kept.split == k)
            self._splits.append((indices, *in_order(scores[:, indices]), positive[indices]))

    @staticmethod
    def serve(kept: OutOfFoldAnswers) -> bool:
        """Whether this class applies: two classes, one finite score per row, no weights."""
        if kept.classes is None or len(kept.classes) != 2 or kept.weights is not None:
            return False
        scores = kept.proba if kept.decision is None else kept.decision
        return scores is not None and (kept.decision is None or scores.ndim == 2) and bool(np.isfinite(scores).all())

    def _mean(self, times: NDArray[Any], settings: AnyInts) -> Floats:
        total, defined = np.zeros(len(settings)), 0
        at = times[self._units].astype(np.float64)
        for indices, order, last, positive in self._splits:
            found = self._of_order(order[settings], last[settings], positive, at[indices])
            if not np.isnan(found[0]):
                total += found
                defined += 1
        return total / defined if defined else np.full(len(settings), np.nan)


class StoredSession:
    """A stand-in for a session, built from stored predictions, with the attributes that metrics read."""

    def __init__(self, kept: OutOfFoldAnswers, estimator: Any) -> None:
        self.target: Any = kept.target
        self.estimator = estimator
        self.fit_params = {} if kept.weights is None else {"sample_weight": kept.weights}
        target: Any = kept.target
        truth = target.numbers if kept.classes is None else target.classes[target.codes]
        self.y, self.X = truth, np.empty((len(truth), 0))
        self.all_rows = np.arange(len(truth), dtype=np.intp)


def has_what_it_needs(kept: OutOfFoldAnswers, metric: Any) -> bool:
    """Whether the stored predictions are enough to compute the metric."""
    held = Need(0)
    for need, part in (
        (Need.LABELS, kept.labels),
        (Need.PROBA, kept.proba),
        (Need.DECISION, kept.proba if kept.decision is None else kept.decision),
        (Need.VALUES, kept.values),
    ):
        held |= need if part is not None else Need(0)
    if metric.need == Need.MODEL:  # a scikit-learn scorer calls one of the predict methods
        return not metric.wants_model and held != Need(0)
    return bool(held & metric.need == metric.need)
