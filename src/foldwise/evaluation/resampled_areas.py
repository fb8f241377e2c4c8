"""Areas under the ROC curve on resampled rows: rows are sorted once a setting, and each draw is one walk along them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from foldwise.evaluation.kept import Kept
from foldwise.evaluation.resampled import Choose, Drawn, Ints, units_of
from foldwise.folds.protocol import Labels

Floats = NDArray[np.float64]


class Areas:
    """The area of the second class against the first, split by split, averaged over splits where it is defined."""

    def __init__(self, kept: Kept) -> None:
        assert isinstance(kept.target, Labels)
        scores: Any = kept.decision if kept.decision is not None else kept.proba[:, :, 1]  # type: ignore[index]
        self._units = units_of(kept)
        self.n_settings, self.n_units, self.n_blocks = len(scores), int(self._units.max()) + 1, 0
        positive = kept.target.codes[kept.rows] == 1
        self._splits = []
        for k in range(int(kept.split.max()) + 1):
            places = np.flatnonzero(kept.split == k)
            order = np.argsort(scores[:, places], axis=1).astype(np.int64)
            ordered = np.take_along_axis(scores[:, places], order, axis=1)
            last = np.ones(order.shape, dtype=bool)  # of rows with equal scores
            last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
            self._splits.append((places, order, last, positive[places]))

    @staticmethod
    def serve(kept: Kept) -> bool:
        """Whether stored answers can be walked along: two classes, one finite score a row, no weights."""
        if kept.classes is None or len(kept.classes) != 2 or kept.weights is not None:
            return False
        scores = kept.proba if kept.decision is None else kept.decision
        return scores is not None and (kept.decision is None or scores.ndim == 2) and bool(np.isfinite(scores).all())

    def draw(self, counts: Ints, choose: Choose) -> Drawn:
        every = np.arange(self.n_settings)
        chosen = choose(np.stack([self._means(times, every) for times in counts]))
        rests = counts == 0
        return Drawn(np.array([self._means(rest, chosen[[draw]])[0] for draw, rest in enumerate(rests)]))

    def _means(self, times: NDArray[Any], settings: Ints) -> Floats:  # (units,), settings -> (settings,)
        total, defined = np.zeros(len(settings)), 0
        at = times[self._units].astype(np.float64)
        for places, order, last, positive in self._splits:
            found = walk(order[settings], last[settings], positive, at[places])
            if not np.isnan(found[0]):
                total += found
                defined += 1
        return total / defined if defined else np.full(len(settings), np.nan)


@njit(nogil=True, cache=True)
def walk(order: Ints, last: NDArray[np.bool_], positive: NDArray[np.bool_], times: Floats) -> Floats:
    """The share of pairs in the right order, ties half, for each setting; NaN where a class is not drawn."""
    n_settings, n_rows = order.shape
    found = np.full(n_settings, np.nan)
    for s in range(n_settings):
        below, pairs, hits = 0.0, 0.0, 0.0
        tied_hits, tied_misses = 0.0, 0.0
        for i in range(n_rows):
            row = order[s, i]
            if positive[row]:
                tied_hits += times[row]
            else:
                tied_misses += times[row]
            if last[s, i]:
                pairs += tied_hits * (below + 0.5 * tied_misses)
                below += tied_misses
                hits += tied_hits
                tied_hits, tied_misses = 0.0, 0.0
        if hits > 0 and below > 0:
            found[s] = pairs / (hits * below)
    return found
