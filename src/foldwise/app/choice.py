"""The choice: which settings make the final model, with which weights; and what that choice is honestly worth.

Everything is decided from stored out-of-fold probabilities: a greedy ensemble of the best settings, then a temperature.
What it is worth is found by making the whole choice again without the rows of each fold, and scoring it on them. The
first fold, by which settings were dropped, is not scored, unless none was dropped. In the order of time the choice for
a fold rests on earlier folds only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.entries import Entry, Family, Keeper
from foldwise.app.measures import Codes, Floats, Measure
from foldwise.decisions.calibration import CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import Calibrator
from foldwise.ensembles import select_greedily

MOST_CANDIDATES = 30
EACH_FAMILY = 4
MOST_MEMBERS = 6
LEAST_WEIGHT = 0.03
MOST_CELLS = 3e7  # members × rows × classes: more are thinned, so that a choice takes a second or two


@dataclass(frozen=True)
class Candidate:
    """A setting that answered every fold."""

    entry: Entry
    setting: int
    score: float  # mean over folds, more is better
    proba: NDArray[np.float32]  # (rows, classes), in the order of `Stack.rows`

    @property
    def family(self) -> Family:
        return self.entry.family

    @property
    def params(self) -> Any:
        return self.entry.settings[self.setting]

    @property
    def seconds(self) -> float:
        """Of one fit, on one fold."""
        return float(np.mean(list(self.entry.seconds.values())))


@dataclass(frozen=True)
class Stack:
    """The rows that were tested, and the candidates' probabilities of them."""

    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    codes: Codes
    weights: Floats | None
    n_folds: int
    in_time: bool
    raced: bool  # whether the first fold decided anything

    @classmethod
    def of(cls, keeper: Keeper, raced: bool) -> Stack:
        rows = np.concatenate([split.test for split in keeper.splits])
        fold = np.repeat(np.arange(len(keeper.splits)), [len(split.test) for split in keeper.splits])
        task = keeper.task
        weights = None if task.weights is None else task.weights[rows]
        return cls(rows, fold, task.codes[rows], weights, len(keeper.splits), task.moments is not None, raced)

    @property
    def scored(self) -> list[int]:
        """The folds that say how good a choice is."""
        return list(range(1 if (self.raced or self.in_time) and self.n_folds > 2 else 0, self.n_folds))

    def others(self, fold: int) -> NDArray[np.intp]:
        """The places of rows that a choice for this fold may look at."""
        chosen = self.fold < fold if self.in_time else self.fold != fold
        return np.flatnonzero(chosen)

    def looked(self, fold: int) -> list[int]:
        """The folds that a choice for this fold may look at."""
        return [k for k in range(self.n_folds) if (k < fold if self.in_time else k != fold)]

    def of_fold(self, fold: int) -> NDArray[np.intp]:
        return np.flatnonzero(self.fold == fold)

    def weighing(self, places: NDArray[np.intp]) -> Floats | None:
        return None if self.weights is None else self.weights[places]


@dataclass(frozen=True)
class Slate:
    """The settings that a choice is made among: for the final model, and for each fold by the other folds' scores."""

    kept: tuple[Candidate, ...]
    final: NDArray[np.intp]  # places in `kept`
    without: Mapping[int, NDArray[np.intp]]  # by fold

    def only(self, places: Sequence[int]) -> Slate:
        """Some candidates alone, whatever the fold."""
        every = np.arange(len(places))
        return Slate(tuple(self.kept[i] for i in places), every, dict.fromkeys(self.without, every))


def candidates(entries: Sequence[Entry], keeper: Keeper, stack: Stack) -> Slate:
    """The best few settings of each family that answered every fold; a fold has no say in its own list."""
    table = [(entry, i) for entry in entries for i in entry.usable()]
    scores = np.array([[entry.scores[k][i] for k in range(stack.n_folds)] for entry, i in table])
    most = int(np.clip(MOST_CELLS / (len(stack.codes) * keeper.task.n_classes), 4, MOST_CANDIDATES))
    families = [id(entry.family) for entry, _ in table]
    final = best_few(scores.mean(axis=1), families, most)
    without = {fold: best_few(scores[:, stack.looked(fold)].mean(axis=1), families, most) for fold in stack.scored}
    used = sorted({*final, *(i for some in without.values() for i in some)})
    place = {i: at for at, i in enumerate(used)}
    kept = tuple(Candidate(*table[i], float(scores[i].mean()), stored(keeper, *table[i])) for i in used)
    return Slate(
        kept,
        np.array([place[i] for i in final], dtype=np.intp),
        {fold: np.array([place[i] for i in some], dtype=np.intp) for fold, some in without.items()},
    )


def best_few(means: Floats, families: Sequence[int], most: int) -> list[int]:
    """The settings of greatest score, not too many of one family."""
    taken: list[int] = []
    of_family: dict[int, int] = {}
    for i in np.argsort(-means, kind="stable").tolist():
        if of_family.get(families[i], 0) < EACH_FAMILY and len(taken) < most:
            of_family[families[i]] = of_family.get(families[i], 0) + 1
            taken.append(i)
    return taken


def stored(keeper: Keeper, entry: Entry, setting: int) -> NDArray[np.float32]:
    """All out-of-fold probabilities of a setting, fold after fold."""
    parts = [keeper.proba(entry, setting, k) for k in range(len(keeper.splits))]
    return np.concatenate(parts).astype(np.float32)


@dataclass(frozen=True)
class Chosen:
    """Weights of candidates, and the map that their weighted mean goes through."""

    weights: Floats  # (candidates,)
    map: Calibrator
    single: bool

    def proba(self, stack: NDArray[Any]) -> Floats:  # (candidates, rows, classes)
        return mapped(self.map, blend(stack, self.weights))


def blend(stack: NDArray[Any], weights: Floats) -> Floats:
    """The weighted mean of probabilities, of those that have a weight."""
    used = np.flatnonzero(weights)
    return np.asarray(np.tensordot(weights[used], stack[used].astype(np.float64), axes=1))


def mapped(to: Calibrator, proba: Floats) -> Floats:
    return np.asarray(np.exp(to.log_proba(ClassScores(np.log(proba), True))))


def choose(
    stack: NDArray[np.float32], codes: Codes, weights: Floats | None, measure: Measure, most: int = MOST_MEMBERS
) -> Chosen:
    """Weights by greedy selection on log loss, at most so many members; the best single where it scores better."""
    n_members, n_rows, _ = stack.shape
    scores = np.array([measure.better(measure(codes, one.astype(np.float64), weights)) for one in stack])
    single = np.eye(n_members)[int(np.nanargmax(scores))]
    found = single
    if n_members > 1 and most > 1:
        selected = select_greedily(stack, codes, metric="neg_log_loss", sample_weight=weights, shrinkage=0.0).weights
        found = pruned(selected, most)
        if measure.name != "log_loss":
            together = measure.better(measure(codes, blend(stack, found), weights))
            found = found if together >= scores.max() else single
    row_weights = np.ones(n_rows) if weights is None else weights
    lesson = CalibrationData(ClassScores(np.log(blend(stack, found)), True), codes, row_weights)
    return Chosen(found, fit_calibrator("temperature", lesson)[1], bool((found > 0).sum() == 1))


def pruned(weights: Floats, most: int) -> Floats:
    """The greatest few weights, rescaled; a weight of a few percent is not worth a model."""
    order = np.argsort(-weights, kind="stable")[:most]
    kept = np.zeros_like(weights)
    kept[order] = np.where(weights[order] >= LEAST_WEIGHT, weights[order], 0.0)
    if not kept.any():
        kept[order[0]] = 1.0
    return np.asarray(kept / kept.sum())


@dataclass(frozen=True)
class Honest:
    """Probabilities of rows by choices that did not see them."""

    places: NDArray[np.intp]  # in the stack
    proba: Floats
    folds: tuple[int, ...]


def crossed_choice(stack: Stack, slate: Slate, measure: Measure, most: int) -> Honest:
    """The choice made anew for each fold that is scored, from the other rows, and applied to its own."""
    every = np.stack([one.proba for one in slate.kept])
    places, parts = [], []
    for fold in stack.scored:
        others, own, some = stack.others(fold), stack.of_fold(fold), slate.without[fold]
        weights = stack.weighing(others)
        chosen = choose(every[np.ix_(some, others)], stack.codes[others], weights, measure, most)
        parts.append(chosen.proba(every[np.ix_(some, own)]))
        places.append(own)
    return Honest(np.concatenate(places), np.concatenate(parts), tuple(stack.scored))


def crossed_family(stack: Stack, entries: Sequence[Entry], keeper: Keeper) -> tuple[Honest, Entry, int]:
    """The choice among the settings of one family, made anew for each fold; and the setting that all folds choose."""
    table = [(entry, i) for entry in entries for i in entry.usable()]
    scores = np.array([[entry.scores[k][i] for k in range(stack.n_folds)] for entry, i in table])

    parts, places = [], []
    for fold in stack.scored:
        entry, i = table[int(np.argmax(scores[:, stack.looked(fold)].mean(axis=1)))]
        parts.append(keeper.proba(entry, i, fold))
        places.append(stack.of_fold(fold))
    best = table[int(np.argmax(scores.mean(axis=1)))]
    return Honest(np.concatenate(places), np.concatenate(parts), tuple(stack.scored)), *best


def prior_only(stack: Stack, keeper: Keeper) -> Honest:
    """The shares of classes among training rows: what a model must beat."""
    parts, places = [], []
    for fold in stack.scored:
        train = keeper.splits[fold].train
        weights = None if keeper.task.weights is None else keeper.task.weights[train]
        counts = np.bincount(keeper.task.codes[train], weights, minlength=keeper.task.n_classes) + 1e-3
        own = stack.of_fold(fold)
        parts.append(np.broadcast_to(counts / counts.sum(), (len(own), len(counts))))
        places.append(own)
    return Honest(np.concatenate(places), np.concatenate(parts), tuple(stack.scored))
