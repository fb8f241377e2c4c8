"""The interface of metrics in searches and estimates.

`SessionMetric`, `ScorerMetric` and `LastStepScore` implement it. The engine itself needs less: `BlockMetric` in
`folds/scoring_protocol.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Answer, Need, Params
from foldwise.folds.splits import Split


class SearchMetric(Protocol):
    """A score for each setting of a block, where higher is better."""

    need: Need  # what sessions must predict
    bounds: tuple[float, float]  # of the score
    has_losses: bool  # whether it is computed from a mean over rows, and so a `RowMetric`

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> NDArray[Any]:
        """Return one score, or one dict of scores, per setting."""


@runtime_checkable
class HasScorer(Protocol):
    """A vectorized metric that keeps the scorer it stands for, which may accept more than weights."""

    by_scorer: SearchMetric


class RowMetric(SearchMetric, Protocol):
    """A metric that is a function of the mean of `losses`: the mean with a sign, or its root."""

    root: bool  # whether it is the root of the mean

    def score_of(self, mean: Any) -> Any:
        """Return the score of a mean loss, or of an array of them."""

    def slope(self, mean: float) -> float:
        """Return how much the score falls per unit of a mean loss."""

    def losses(self, session: Any, split: Split, answer: Answer) -> NDArray[np.float64]:  # (settings, rows)
        """Return the loss of each test row."""


def as_row_metric(metric: SearchMetric | None) -> RowMetric | None:
    """Return the metric if it is computed from a mean over rows, otherwise None."""
    return cast(RowMetric, metric) if metric is not None and metric.has_losses else None
