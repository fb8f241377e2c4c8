"""Areas under the ROC curve on resampled rows: rows are sorted once a setting, and each draw is one walk along them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.evaluation.metrics.ranking import in_order, ordered_areas
from foldwise.evaluation.out_of_fold import OutOfFoldAnswers
from foldwise.evaluation.resampled import BootstrapScores, Choose, Ints, units_of
from foldwise.folds.protocol import Labels

Floats = NDArray[np.float64]


class ResampledAreas:
    """The area of the second class against the first, split by split, averaged over splits where it is defined."""

    def __init__(self, kept: OutOfFoldAnswers) -> None:
        assert isinstance(kept.target, Labels)
        scores: Any = kept.decision if kept.decision is not None else kept.proba[:, :, 1]  # type: ignore[index]
        self._units = units_of(kept)
        self.n_settings, self.n_units, self.n_blocks = len(scores), int(self._units.max()) + 1, 0
        positive = kept.target.codes[kept.rows] == 1
        self._splits = []
        for k in range(int(kept.split.max()) + 1):
            places = np.flatnonzero(kept.split == k)
            self._splits.append((places, *in_order(scores[:, places]), positive[places]))

    @staticmethod
    def serve(kept: OutOfFoldAnswers) -> bool:
        """Whether stored answers can be walked along: two classes, one finite score a row, no weights."""
        if kept.classes is None or len(kept.classes) != 2 or kept.weights is not None:
            return False
        scores = kept.proba if kept.decision is None else kept.decision
        return scores is not None and (kept.decision is None or scores.ndim == 2) and bool(np.isfinite(scores).all())

    def draw(self, counts: Ints, choose: Choose) -> BootstrapScores:
        every = np.arange(self.n_settings)
        chosen = choose(np.stack([self._means(times, every) for times in counts]))
        rests = counts == 0
        return BootstrapScores(np.array([self._means(rest, chosen[[draw]])[0] for draw, rest in enumerate(rests)]))

    def _means(self, times: NDArray[Any], settings: Ints) -> Floats:  # (units,), settings -> (settings,)
        total, defined = np.zeros(len(settings)), 0
        at = times[self._units].astype(np.float64)
        for places, order, last, positive in self._splits:
            found = ordered_areas(order[settings], last[settings], positive, at[places])
            if not np.isnan(found[0]):
                total += found
                defined += 1
        return total / defined if defined else np.full(len(settings), np.nan)
