"""What a run has tried: entries of settings that share work, with their stored answers fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.blend import with_doubt
from foldwise.app.measures import Floats, Measure
from foldwise.app.task import Task
from foldwise.decisions.calibration import CalibrationData, ClassScores, fit_calibrator
from foldwise.folds.protocol import Params
from foldwise.folds.splits import Split
from foldwise.models.spec import ModelSpec


@dataclass
class Family:
    """A family in the race: how far it has come."""

    spec: ModelSpec
    pipeline: Any
    rng: np.random.Generator
    predicted: float  # seconds of an entry on one fold, before any was measured
    space: Params = field(default_factory=dict)  # what is searched
    entries: list[Entry] = field(default_factory=list)
    spent: float = 0.0
    status: str = "not finished"
    why: str = ""

    @property
    def decision(self) -> bool:
        return self.spec.answers == "decision"

    @property
    def measured(self) -> list[float]:
        return [seconds for entry in self.entries for seconds in entry.seconds.values()]

    def seconds(self, speed: float) -> float:
        """What one entry on one fold will take: as long as it took so far, or as it is said to."""
        measured = self.measured
        return float(np.median(measured[-8:])) if measured else self.predicted * speed


@dataclass
class Entry:
    """Settings that are asked together, and what they said."""

    family: Family
    settings: tuple[Params, ...]
    at: float  # seconds since the start of the run
    answers: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # by split: (settings, rows, classes)
    scores: dict[int, Floats] = field(
        default_factory=dict
    )  # by split: (settings,), more is better; NaN where it failed
    seconds: dict[int, float] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)  # by setting
    asked: set[int] = field(default_factory=set)
    dead: bool = False
    forgotten: set[int] = field(default_factory=set)  # settings whose answers are not kept
    places: dict[int, int] = field(default_factory=dict)  # of settings among the answers, once some are forgotten

    def first(self) -> float:
        """The best score on the first split, -inf where there is none."""
        found = self.scores.get(0)
        return -np.inf if found is None or np.isnan(found).all() else float(np.nanmax(found))

    def complete(self, n_splits: int) -> bool:
        return len(self.scores) == n_splits

    def usable(self) -> list[int]:
        """The settings that answered every split, as far as their answers are kept."""
        broken = np.any([np.isnan(one) for one in self.scores.values()], axis=0)
        return [
            i for i in range(len(self.settings)) if not broken[i] and i not in self.errors and i not in self.forgotten
        ]

    def forget(self, n_kept: int) -> None:
        """Keep the answers of settings that some choice may fall on: the best few, of all splits and without each.

        Whatever is among the best few of a family without a split is so in its entry, so no choice is lost.
        """
        scores = np.array([self.scores[k] for k in sorted(self.scores)])  # (splits, settings)
        means = [scores.mean(axis=0), *(np.delete(scores, k, axis=0).mean(axis=0) for k in range(len(scores)))]
        means += [scores[:k].mean(axis=0) for k in range(1, len(scores))]  # in time, of the splits before
        best = {i for one in means for i in np.argsort(-np.nan_to_num(one, nan=-np.inf))[:n_kept].tolist()}
        self.forgotten = {i for i in range(len(self.settings)) if i not in best}
        order = sorted(best)
        self.places = {setting: place for place, setting in enumerate(order)}
        self.answers = {k: np.ascontiguousarray(said[order]) for k, said in self.answers.items()}

    def said(self, setting: int, split: int) -> NDArray[np.float32]:
        """What a setting said of a split."""
        return np.asarray(self.answers[split][self.places.get(setting, setting)])


class Keeper:
    """Turns answers into probabilities and scores them."""

    def __init__(self, task: Task, splits: Sequence[Split], measure: Measure) -> None:
        self.task, self.splits, self.measure = task, splits, measure
        counts = task.counts.astype(np.float64) + 1.0
        self.prior: Floats = counts / counts.sum()
        self.doubt = 1.0 / (task.n_rows + task.n_classes)

    def floored(self, proba: NDArray[Any]) -> Floats:
        """Probabilities mixed with a little of the shares of classes: no model of n rows is surer than 1 - 1/n."""
        return with_doubt(proba, self.prior, self.doubt)

    def score(self, entry: Entry, split: int) -> Floats:
        """One score a setting on a split, more is better."""
        test = self.splits[split].test
        weights = None if self.task.weights is None else self.task.weights[test]
        found = np.full(len(entry.settings), np.nan)
        for i in range(len(entry.settings)):
            if np.isnan(entry.answers[split][i]).any():
                continue
            proba = self.proba(entry, i, split, own=True)
            found[i] = self.measure.better(self.measure(self.task.codes[test], proba, weights))
        return found

    def proba(self, entry: Entry, setting: int, split: int, *, own: bool = False) -> Floats:
        """The probabilities of a setting on a split; decision values are mapped by what other splits teach,
        in the order of time the earlier ones.

        With `own`, while no other split is there, by these very rows: for a first look.
        """
        said = entry.said(setting, split)
        if not entry.family.decision:
            return self.floored(said)
        in_time = self.task.moments is not None
        others = [k for k in entry.answers if (k < split if in_time else k != split)]
        others = [k for k in others if not np.isnan(entry.said(setting, k)).any()]
        taught = [split] if own or not others else others
        lesson = self.lesson(entry, setting, taught)
        log_proba = fit_calibrator("sigmoid", lesson)[1].log_proba(ClassScores(said.astype(np.float64), False))
        return self.floored(np.exp(log_proba))

    def lesson(self, entry: Entry, setting: int, splits: Sequence[int]) -> CalibrationData:
        """What the decision values of some splits teach of probabilities."""
        values = np.concatenate([entry.said(setting, k) for k in splits]).astype(np.float64)
        rows = np.concatenate([self.splits[k].test for k in splits])
        weights = np.ones(len(rows)) if self.task.weights is None else self.task.weights[rows]
        return CalibrationData(ClassScores(values, False), self.task.codes[rows], weights)
