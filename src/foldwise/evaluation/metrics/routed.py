"""Metrics that get more than predictions: weights of the test rows, or other metadata for their scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from foldwise.evaluation.metrics.protocol import HasScorer, SearchMetric
from foldwise.folds.protocol import Answer, FoldSession, Params
from foldwise.folds.splits import Split


@dataclass(frozen=True, eq=False)
class WeightedScoring:
    """A value of `scoring` whose scores are weighted, whether or not the models are fitted with weights.

    Attributes
    ----------
    scoring : str, Metric or callable
        The metric. Its scorer must accept `sample_weight`.
    weights : ndarray of shape (n_rows,)
        One weight per row of the table.
    """

    scoring: Any
    weights: NDArray[Any]


class RoutedSession:
    """A session as the metrics see it: with the weights and other metadata that a scorer requests."""

    def __init__(self, session: FoldSession, score_params: dict[str, Any]) -> None:
        self._session, self.score_params = session, score_params
        self.fit_params = {name: value for name, value in score_params.items() if name == "sample_weight"}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class RoutedMetric:
    """A metric with the metadata that was routed to its scorer."""

    has_losses = False

    def __init__(self, metric: Any, score_params: dict[str, Any]) -> None:
        self.score_params = score_params
        # vectorized metrics know weights, and nothing else
        only_weights = score_params.keys() <= {"sample_weight"}
        by_scorer = not only_weights and isinstance(metric, HasScorer)
        self.metric: SearchMetric = metric.by_scorer if by_scorer else metric
        self.need, self.bounds = self.metric.need, self.metric.bounds

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> NDArray[Any]:
        return self.metric(RoutedSession(session, self.score_params), settings, split, answer)
