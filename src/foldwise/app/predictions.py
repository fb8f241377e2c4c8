"""The out-of-fold predictions of a search, and the probabilities or values and the scores that they give."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.blend import Blend, ValueBlend, with_doubt
from foldwise.app.search_state import SearchState, SettingBatch
from foldwise.app.splitting import repeat_of_folds
from foldwise.app.task import FitTask
from foldwise.arrays import Floats
from foldwise.decisions.calibration import CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import Calibrator
from foldwise.evaluation.metrics.metric import Metric
from foldwise.folds.splits import Split


class FoldPredictions:
    """Predictions by the number of a batch and the split, as models gave them.

    They are probabilities or decision values of classes, or values of a quantity.

    Parameters
    ----------
    task, splits, metric : rows and classes, the splits of all models, and what scores them
    decision_models : names of the models that give decision values, which are calibrated here
    """

    def __init__(
        self, task: FitTask, splits: Sequence[Split], metric: Metric, decision_models: Collection[str]
    ) -> None:
        self.task, self.splits, self.metric = task, splits, metric
        self._decision_models = frozenset(decision_models)
        # (settings, rows, classes), or (settings, rows) for a quantity
        self._values: dict[tuple[int, int], NDArray[np.floating]] = {}
        self._kept: dict[int, tuple[int, ...]] = {}  # by batch: the settings among the values, once some were dropped
        counts = task.counts.astype(np.float64) + 1.0
        self.prior: Floats = counts / max(counts.sum(), 1.0)
        self.doubt = 1.0 / (task.n_rows + task.n_classes)
        self._repeat = repeat_of_folds(splits)

    def add(self, batch: int, split: int, values: NDArray[np.floating]) -> None:
        """Store what a batch predicts for the test rows of a split."""
        self._values[batch, split] = values

    def restore(self, batch: int, split: int, values: NDArray[np.floating], kept: Sequence[int] | None) -> None:
        """Store predictions of an earlier session of the run; of a finished batch there are only those kept."""
        n_rows = len(self.splits[split].test)
        shape = (n_rows,) if self.task.is_quantity else (n_rows, self.task.n_classes)
        if values.shape[1:] != shape or (kept is not None and len(values) != len(kept)):
            raise ValueError(f"predictions of fold {split + 1} have shape {values.shape}")
        self._values[batch, split] = values
        if kept is not None:
            self._kept[batch] = tuple(kept)

    def stored(self, batch: int, split: int) -> NDArray[np.floating]:
        """All predictions of a batch for a split that are stored: (settings, rows, …)."""
        return self._values[batch, split]

    def forget(self, state: SearchState) -> None:
        """Drop what no choice can need any more."""
        for batch in state.batches:
            if batch.stopped == "outranked":
                self._values.pop((batch.number, 0), None)
            elif batch.kept is not None and batch.number not in self._kept:
                self._kept[batch.number] = batch.kept
                for k in batch.scores:
                    values = self._values[batch.number, k]
                    self._values[batch.number, k] = np.ascontiguousarray(values[list(batch.kept)])

    def keep_splits(self, n_splits: int) -> None:
        """Drop all but the first few splits."""
        self.splits = self.splits[:n_splits]
        self._values = {key: values for key, values in self._values.items() if key[1] < n_splits}

    def values(self, batch: int, setting: int, split: int) -> NDArray[np.floating]:
        """What a setting predicts for a split, as the model gave it."""
        kept = self._kept.get(batch)
        return np.asarray(self._values[batch, split][setting if kept is None else kept.index(setting)])

    def with_doubt(self, proba: NDArray[np.floating]) -> Floats:
        """Probabilities mixed with a little of the class frequencies: no model of n rows is surer than 1 - 1/n."""
        return with_doubt(proba, self.prior, self.doubt)

    def scores(self, batch: SettingBatch, split: int) -> tuple[float, ...]:
        """The score of each setting on a split: higher is better, NaN where there is none."""
        test = self.splits[split].test
        weights = None if self.task.weights is None else self.task.weights[test]

        def score(setting: int) -> float:
            if np.isnan(self._values[batch.number, split][setting]).any():
                return float("nan")
            predicted = self.predicted(batch, setting, split, own=True)
            return self.metric.signed(self.metric(self.task.y[test], predicted, weights))

        return tuple(map(score, range(len(batch.settings))))

    def predicted(self, batch: SettingBatch, setting: int, split: int, *, own: bool = False) -> Floats:
        """The probabilities of a setting on a split, or its values of a quantity.

        Decision values are calibrated on the other splits, in the order of time on the earlier ones. With `own`, and
        where there is no other split yet, they are calibrated on these very rows, for a first look.
        """
        values = self.values(batch.number, setting, split)
        if self.task.is_quantity:
            return values.astype(np.float64)
        if batch.model not in self._decision_models:
            return self.with_doubt(values)
        others = self._others(batch, setting, split)
        to = self._sigmoid(batch, setting, [split] if own or not others else others)
        return self.with_doubt(np.exp(to.log_proba(ClassScores(values.astype(np.float64), False))))

    def out_of_fold(self, batch: SettingBatch, setting: int) -> NDArray[np.floating]:
        """All predictions of a setting, split after split."""
        parts = np.concatenate([self.predicted(batch, setting, k) for k in range(len(self.splits))])
        return parts if self.task.is_quantity else parts.astype(np.float32)

    def calibration(self, batch: SettingBatch, setting: int, without: int | None = None) -> Calibrator | None:
        """The map from decision values to probabilities; None where none is needed.

        It is learned from all splits, or as `predicted` does for one split: without it.
        """
        if batch.model not in self._decision_models:
            return None
        others = [] if without is None else self._others(batch, setting, without)
        every = sorted(self._splits_of(batch.number)) if without is None else [without]
        return self._sigmoid(batch, setting, others or every)

    def blend(
        self,
        members: Sequence[Any],
        weights: Sequence[float],
        maps: Sequence[Calibrator | None],
        calibration: Calibrator | None,
    ) -> Blend | ValueBlend:
        """Combine fitted members to a model: their maps to probabilities and the calibration are those of classes."""
        if self.task.is_quantity:
            return ValueBlend(members, weights)
        labels = self.task.classes.tolist()
        return Blend(members, weights, maps, calibration, self.prior.tolist(), self.doubt, labels)

    def _others(self, batch: SettingBatch, setting: int, split: int) -> list[int]:
        """The splits that may calibrate the decision values of this one: in the order of time the earlier ones."""
        in_time = self.task.moments is not None
        others = [k for k in self._splits_of(batch.number) if (k < split if in_time else k != split)]
        repeat = self._repeat[: len(self.splits)]
        others = [k for k in others if repeat[k] == repeat[split]]
        return [k for k in others if not np.isnan(self.values(batch.number, setting, k)).any()]

    def _splits_of(self, batch: int) -> list[int]:
        return [k for number, k in self._values if number == batch]

    def _sigmoid(self, batch: SettingBatch, setting: int, splits: Sequence[int]) -> Calibrator:
        values = np.concatenate([self.values(batch.number, setting, k) for k in splits]).astype(np.float64)
        rows = np.concatenate([self.splits[k].test for k in splits])
        weights = np.ones(len(rows)) if self.task.weights is None else self.task.weights[rows]
        return fit_calibrator("sigmoid", CalibrationData(ClassScores(values, False), self.task.y[rows], weights))[1]
