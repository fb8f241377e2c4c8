"""Sizes: the number of members, fixed, decided during training, or selected after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero, at_least_zero, one_of, whole_at_least
from foldwise.ensembles.blocks import EnsembleSize
from foldwise.ensembles.diversity.sampling import share_of
from foldwise.ensembles.greedy import START, GreedyResult, select_greedily
from foldwise.ensembles.protocol import MemberPredictions, TrainingData
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.folds.rows import take_rows

__all__ = ["EarlyStopping", "FixedSize", "GreedySelection", "Pruning"]

MetricGiven = str | Callable[[Any, Any], float] | None


@dataclass(repr=False, eq=False)
class FixedSize(EnsembleSize):
    """Train a fixed number of members, as `size=20` of an ensemble does.

    Parameters
    ----------
    n : int, optional
        The number of members; by default what the members and the diversity suggest.

    Examples
    --------
    >>> from foldwise.ensembles import FixedSize
    >>> FixedSize().max_members(default=10)
    10
    """

    n: int | None = None

    def max_members(self, default: int) -> int:
        hint = "pass None for the default."
        return default if self.n is None else whole_at_least("size", self.n, 1, hint)


class SelectedSize(EnsembleSize):
    """The base of sizes that select members after training."""

    n: int | None
    chooses: ClassVar[bool] = True

    def max_members(self, default: int) -> int:
        return default if self.n is None else self.n


@dataclass(repr=False, eq=False)
class GreedySelection(SelectedSize):
    """Weight members by greedy forward selection with replacement on out-of-fold predictions; see `select_greedily`.

    Parameters
    ----------
    rounds : int, optional
        How many members are added after the first ones; by default depending on the number of rows.
    start : int, default=3
        With how many of the best members the selection starts.
    metric : str or callable, optional
        "neg_log_loss" (the default), "accuracy", "neg_brier_score", a metric of values, or a function.
    shrinkage : float, optional
        How far weights are shrunk toward equal ones, from 0 to 1; by default depending on the number of rows.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.
    n : int, optional
        How many members are trained; by default what the members and the diversity suggest.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004). Ensemble selection from libraries of models. ICML.

    Examples
    --------
    >>> from foldwise import KNNClassifier, NaiveBayes
    >>> from foldwise.ensembles import Ensemble, GreedySelection
    >>> model = Ensemble([NaiveBayes(), KNNClassifier(5), KNNClassifier(25)], size=GreedySelection(start=1))
    """

    rounds: int | None = None
    start: int = START
    metric: MetricGiven = None
    shrinkage: float | None = None
    cv: Any = 5
    n: int | None = None

    def choose(self, predictions: MemberPredictions, data: TrainingData) -> Floats:
        options = {"rounds": self.rounds, "start": self.start, "shrinkage": self.shrinkage}
        return select_members(predictions, data, self.metric, **options).weights


@dataclass(repr=False, eq=False)
class Pruning(SelectedSize):
    """Keep the members that greedy selection picks first, each with the same weight.

    Parameters
    ----------
    keep : int or float, optional
        How many members are kept, as a number or as a share; by default the number with the best score.
    n : int, optional
        How many members are trained; by default what the members and the diversity suggest.
    metric : str or callable, optional
        As for `GreedySelection`.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.

    References
    ----------
    D. Margineantu and T. Dietterich (1997). Pruning adaptive boosting. ICML.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import Ensemble, Pruning
    >>> model = Ensemble(DecisionTreeClassifier(max_depth=2), diversity="bootstrap", size=Pruning(keep=0.5, n=20))
    """

    keep: int | float | None = None
    n: int | None = None
    metric: MetricGiven = None
    cv: Any = 5

    def choose(self, predictions: MemberPredictions, data: TrainingData) -> Floats:
        found = select_members(predictions, data, self.metric, start=1, replacement=False)
        if self.keep is None:
            return np.asarray((found.weights > 0).astype(np.float64))
        weights = np.zeros(len(found.weights))
        weights[found.order[: share_of("keep", self.keep, len(weights))]] = 1.0
        return weights


def select_members(
    predictions: MemberPredictions, data: TrainingData, metric: MetricGiven, **options: Any
) -> GreedyResult:
    """Select members greedily; labels count as probabilities of 0 and 1."""
    if predictions.code is not None:
        raise InputError("with OutputCodes, all members are needed to decode the classes.", "use a fixed size.")
    stored = predictions.answers
    if predictions.n_classes and predictions.proba is None:
        stored = np.eye(predictions.n_classes)[predictions.labels()]
        metric = "accuracy" if metric is None else metric
    return select_greedily(stored, data.encoded, metric=metric, sample_weight=data.weights, **options)


@dataclass(repr=False, eq=False)
class EarlyStopping(EnsembleSize):
    """Stop training when more members no longer lower the error.

    The error is that of the weighted mean of predictions, or of their sum in boosting by residuals. It is computed
    after each batch of independent members, and after each member in boosting, of which only the members up to the
    lowest error are kept.

    Parameters
    ----------
    most_members : int, default=500
        How many members are trained at most.
    by : {"oob", "validation"}, default="oob"
        The rows of the error: those that a member was not trained on, or validation rows that no member sees.
    patience : int, default=5
        Stop after this many checks without an improvement.
    tolerance : float, default=0.005
        The relative decrease of the error that counts as an improvement.
    batch : int, default=10
        The number of independent members between two checks.
    share : float, default=0.2
        The share of validation rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from foldwise.ensembles import EarlyStopping, Ensemble
    >>> model = Ensemble(DecisionTreeClassifier(), diversity="bootstrap", size=EarlyStopping(batch=2), random_state=0)
    >>> len(model.fit(*load_iris(return_X_y=True)).members_) < 50
    True
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
                    "EarlyStopping(by='oob') needs independent members that are trained on samples of the rows.",
                    "use diversity='bootstrap', or EarlyStopping(by='validation').",
                )
            return TrainingMonitor(self, data, None, None, config)
        if not 0 < above_zero("share", self.share) < 1:
            raise InputError(f"share must be between 0 and 1, got {self.share!r}.")
        order = np.random.RandomState(0 if config.seed is None else config.seed).permutation(data.n_rows)
        n = max(1, int(self.share * data.n_rows))
        if n >= data.n_rows:
            raise InputError(f"n_samples = {data.n_rows} is too small for a validation set.", "pass more rows.")
        return TrainingMonitor(self, data, np.sort(order[n:]), np.sort(order[:n]), config)


class TrainingMonitor:
    """Computes the error during training and decides when to stop."""

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
        """Add members and compute the error."""
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
                "the out-of-bag error is undefined, because every member was trained on all rows.",
                "use smaller samples, or EarlyStopping(by='validation').",
            )
        truth = self._data.encoded[known]
        weights = None if self._data.weights is None else self._data.weights[known]
        if self._data.n_classes:
            return float(np.average(self._totals[known].argmax(axis=1) != truth, weights=weights))
        values = self._totals[known] if self._adds else self._totals[known] / self._weights[known]
        return float(np.average((values - truth) ** 2, weights=weights))

    def best_size(self, n: int) -> int:
        """The number of members, of n, with the lowest error."""
        return self._sizes[int(np.argmin(self._errors))] if self._sizes else n

    def history(self) -> dict[str, Any]:
        return {"sizes": self._sizes, "errors": self._errors}

    @property
    def should_stop(self) -> bool:
        """Whether the last checks showed no improvement."""
        patience = self._size.patience
        if len(self._errors) <= patience:
            return False
        before = min(self._errors[:-patience])
        return min(self._errors[-patience:]) >= before * (1 - self._size.tolerance)
