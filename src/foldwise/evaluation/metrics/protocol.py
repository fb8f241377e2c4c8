"""What searches and estimates ask of a metric.

`SessionMetric`, `ScorerMetric` and `LastStepScore` are such metrics. The engine itself asks for less: `BlockMetric` in
`folds/scoring_protocol.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from foldwise.folds.protocol import Answer, Need, Params
from foldwise.folds.splits import Split


class SearchMetric(Protocol):
    """A score of each setting of a block, greater is better."""

    need: Need  # what sessions must answer
    bounds: tuple[float, float]  # of the score
    averages_rows: bool  # whether it is a mean over rows, and so a `RowMetric`

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> NDArray[Any]:
        """One score per setting, or one dict of scores."""


class RowMetric(SearchMetric, Protocol):
    """A metric that is a mean over rows: `lossless` minus the mean of `losses`."""

    lossless: float  # the score without any loss

    def losses(self, session: Any, split: Split, answer: Answer) -> NDArray[np.float64]:  # (settings, rows)
        """The loss of each test row."""


def as_row_metric(metric: SearchMetric | None) -> RowMetric | None:
    """The metric, if it is a mean over rows."""
    return cast(RowMetric, metric) if metric is not None and metric.averages_rows else None
