"""How many members: fixed, decided during training, or selected after it from out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.data.arguments import above_zero, at_least_zero, one_of, whole_at_least
from foldwise.ensembles.diversity.sampling import share_of
from foldwise.ensembles.greedy import START, GreedyResult, select_greedily
from foldwise.ensembles.protocol import EnsembleSize, Floats, MemberPredictions, TrainingData
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows

__all__ = ["EarlyStopping", "FixedSize", "GreedySelection", "Pruning"]

Metric = str | Callable[[Any, Any], float] | None


@dataclass(repr=False, eq=False)
class FixedSize(EnsembleSize):
    """A given number of members; None for as many as the members and their diversity make."""

    n: int | None = None

    def max_members(self, default: int) -> int:
        hint = "an ensemble has at least one member; None takes the usual number."
        return default if self.n is None else whole_at_least("size", self.n, 1, hint)


class SelectedSize(EnsembleSize):
    """A base for sizes that select members after training."""

    n: int | None
    chooses: ClassVar[bool] = True

    def max_members(self, default: int) -> int:
        return default if self.n is None else self.n


@dataclass(repr=False, eq=False)
class GreedySelection(SelectedSize):
    """Members weighted by greedy forward selection with replacement (Caruana et al. 2004); see `select_greedily`.

    `n` is how many members are trained; None for the usual number.
    """

    rounds: int | None = None
    start: int = START
    metric: Metric = None
    shrinkage: float | None = None
    cv: Any = 5
    n: int | None = None

    def choose(self, predictions: MemberPredictions, data: TrainingData) -> Floats:
        options = {"rounds": self.rounds, "start": self.start, "shrinkage": self.shrinkage}
        return select_members(predictions, data, self.metric, **options).weights


@dataclass(repr=False, eq=False)
class Pruning(SelectedSize):
    """The first members in the order of greedy selection, each once (Margineantu & Dietterich 1997).

    `keep` is a number, a share, or None for the number with the best score; `n` is how many members are trained.
    """

    keep: int | float | None = None
    n: int | None = None
    metric: Metric = None
    cv: Any = 5

    def choose(self, predictions: MemberPredictions, data: TrainingData) -> Floats:
        found = select_members(predictions, data, self.metric, start=1, replacement=False)
        if self.keep is None:
            return np.asarray((found.weights > 0).astype(np.float64))
        weights = np.zeros(len(found.weights))
        weights[found.order[: share_of("keep", self.keep, len(weights))]] = 1.0
        return weights


def select_members(predictions: MemberPredictions, data: TrainingData, metric: Metric, **options: Any) -> GreedyResult:
    """Greedy selection; labels count as probabilities of 0 and 1."""
    if predictions.code is not None:
        raise InputError("members of a recoded target all are needed to decode it.", "take a fixed size.")
    stored = predictions.answers
    if predictions.n_classes and predictions.proba is None:
        stored = np.eye(predictions.n_classes)[predictions.labels()]
        metric = "accuracy" if metric is None else metric
    return select_greedily(stored, data.encoded, metric=metric, sample_weight=data.weights, **options)


@dataclass(repr=False, eq=False)
class EarlyStopping(EnsembleSize):
    """Stops when `patience` checks in a row have not lowered the error by more than `tolerance` of itself.

    The error is that of the weighted mean (in boosting by residuals: the sum) of predictions. by="oob": on the rows
    that each member has not drawn, so members must be trained on samples. by="validation": on a share of the rows,
    which members never see. Independent members come in batches; boosting is checked after each member, and goes back
    to where its error was least.
    """

    most_members: int = 500
    by: str = "oob"
    patience: int = 5
    tolerance: float = 0.005
    batch: int = 10
    share: float = 0.2

    def max_members(self, default: int) -> int:
        return whole_at_least("most_members", self.most_members, 1)

    def monitor(self, data: TrainingData, config: Any) -> TrainingMonitor:
        one_of("by", self.by, ["oob", "validation"])
        at_least_zero("tolerance", self.tolerance)
        whole_at_least("patience", self.patience, 1)
        whole_at_least("batch", self.batch, 1)
        if self.by == "oob":
            if config.diversity is None or not config.dependency.parallel:
                raise InputError(
                    "an out-of-bag error needs independent members trained on samples of the rows.",
                    "take diversity='bootstrap', or EarlyStopping(by='validation').",
                )
            return TrainingMonitor(self, data, None, None, config)
        if not 0 < above_zero("share", self.share) < 1:
            raise InputError(f"share must lie between 0 and 1, got {self.share!r}.")
        order = np.random.RandomState(0 if config.seed is None else config.seed).permutation(data.n_rows)
        n = max(1, int(self.share * data.n_rows))
        if n >= data.n_rows:
            raise InputError(f"n_samples = {data.n_rows} leaves nothing to train on beside the validation rows.")
        return TrainingMonitor(self, data, np.sort(order[n:]), np.sort(order[:n]), config)


class TrainingMonitor:
    """Follows the error while members arrive."""

    def __init__(
        self, size: EarlyStopping, data: TrainingData, train: Rows | None, held_out: Rows | None, config: Any
    ) -> None:
        self._size, self._data, self.train, self._held_out = size, data, train, held_out
        self._proba = config.wants_proba()
        self._adds = type(config.combiner).__name__ == "Sum"
        self._totals: Floats = np.zeros((data.n_rows, data.n_classes) if data.n_classes else data.n_rows)
        self._weights = np.zeros(data.n_rows)
        self._n_members = 0
        self.batch = size.batch
        self._sizes: list[int] = []
        self._errors: list[float] = []

    def add(self, members: Sequence[Any], weights: Sequence[float]) -> None:
        """Take more members into account."""
        for member, weight in zip(members, weights, strict=True):
            rows = member.spec.out_of_bag(self._data) if self._held_out is None else self._held_out
            if len(rows) == 0:
                continue
            predicted = member.predict(take_rows(self._data.X, rows), self._proba)
            if self._data.n_classes and not self._proba:
                self._totals[rows, predicted] += weight
            else:
                self._totals[rows] += weight * predicted
            self._weights[rows] += weight
        self._n_members += len(members)
        self._sizes.append(self._n_members)
        self._errors.append(self._error())

    def _error(self) -> float:
        known = self._weights > 0
        if not known.any():
            raise InputError(
                "no row was left out by any member.", "take smaller samples, or EarlyStopping(by='validation')."
            )
        truth = self._data.encoded[known]
        weights = None if self._data.weights is None else self._data.weights[known]
        if self._data.n_classes:
            return float(np.average(self._totals[known].argmax(axis=1) != truth, weights=weights))
        values = self._totals[known] if self._adds else self._totals[known] / self._weights[known]
        return float(np.average((values - truth) ** 2, weights=weights))

    def best_size(self, n: int) -> int:
        """The number of members, of n, at which the error was least."""
        return self._sizes[int(np.argmin(self._errors))] if self._sizes else n

    def history(self) -> dict[str, Any]:
        return {"sizes": self._sizes, "errors": self._errors}

    @property
    def should_stop(self) -> bool:
        """Whether the last checks have brought no improvement."""
        patience = self._size.patience
        if len(self._errors) <= patience:
            return False
        before = min(self._errors[:-patience])
        return min(self._errors[-patience:]) >= before * (1 - self._size.tolerance)
