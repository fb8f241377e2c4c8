"""What a worker does: answer settings on one split, refit a model on all rows, or measure what columns are worth.

A worker holds one table. It keeps the fold sessions it has opened, so that questions about a family share work.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.decisions.calibration.scores import class_columns, finite_scores
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Labels, Need, Params
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split

KEPT_SESSIONS = 4
LEAST = 1e-4  # of a probability, when columns are shuffled: one row must not decide


@dataclass
class Bench:
    """The table of a run, and what a worker keeps between jobs."""

    X: pl.DataFrame
    y: NDArray[np.int64]  # codes of classes
    splits: Sequence[Split]
    weights: NDArray[np.float64] | None = None
    families: Mapping[str, tuple[Any, bool]] = field(default_factory=dict)  # pipeline, and whether it takes weights
    sessions: dict[str, FoldSession] = field(default_factory=dict)

    def fit_params(self, family: str) -> dict[str, Any]:
        takes = self.weights is not None and self.families[family][1]
        return {"model__sample_weight": self.weights} if takes else {}

    def session(self, family: str) -> FoldSession:
        """The session of a family; of more than a few, the one opened first is closed."""
        if family not in self.sessions:
            while len(self.sessions) >= KEPT_SESSIONS:
                del self.sessions[next(iter(self.sessions))]
            pipeline = self.families[family][0]
            self.sessions[family] = open_session(pipeline, self.X, self.y, self.fit_params(family))
        return self.sessions[family]


@dataclass(frozen=True)
class Answered:
    """What settings say of the test rows of one split."""

    scores: NDArray[np.float32] | None  # (settings, rows, classes): probabilities, or decision values
    errors: tuple[tuple[int, str], ...]  # settings that could not
    seconds: float


@dataclass(frozen=True)
class Failed:
    """A job that raised."""

    error: str


@dataclass(frozen=True)
class Ask:
    """Settings of a family on one split."""

    family: str
    settings: tuple[Params, ...]
    split: int
    n_classes: int
    decision: bool  # whether the family has decision values only
    rows: NDArray[np.intp] | None = None  # to learn from, instead of the split's

    def run(self, bench: Bench) -> Answered:
        start = time.perf_counter()
        session, split = bench.session(self.family), bench.splits[self.split]
        if self.rows is not None:
            split = Split(self.rows, split.test)
        need = Need.DECISION if self.decision else Need.PROBA
        scores = np.full((len(self.settings), len(split.test), self.n_classes), np.nan, dtype=np.float32)
        errors: list[tuple[int, str]] = []
        present = np.flatnonzero(np.bincount(bench.y[split.train], minlength=self.n_classes))
        assert isinstance(session.target, Labels)
        known = session.target.classes.astype(np.intp)  # codes of this table: all, unless a class has no row
        for block in session.answer(self.settings, split.train, split.test, need):
            places = range(block.start, block.stop)
            if isinstance(block.answer, Failure):
                errors += [(i, says(block.answer.error)) for i in places]
                continue
            if self.decision and block.answer.decision is not None:
                found = [
                    finite_scores(class_columns(one, present, self.n_classes), False).values
                    for one in block.answer.decision
                ]
                scores[block.start : block.stop] = np.stack(found)
                continue
            proba = block.answer.probabilities()
            if proba is None:
                errors += [(i, "the model gives no probabilities") for i in places]
            else:
                scores[block.start : block.stop, :, known] = proba
        broken = np.isnan(scores).any(axis=(1, 2))
        named = {i for i, _ in errors}
        errors += [(int(i), "the model gave NaN") for i in np.flatnonzero(broken) if int(i) not in named]
        return Answered(scores, tuple(errors), time.perf_counter() - start)


@dataclass(frozen=True)
class Refit:
    """A family's setting fitted on all rows."""

    family: str
    setting: Params

    def run(self, bench: Bench) -> Any:
        bench.sessions.clear()  # room for the model
        model = clone(bench.families[self.family][0]).set_params(**self.setting)
        return model.fit(bench.X, bench.y, **bench.fit_params(self.family))


@dataclass(frozen=True)
class Importance:
    """How much worse models get on rows they have not seen when a column is shuffled among them, split after split."""

    family: str
    setting: Params
    splits: tuple[int, ...]
    columns: tuple[str, ...]
    n_classes: int
    seed: int
    seconds: float  # after which no further column is shuffled
    n_rows: int = 2_000
    repeats: int = 2

    def run(self, bench: Bench) -> dict[str, list[float]]:
        start = time.perf_counter()
        rng = np.random.default_rng(self.seed)
        rises: dict[str, list[float]] = {name: [] for name in self.columns}
        for number in self.splits:
            split = bench.splits[number]
            model = bench.session(self.family).model(self.setting, split.train)
            test = rng.permutation(split.test)[: self.n_rows]
            X, y = take_rows(bench.X, test), bench.y[test]
            before = self.loss(model, X, y)
            for _ in range(self.repeats):
                for name in self.columns:
                    if time.perf_counter() - start > self.seconds:
                        return {name: values for name, values in rises.items() if values}
                    shuffled = X.with_columns(X[name].gather(rng.permutation(X.height)))
                    rises[name].append(self.loss(model, shuffled, y) - before)
        return rises

    def loss(self, model: Any, X: Any, y: NDArray[np.int64]) -> float:
        """Log loss where the model has probabilities, else the share of mistakes."""
        if not hasattr(model, "predict_proba"):
            return float(np.mean(np.asarray(model.predict(X)) != y))
        said = np.full((len(y), self.n_classes), LEAST)
        said[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(X)
        return float(-np.mean(np.log(np.maximum(said[np.arange(len(y)), y], LEAST))))


Job = Ask | Refit | Importance


def perform(job: Job, bench: Bench) -> Any:
    """The result of a job; an error is a result too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a family says of one setting helps nobody here
            return job.run(bench)
    except MemoryError:
        return Failed("it takes more memory than there is")
    except Exception as error:
        return Failed(says(error))


def says(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
