"""The selection: which settings make the final model, with which weights; and honest predictions of that procedure.

Everything is decided from stored out-of-fold predictions: a greedy ensemble of the best settings, then for classes a
temperature, which is higher for tables of few rows. A quantity needs no temperature. The honest predictions are found
by selecting again without the rows of each fold, and predicting them.
The first fold, by which settings were eliminated, is not scored, unless none was. In the order of time the selection
for a fold rests on earlier folds only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.predictions import FoldPredictions
from foldwise.app.search_state import SettingBatch
from foldwise.app.splitting import repeat_of_folds
from foldwise.arrays import Codes, Floats
from foldwise.decisions.calibration import CalibrationData, ClassScores
from foldwise.decisions.calibration.scores import Calibrator
from foldwise.decisions.calibration.temperature import Temperature, fit_temperature
from foldwise.ensembles import select_greedily
from foldwise.evaluation.metrics.metric import Metric
from foldwise.folds.protocol import TargetValues
from foldwise.folds.tolerance import first_best, ranks, tie_unit

MOST_CANDIDATES = 30
MOST_OF_MODEL = 4
MOST_MEMBERS = 6
LEAST_WEIGHT = 0.03
# weight of random labels, in rows, and once more for each factor of ten between columns and rows. It fades out at 100
# rows. Over 15 tables of 30 × 5,000 cells, fixed weights of 40 and 80 had the same mean log loss, but the worst table
# lost 0.024 and 0.002 against a random forest; good models of few columns lose 0.1 by a weight of 80.
DOUBTFUL_ROWS, NO_DOUBT = 25, 100
MOST_SOFTENED = 1_000  # rows: with more, what a selection fits by chance is too little to matter
FEW_ROWS = 200  # with so many, the logarithm of a temperature below 1 is halved; a choice
MOST_MAP_CELLS, LEAST_MAP_ROWS = 1e4, 500  # rows × classes that a leaderboard row's temperature is learned from
MOST_CELLS = 3e7  # members × rows × classes: more are thinned, so that a choice takes a second or two


@dataclass(frozen=True)
class Candidate:
    """A setting that was evaluated on every fold."""

    batch: SettingBatch
    setting: int
    score: float  # mean over folds, higher is better
    predicted: NDArray[np.floating]  # (rows, classes) or (rows,), in the order of `OutOfFoldRows.rows`

    @property
    def model(self) -> str:
        return self.batch.model

    @property
    def params(self) -> Mapping[str, object]:
        """Its hyperparameters, encoded as in the batch."""
        return self.batch.settings[self.setting]

    @property
    def seconds(self) -> float:
        """Of one fit, on one fold."""
        return float(np.mean(list(self.batch.seconds.values())))


@dataclass(frozen=True)
class OutOfFoldRows:
    """The rows that were predicted out of fold, fold after fold."""

    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    truth: NDArray[Any]  # codes of classes, or values
    weights: Floats | None
    n_folds: int
    in_time: bool
    eliminated: bool  # whether the first fold decided which settings went on
    n_columns: int = 1  # of the table
    repeat: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # of each fold

    @classmethod
    def of(cls, predictions: FoldPredictions, eliminated: bool) -> OutOfFoldRows:
        splits, task = predictions.splits, predictions.task
        rows = np.concatenate([split.test for split in splits])
        fold = np.repeat(np.arange(len(splits)), [len(split.test) for split in splits])
        weights = None if task.weights is None else task.weights[rows]
        size = (len(splits), task.moments is not None, eliminated, len(task.outline.roles))
        return cls(rows, fold, task.y[rows], weights, *size, repeat_of_folds(splits))

    @property
    def scored(self) -> list[int]:
        """The folds that say how good a selection is. In the order of time there must be at least two folds."""
        first = 1 if self.in_time or (self.eliminated and self.n_folds > 2) else 0
        return [k for k in range(first, self.n_folds) if not self.repeated or self.folds_before(k)]

    @property
    def repeated(self) -> bool:
        """Whether rows are tested more than once."""
        return bool(self.repeat.any())

    def folds_before(self, fold: int) -> list[int]:
        """The folds that a selection for this fold may look at: in the order of time earlier ones, else all others.

        If folds are repeated, only those of the same division: others test the rows of this fold too.
        """
        others = [k for k in range(self.n_folds) if (k < fold if self.in_time else k != fold)]
        return [k for k in others if self.repeat[k] == self.repeat[fold]] if self.repeated else others

    def others(self, fold: int) -> NDArray[np.intp]:
        """The indices of rows that a selection for this fold may look at."""
        return self.of_folds(self.folds_before(fold))

    def of_folds(self, folds: Sequence[int]) -> NDArray[np.intp]:
        return np.flatnonzero(np.isin(self.fold, folds))

    def of_fold(self, fold: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.fold == fold)

    def weights_at(self, index: NDArray[np.intp]) -> Floats | None:
        return None if self.weights is None else self.weights[index]


@dataclass(frozen=True)
class CandidateSet:
    """The settings that are selected among: for the final model, and for each fold by the other folds' scores."""

    every: tuple[Candidate, ...]
    final: NDArray[np.intp]  # indices in `every`
    without: Mapping[int, NDArray[np.intp]]  # by fold

    def only(self, index: Sequence[int]) -> CandidateSet:
        """Some candidates alone, whatever the fold."""
        all_of_them = np.arange(len(index))
        return CandidateSet(tuple(self.every[i] for i in index), all_of_them, dict.fromkeys(self.without, all_of_them))


def fold_table(batches: Sequence[SettingBatch], n_folds: int) -> tuple[list[tuple[SettingBatch, int]], Floats]:
    """The settings that were evaluated on every fold, and their scores: (settings, folds)."""
    table = [(batch, i) for batch in batches for i in batch.usable]
    return table, np.array([[batch.scores[k][i] for k in range(n_folds)] for batch, i in table])


def candidates(batches: Sequence[SettingBatch], predictions: FoldPredictions, tested: OutOfFoldRows) -> CandidateSet:
    """The best few settings of each model; a fold has no say in its own list."""
    table, scores = fold_table(batches, tested.n_folds)
    most = int(np.clip(MOST_CELLS / (len(tested.truth) * predictions.task.n_outputs), 4, MOST_CANDIDATES))
    models, unit = [batch.model for batch, _ in table], unit_of(tested.truth, predictions.task.is_quantity)
    final = best_few(scores.mean(axis=1), models, most, unit)
    folds = tested.scored
    without = {k: best_few(scores[:, tested.folds_before(k)].mean(axis=1), models, most, unit) for k in folds}
    used = sorted({*final, *(i for some in without.values() for i in some)})

    def among(some: list[int]) -> NDArray[np.intp]:
        return np.searchsorted(used, some)

    every = tuple(Candidate(*table[i], float(scores[i].mean()), predictions.out_of_fold(*table[i])) for i in used)
    return CandidateSet(every, among(final), {fold: among(some) for fold, some in without.items()})


def unit_of(truth: NDArray[Any], is_quantity: bool) -> float:
    """The unit of ties among scores: 1 for classes."""
    return tie_unit(TargetValues(truth)) if is_quantity else 1.0


def best_few(means: Floats, models: Sequence[str], most: int, unit: float = 1.0) -> list[int]:
    """The settings of the highest scores, the first of those that are tied, not too many of one model."""
    taken: list[int] = []
    for i in np.argsort(ranks(means, unit), kind="stable").tolist():
        if len(taken) < most and sum(models[j] == models[i] for j in taken) < MOST_OF_MODEL:
            taken.append(i)
    return taken


@dataclass(frozen=True)
class EnsembleWeights:
    """Weights of candidates, and the calibration that their weighted mean goes through; None for a quantity."""

    weights: Floats  # (candidates,)
    calibration: Temperature | None

    def predict(self, stack: NDArray[np.floating]) -> Floats:  # (candidates, rows, classes) or (candidates, rows)
        return calibrated(self.calibration, weighted_mean(stack, self.weights))


def weighted_mean(stack: NDArray[np.floating], weights: Floats) -> Floats:
    """The weighted mean of the predictions that have a weight."""
    used = np.flatnonzero(weights)
    return np.asarray(np.tensordot(weights[used], stack[used].astype(np.float64), axes=1))


def calibrated(to: Calibrator | None, proba: Floats) -> Floats:
    if to is None:
        return proba
    return np.asarray(np.exp(to.log_proba(ClassScores(np.log(proba), True))))


def choose_weights(
    stack: NDArray[np.floating],
    truth: NDArray[Any],
    weights: Floats | None,
    metric: Metric,
    most: int = MOST_MEMBERS,
) -> EnsembleWeights:
    """Weights by greedy selection, at most so many members; the best single where it scores better.

    Members are selected by log loss for classes, and by the metric itself for a quantity.
    """
    n_members, n_rows = stack.shape[:2]
    loss = "neg_log_loss"
    if metric.task == "regression":
        loss = "neg_mean_squared_error" if metric.squared else metric.name
    scores = np.array([metric.signed(metric(truth, one.astype(np.float64), weights)) for one in stack])
    single = np.eye(n_members)[first_best(scores, unit_of(truth, metric.task == "regression"))]
    found = single
    if n_members > 1 and most > 1:
        selected = select_greedily(stack, truth, metric=loss, sample_weight=weights, shrinkage=0.0).weights
        found = pruned(selected, most)
        if metric.name != "log_loss":
            together = metric.signed(metric(truth, weighted_mean(stack, found), weights))
            found = found if together >= scores.max() else single
    if metric.task == "regression":
        return EnsembleWeights(found, None)
    row_weights = np.ones(n_rows) if weights is None else weights
    data = CalibrationData(ClassScores(np.log(weighted_mean(stack, found)), True), truth, row_weights)
    return EnsembleWeights(found, cautious_temperature(data))


def choose_softened(
    stack: NDArray[np.floating], tested: OutOfFoldRows, folds: list[int], metric: Metric, most: int
) -> EnsembleWeights:
    """Choose weights by the rows of some folds, and soften the probabilities if the choice is made on few rows.

    Members that are chosen on few rows fit these rows by chance, and so does their temperature. The same choice without
    each of the folds shows how much, so its predictions of these folds tell the temperature that is still needed.
    """

    def choose(some: list[int]) -> EnsembleWeights:
        rows = tested.of_folds(some)
        return choose_weights(stack[:, rows], tested.truth[rows], tested.weights_at(rows), metric, most)

    chosen = choose(folds)
    if chosen.calibration is None or len(tested.truth) > MOST_SOFTENED:
        return chosen
    parts = {}
    for fold in folds:
        others = [k for k in tested.folds_before(fold) if k in folds]
        if others:
            parts[fold] = choose(others).predict(stack[:, tested.of_fold(fold)])
    if not parts:
        return chosen
    rows = np.concatenate([tested.of_fold(fold) for fold in parts])
    weights = tested.weights_at(rows)
    weights = np.ones(len(rows)) if weights is None else weights
    data = with_doubtful_rows(np.concatenate(list(parts.values())), tested.truth[rows], weights, tested.n_columns)
    softer = min(1.0, fit_temperature(data).inverse)
    return replace(chosen, calibration=Temperature(chosen.calibration.inverse * softer))


def with_doubtful_rows(proba: Floats, codes: Codes, weights: Floats, n_columns: int) -> CalibrationData:
    """Predictions with their labels, and the same predictions with random labels at a small weight.

    Some models predict a few dozen rows well by chance, all the more if there are many columns to choose from. The
    random labels, which have the frequencies of the classes, keep their probabilities soft.
    """
    n_rows, n_classes = proba.shape
    doubt = DOUBTFUL_ROWS * (1 + np.log10(max(1.0, n_columns / n_rows)))
    share = doubt * max(0.0, 1 - n_rows / NO_DOUBT) / n_rows
    doubtful = np.outer(np.full(n_rows, share), np.bincount(codes, weights, n_classes) / weights.sum()).ravel()
    scores = np.log(np.concatenate([proba, np.repeat(proba, n_classes, axis=0)]))
    labels = np.concatenate([codes, np.tile(np.arange(n_classes), n_rows)])
    return CalibrationData(ClassScores(scores, True), labels, np.concatenate([weights, doubtful]))


def cautious_temperature(data: CalibrationData) -> Temperature:
    """Fit a temperature. Few rows do not justify that probabilities become more extreme than the models gave them.

    The same rows selected the models, so their predictions look better than they are.
    """
    inverse, n_rows = fit_temperature(data).inverse, len(data.codes)
    return Temperature(inverse ** (n_rows / (n_rows + FEW_ROWS)) if inverse > 1 else inverse)


def pruned(weights: Floats, most: int) -> Floats:
    """The greatest few weights, rescaled; a weight of a few percent is not worth a model."""
    order = np.argsort(-weights, kind="stable")[:most]
    kept = np.zeros_like(weights)
    kept[order] = np.where(weights[order] >= LEAST_WEIGHT, weights[order], 0.0)
    if not kept.any():
        kept[order[0]] = 1.0
    return np.asarray(kept / kept.sum())


@dataclass(frozen=True)
class HonestPredictions:
    """Predictions of rows by a selection that did not see them: probabilities, or values of a quantity."""

    index: NDArray[np.intp]  # among the tested rows
    predicted: Floats  # (rows, classes) or (rows,)
    folds: tuple[int, ...]
    chosen: Mapping[int, EnsembleWeights] = field(default_factory=dict)  # by fold: weights of all candidates

    @classmethod
    def of_folds(cls, tested: OutOfFoldRows, by_fold: Mapping[int, NDArray[np.floating]]) -> HonestPredictions:
        index = np.concatenate([tested.of_fold(fold) for fold in by_fold])
        return cls(index, np.concatenate(list(by_fold.values())), tuple(by_fold))


def honest_selection(tested: OutOfFoldRows, among: CandidateSet, metric: Metric, most: int) -> HonestPredictions:
    """The selection made again for each fold that is scored, from the other rows, and applied to its own."""
    every = np.stack([one.predicted for one in among.every])
    parts, by_fold = {}, {}
    for fold in tested.scored:
        some = among.without[fold]
        chosen = choose_softened(every[some], tested, tested.folds_before(fold), metric, most)
        parts[fold] = chosen.predict(every[np.ix_(some, tested.of_fold(fold))])
        of_every = np.zeros(len(every))
        of_every[some] = chosen.weights
        by_fold[fold] = EnsembleWeights(of_every, chosen.calibration)
    return replace(HonestPredictions.of_folds(tested, parts), chosen=by_fold)


@dataclass(frozen=True)
class ModelPredictions:
    """Predictions of the best setting of one model: chosen again for each fold, and chosen once."""

    honest: HonestPredictions
    optimistic: HonestPredictions  # by the setting that all folds choose
    batch: SettingBatch
    setting: int  # the one that all folds choose


def honest_model(
    tested: OutOfFoldRows, batches: Sequence[SettingBatch], predictions: FoldPredictions
) -> ModelPredictions:
    """Predict each fold with the best setting of one model, chosen and calibrated without the fold."""
    table, scores = fold_table(batches, tested.n_folds)
    found: dict[int, NDArray[np.floating]] = {}  # out-of-fold predictions, by index in the table
    unit = unit_of(tested.truth, predictions.task.is_quantity)

    def best(folds: list[int]) -> int:
        return int(first_best(scores[:, folds].mean(axis=1), unit))

    def predicted(i: int, fold: int) -> Floats:
        if i not in found:
            found[i] = predictions.out_of_fold(*table[i])
        if predictions.task.is_quantity:
            return np.asarray(found[i][tested.of_fold(fold)])
        return calibrated_without(found[i], tested, fold)

    final = best(list(range(tested.n_folds)))
    optimistic = {fold: predicted(final, fold) for fold in tested.scored}
    chosen = {fold: best(tested.folds_before(fold)) for fold in tested.scored}
    honest = {fold: optimistic[fold] if i == final else predicted(i, fold) for fold, i in chosen.items()}
    return ModelPredictions(
        HonestPredictions.of_folds(tested, honest), HonestPredictions.of_folds(tested, optimistic), *table[final]
    )


def calibrated_without(proba: NDArray[np.floating], tested: OutOfFoldRows, fold: int) -> Floats:
    """Calibrate the probabilities of a fold by the temperature of the folds that its selection may look at."""
    own, others = proba[tested.of_fold(fold)].astype(np.float64), tested.others(fold)
    if not len(others):
        return own
    step = -(-len(others) // max(LEAST_MAP_ROWS, int(MOST_MAP_CELLS / proba.shape[1])))
    some = others[::step]
    weights = tested.weights_at(some)
    scores = ClassScores(np.log(proba[some].astype(np.float64)), True)
    data = CalibrationData(scores, tested.truth[some], np.ones(len(some)) if weights is None else weights)
    return calibrated(cautious_temperature(data), own)


def baseline(tested: OutOfFoldRows, predictions: FoldPredictions) -> HonestPredictions:
    """The class frequencies among training rows, or the mean of a quantity: what a model must beat."""
    parts = {
        fold: predictions.task.constant(predictions.splits[fold].train, len(tested.of_fold(fold)))
        for fold in tested.scored
    }
    return HonestPredictions.of_folds(tested, parts)


@dataclass(frozen=True)
class MemberSelection:
    """The members of the final model, and honest predictions of the procedure that selected them."""

    among: CandidateSet
    candidates: tuple[Candidate, ...]  # of them, those that the final selection was made among
    tested: OutOfFoldRows
    chosen: EnsembleWeights
    honest: HonestPredictions
    optimistic: Floats  # predictions of the rows of `honest` by the selection that saw them
    most: int  # members at most

    @property
    def members(self) -> list[int]:
        """The indices of candidates with a weight, the greatest weight first."""
        weights = self.chosen.weights
        return [int(i) for i in np.argsort(-weights, kind="stable") if weights[i] > 0]


def select(among: CandidateSet, tested: OutOfFoldRows, metric: Metric, most: int) -> MemberSelection:
    """Select members among candidates, and the same without the rows of each fold."""
    final = tuple(among.every[i] for i in among.final)
    stack = np.stack([one.predicted for one in final])
    chosen = choose_softened(stack, tested, list(range(tested.n_folds)), metric, most)
    honest = honest_selection(tested, among, metric, most)
    return MemberSelection(among, final, tested, chosen, honest, chosen.predict(stack)[honest.index], most)
