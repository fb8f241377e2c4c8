"""Scores of stored out-of-fold answers on resampled rows: nothing is fitted.

Rows are drawn in units: a row that several splits test is one unit, and so are the rows of one group.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from foldwise.evaluation.kept import Kept
from foldwise.folds.protocol import Answer, Need
from foldwise.folds.splits import Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK_CELLS = 1 << 23  # of counts at a time


class Stored(Protocol):
    """Scores of all settings on drawn rows, greater is better."""

    def of_draw(self, counts: Ints) -> Floats:  # (draws, units) -> (draws, settings)
        """Scores of every setting on rows that were drawn so many times."""

    def of_rest(self, counts: Ints, chosen: Ints) -> Floats:  # (draws, units), (draws,) -> (draws,)
        """The score of one setting a draw on the rows that were not drawn; NaN where it is not defined."""


def units_of(kept: Kept) -> NDArray[np.intp]:  # (m,)
    """The unit of each stored place."""
    labels = kept.rows if kept.groups is None else kept.groups[kept.rows]
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def draws_of(n_units: int, n_draws: int, rng: np.random.Generator) -> Iterator[Ints]:  # blocks of (draws, units)
    """How often each unit is drawn by each of many bootstraps, a block of them at a time."""
    block = max(1, BLOCK_CELLS // n_units)
    for start in range(0, n_draws, block):
        n = min(block, n_draws - start)
        drawn = rng.integers(n_units, size=(n, n_units))
        drawn += n_units * np.arange(n)[:, None]
        yield np.bincount(drawn.ravel(), minlength=n * n_units).reshape(n, n_units)


class MeanLosses:
    """Scores that average losses over rows: one product of matrices for all settings and draws."""

    def __init__(self, kept: Kept, lossless: float) -> None:
        assert kept.losses is not None
        units, self._lossless = units_of(kept), lossless
        weights = np.ones(len(units)) if kept.weights is None else kept.weights[kept.rows]
        n_units = int(units.max()) + 1
        self._weights = np.bincount(units, weights, minlength=n_units)
        if kept.weights is None and np.array_equal(units, np.arange(n_units)):
            self._losses = kept.losses
        else:
            self._losses = np.stack([np.bincount(units, one * weights, minlength=n_units) for one in kept.losses])

    @cached_property
    def _by_unit(self) -> Floats:
        return np.ascontiguousarray(self._losses.T)

    def of_draw(self, counts: Ints) -> Floats:
        times = counts.astype(np.float64)
        return np.asarray(self._lossless - (times @ self._by_unit) / (times @ self._weights)[:, None])

    def of_rest(self, counts: Ints, chosen: Ints) -> Floats:
        found = np.full(len(counts), np.nan)
        for draw, setting in enumerate(chosen):
            rest = counts[draw] == 0
            weight = self._weights[rest].sum()
            if weight > 0:
                found[draw] = self._lossless - self._losses[setting][rest].sum() / weight
        return found


class ScoredAgain:
    """Any other metric, computed anew split by split and averaged over splits, as the search itself did."""

    def __init__(self, kept: Kept, metric: Any, estimator: Any) -> None:
        self._kept, self._metric = kept, metric
        self._units = units_of(kept)
        self._places = [np.flatnonzero(kept.split == k) for k in range(int(kept.split.max()) + 1)]
        self._session = StoredSession(kept, estimator)
        self._n_settings = len(next(part for part in parts_of(kept).values() if part is not None))

    def of_draw(self, counts: Ints) -> Floats:
        every = np.arange(self._n_settings)
        return np.stack([self._mean(times, every) for times in counts])

    def of_rest(self, counts: Ints, chosen: Ints) -> Floats:
        rests = (counts == 0).astype(np.int64)
        return np.array([self._mean(rest, chosen[[draw]])[0] for draw, rest in enumerate(rests)])

    def _mean(self, times: Ints, settings: Ints) -> Floats:  # (units,), settings -> (settings,)
        """The mean over the splits on which the metric is defined."""
        scores = [self._on_split(np.repeat(places, times[self._units[places]]), settings) for places in self._places]
        defined = np.array([one for one in scores if one is not None])
        return defined.mean(axis=0) if len(defined) else np.full(len(settings), np.nan)

    def _on_split(self, places: NDArray[np.intp], settings: Ints) -> Floats | None:
        if not len(places):
            return None
        parts: Any = {
            name: part[settings][:, places] for name, part in parts_of(self._kept).items() if part is not None
        }
        split = Split(self._session.all_rows, self._kept.rows[places])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is not defined on a few rows says nothing of the whole
                found = self._metric(self._session, [{}] * len(settings), split, Answer(**parts))
        except Exception:
            return None
        scores = np.asarray(found, dtype=np.float64)
        return None if np.isnan(scores).any() else scores


def parts_of(kept: Kept) -> dict[str, NDArray[Any] | None]:
    """The stored answers under the names that metrics read them by."""
    return {"labels": kept.labels, "proba": kept.proba, "decision": kept.decision, "values": kept.values}


class StoredSession:
    """What a metric asks of a session, where only answers are left of it."""

    def __init__(self, kept: Kept, estimator: Any) -> None:
        self.target: Any = kept.target
        self.estimator = estimator
        self.fit_params = {} if kept.weights is None else {"sample_weight": kept.weights}
        target: Any = kept.target
        truth = target.numbers if kept.classes is None else target.classes[target.codes]
        self.y, self.X = truth, np.empty((len(truth), 0))
        self.all_rows = np.arange(len(truth), dtype=np.intp)


def has_what_it_needs(kept: Kept, metric: Any) -> bool:
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
