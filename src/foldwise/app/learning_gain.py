"""How much better the final model may be than the models of the folds, because it learns from all rows.

The models of the folds learn from part of the rows, so their scores are slightly pessimistic. To estimate by how much,
the members are fitted once more on half the training rows of one fold. The second half doubles the rows; going from a
fold's rows to all rows is a fraction of a doubling. Each doubling gains less than the one before, so this gain is an
upper bound. It is not added to the estimate, but it extends the interval to the better side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.predictions import FoldPredictions
from foldwise.app.selection import MemberSelection, calibrated, weighted_mean
from foldwise.app.setup import RunSetup
from foldwise.app.workers.jobs import SplitPredictions
from foldwise.arrays import Codes, Floats
from foldwise.decisions.calibration.scores import Calibrator, ClassScores
from foldwise.evaluation.metrics.metric import Metric

HALF = (1.5, 3.0)  # a fold's rows to its half: groups may be too uneven to be halved


@dataclass(frozen=True)
class LearningGain:
    """Predictions of the same rows by the final weights, of members fitted on a fold's rows and on half of them."""

    truth: NDArray[Any]  # codes of classes, or values
    weights: Floats | None
    of_all: Floats
    of_half: Floats
    doublings: float  # from the fold's rows to all, if from the half to the fold's is one

    def gain(self, metric: Metric) -> float:
        """The possible gain in a metric by learning from all rows. It is negative if lower is better."""
        of_all, of_half = (metric.signed(metric(self.truth, one, self.weights)) for one in (self.of_all, self.of_half))
        gain = self.doublings * (of_all - of_half)
        return metric.signed(float(gain)) if gain > 0 and np.isfinite(gain) else 0.0


def half_rows(setup: RunSetup, fold: int) -> NDArray[np.intp] | None:
    """Select half the training rows of a fold. None with a time column, subsamples, or groups that differ too much."""
    task, train = setup.task, setup.splits[fold].train
    if task.moments is not None or len(setup.samples.sizes) > 1:
        return None
    rows = half_of(train, task.strata, task.groups, setup.config.seed)
    return rows if HALF[0] <= len(train) / max(1, len(rows)) <= HALF[1] else None


def half_of(train: NDArray[np.intp], codes: Codes, groups: NDArray[np.intp] | None, seed: int) -> NDArray[np.intp]:
    """Half of the rows of each class; or whole groups, until they have about half of the rows."""
    rng = np.random.default_rng(seed)
    if groups is None:
        mixed = rng.permutation(train)
        by_class = [mixed[codes[mixed] == k] for k in np.unique(codes[mixed])]
        return np.sort(np.concatenate([rows[: -(-len(rows) // 2)] for rows in by_class]))
    there, sizes = np.unique(groups[train], return_counts=True)
    order = rng.permutation(len(there))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.asarray(train[np.isin(groups[train], there[order[before < 0.5 * len(train)]])])


def learning_gain(
    setup: RunSetup,
    selection: MemberSelection,
    predictions: FoldPredictions,
    halves: Mapping[int, SplitPredictions],
    maps: Mapping[int, Calibrator | None],
) -> LearningGain | None:
    """Compare the members fitted on half the training rows of the last fold with those fitted on all of them.

    Parameters
    ----------
    setup : RunSetup
        Task, splits and models.
    selection : MemberSelection
        The members of the final model.
    predictions : FoldPredictions
        The out-of-fold predictions of the search.
    halves : mapping of int to SplitPredictions
        By candidate: predictions of the last fold by a model of half its training rows.
    maps : mapping of int to Calibrator or None
        By member: the map from decision values to probabilities.

    Returns
    -------
    LearningGain or None
        None if no member was fitted on half the rows.
    """
    tested = selection.tested
    fold = tested.scored[-1]
    rows = half_rows(setup, fold)
    values = {i: halves[i].values[0] for i in maps if i in halves and not np.isnan(halves[i].values).any()}
    if rows is None or not values:
        return None
    index, train = tested.of_fold(fold), setup.splits[fold].train
    share = selection.chosen.weights[list(values)]

    def together(stack: Mapping[int, NDArray[np.floating]]) -> Floats:
        parts = []
        for i, one in stack.items():
            to = maps[i]
            if setup.task.is_quantity:
                parts.append(one.astype(np.float64))
                continue
            parts.append(
                predictions.with_doubt(
                    one if to is None else np.exp(to.log_proba(ClassScores(one.astype(float), False)))
                )
            )
        return calibrated(selection.chosen.calibration, weighted_mean(np.stack(parts), share / share.sum()))

    kept = {i: selection.candidates[i] for i in values}
    whole = {i: predictions.values(one.batch.number, one.setting, fold) for i, one in kept.items()}
    doublings = float(np.log2(setup.task.n_rows / len(train)) / np.log2(len(train) / len(rows)))
    return LearningGain(tested.truth[index], tested.weights_at(index), together(whole), together(values), doublings)
