"""What a worker does: predict one split with some settings, fit a model on all rows, or measure column importance.

A worker holds one table. It keeps the fold sessions it has opened, so that jobs of one model share work.
"""

from __future__ import annotations

import itertools
import pickle
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, Protocol

import cloudpickle
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.decisions.calibration.scores import class_columns, finite_scores
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Labels, Need, Params
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split
from foldwise.models.spec import Answers
from foldwise.models.wide_tables import used_columns

KEPT_SESSIONS = 4
LEAST = 1e-4  # smallest probability when columns are shuffled, so that a single row cannot dominate


@dataclass
class WorkerData:
    """The table of a run, and what a worker keeps between jobs."""

    X: pl.DataFrame
    y: NDArray[Any]  # codes of classes, or values of a quantity
    splits: Sequence[Split]
    weights: NDArray[np.float64] | None = None
    pipelines: Mapping[str, Any] = field(default_factory=dict)  # by name of the model; may be pickled
    sessions: dict[str, FoldSession] = field(default_factory=dict)

    def to_send(self) -> WorkerData:
        """The same with pipelines pickled one by one."""
        pipelines = {name: cloudpickle.dumps(one, protocol=5) for name, one in self.pipelines.items()}
        return replace(self, pipelines=pipelines)

    @property
    def fit_params(self) -> dict[str, Any]:
        return {} if self.weights is None else {"model__sample_weight": self.weights}

    def pipeline(self, model: str) -> Any:
        """An unfitted pipeline. It is unpickled here, so that a worker loads only libraries whose models it fits."""
        found = self.pipelines[model]
        return pickle.loads(found) if isinstance(found, bytes) else clone(found)

    def session(self, model: str) -> FoldSession:
        """The session of a model; of more than a few, the one opened first is closed."""
        if model not in self.sessions:
            while len(self.sessions) >= KEPT_SESSIONS:
                del self.sessions[next(iter(self.sessions))]
            self.sessions[model] = open_session(self.pipeline(model), self.X, self.y, self.fit_params)
        return self.sessions[model]


@dataclass(frozen=True)
class SplitPredictions:
    """Predictions of some settings for the test rows of one split."""

    # (settings, rows, classes): probabilities or decision values; (settings, rows): values; NaN where failed
    values: NDArray[np.floating]
    errors: tuple[tuple[int, str], ...]  # settings that failed


@dataclass(frozen=True)
class JobFailure:
    """A job that raised."""

    error: str


@dataclass(frozen=True)
class PredictSplit:
    """Some settings of a model on one split."""

    model: str
    settings: tuple[Params, ...]
    split: int
    n_classes: int  # 0 for a quantity
    answers: Answers  # what the model predicts
    rows: NDArray[np.intp] | None = None  # to learn from, instead of the split's

    def run(self, data: WorkerData) -> SplitPredictions:
        session, split = data.session(self.model), data.splits[self.split]
        if self.rows is not None:
            split = Split(self.rows, split.test)
        if self.answers == "values":
            return self.quantities(session, split)
        decides = self.answers == "decision"
        need = Need.DECISION if decides else Need.PROBA
        values = np.full((len(self.settings), len(split.test), self.n_classes), np.nan, dtype=np.float32)
        errors: dict[int, str] = {}
        present = np.flatnonzero(np.bincount(data.y[split.train], minlength=self.n_classes))
        assert isinstance(session.target, Labels)
        known = session.target.classes.astype(np.intp)  # codes of this table: all, unless a class has no row
        for block in session.answer(self.settings, split.train, split.test, need):
            here = range(block.start, block.stop)
            if isinstance(block.answer, Failure):
                errors |= dict.fromkeys(here, error_line(block.answer.error))
                continue
            if decides and block.answer.decision is not None:
                found = [
                    finite_scores(class_columns(one, present, self.n_classes), False).values
                    for one in block.answer.decision
                ]
                values[block.start : block.stop] = np.stack(found)
                continue
            proba = block.answer.probabilities()
            if proba is None:
                errors |= dict.fromkeys(here, "the model does not predict probabilities")
            else:
                values[block.start : block.stop, :, known] = proba
        for i in np.flatnonzero(np.isnan(values).any(axis=(1, 2))).tolist():
            errors.setdefault(i, "the model predicted NaN")
        return SplitPredictions(values, tuple(errors.items()))

    def quantities(self, session: FoldSession, split: Split) -> SplitPredictions:
        """Predict the values of a quantity."""
        values = np.full((len(self.settings), len(split.test)), np.nan)
        errors: dict[int, str] = {}
        for block in session.answer(self.settings, split.train, split.test, Need.VALUES):
            if isinstance(block.answer, Failure):
                errors |= dict.fromkeys(range(block.start, block.stop), error_line(block.answer.error))
            else:
                values[block.start : block.stop] = block.answer.values
        values[~np.isfinite(values).all(axis=1)] = np.nan
        for i in np.flatnonzero(np.isnan(values).any(axis=1)).tolist():
            errors.setdefault(i, "the model predicted NaN or infinity")
        return SplitPredictions(values, tuple(errors.items()))


@dataclass(frozen=True)
class FitAllRows:
    """A setting of a model fitted for the final model: on all rows, or on some of a tall table."""

    model: str
    setting: Params
    rows: NDArray[np.intp] | None = None

    def run(self, data: WorkerData) -> Any:
        data.sessions.clear()  # room for the model
        pipeline = data.pipeline(self.model).set_params(**self.setting)
        if self.rows is None:
            return pipeline.fit(data.X, data.y, **data.fit_params)
        weights = {name: values[self.rows] for name, values in data.fit_params.items()}
        return pipeline.fit(take_rows(data.X, self.rows), data.y[self.rows], **weights)


@dataclass(frozen=True)
class FitSplit:
    """A setting of a model fitted on the training rows of one split, or on some of a tall table."""

    model: str
    setting: Params
    split: int
    rows: NDArray[np.intp] | None = None

    def run(self, data: WorkerData) -> Any:
        rows = data.splits[self.split].train if self.rows is None else self.rows
        return data.session(self.model).model(self.setting, rows)


@dataclass(frozen=True)
class ShuffleColumns:
    """How much worse a model gets on rows it has not seen when a column is shuffled among them, split after split.

    The seconds count from the first fit on. Where they are too few for all columns, fewer rows are used.
    """

    model: str
    setting: Params
    splits: tuple[int, ...]
    columns: tuple[str, ...]
    n_classes: int
    seed: int
    seconds: float  # after which no further column is shuffled
    rows: tuple[NDArray[np.intp] | None, ...] = ()  # to learn from instead of the splits', one per split
    n_rows: int = 2_000
    least_rows: int = 100
    repeats: int = 2

    def run(self, data: WorkerData) -> dict[str, list[float]]:
        rng = np.random.default_rng(self.seed)
        rises: dict[str, list[float]] = {name: [] for name in self.columns}
        start, n_rows = None, self.n_rows
        for number, rows in itertools.zip_longest(self.splits, self.rows):
            split = data.splits[number]
            fitted = data.session(self.model).model(self.setting, split.train if rows is None else rows)
            # where time runs out, the columns that are measured are a sample
            columns = rng.permutation(used_columns(fitted, self.columns)).tolist()
            test = rng.permutation(split.test)[:n_rows]
            X, y = take_rows(data.X, test), data.y[test]
            if start is None:
                start = time.perf_counter()
                self.loss(fitted, X, y)
                passes = self.seconds / (len(columns) * (time.perf_counter() - start))
                n_rows = int(np.clip(passes * len(test), self.least_rows, self.n_rows))
                X, y = X[:n_rows], y[:n_rows]
            before = self.loss(fitted, X, y)
            for _ in range(self.repeats):
                for name in columns:
                    if time.perf_counter() - start > self.seconds:
                        return {name: values for name, values in rises.items() if values}
                    shuffled = X.with_columns(X[name].gather(rng.permutation(X.height)))
                    rises[name].append(self.loss(fitted, shuffled, y) - before)
        return {name: values for name, values in rises.items() if values}

    def loss(self, fitted: Any, X: Any, y: NDArray[Any]) -> float:
        """Root mean squared error of a quantity; log loss where the model has probabilities, else the error rate.

        The log loss is not that of the registry: it clips probabilities at `LEAST`, because only its rise is used.
        """
        if not self.n_classes:
            return float(np.sqrt(np.mean((np.asarray(fitted.predict(X), dtype=np.float64) - y) ** 2)))
        if not hasattr(fitted, "predict_proba"):
            return float(np.mean(np.asarray(fitted.predict(X)) != y))
        proba = np.full((len(y), self.n_classes), LEAST)
        proba[:, np.asarray(fitted.classes_, dtype=np.intp)] = fitted.predict_proba(X)
        return float(-np.mean(np.log(np.maximum(proba[np.arange(len(y)), y], LEAST))))


class JobData(Protocol):
    """What a worker holds while it does jobs."""

    def to_send(self) -> Any:
        """The same as it is sent to a worker."""


class Job(Protocol):
    """Something that a worker does with its data."""

    @property
    def model(self) -> str:
        """What the job is about, for the progress line."""

    def run(self, data: Any) -> Any:
        """Do it."""


def perform(job: Job, data: JobData) -> Any:
    """Run a job. An exception becomes a `JobFailure`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about single settings are not useful here
            return job.run(data)
    except MemoryError:
        return JobFailure("not enough memory")
    except Exception as error:  # not hidden: the run reports the job as failed
        return JobFailure(error_line(error))


def work(connection: Connection) -> None:
    """Take a table, then do jobs until the connection is closed. Messages come from the process that started us."""
    try:
        data: JobData = pickle.loads(connection.recv_bytes())
        while True:
            job = pickle.loads(connection.recv_bytes())
            start = time.perf_counter()
            value = perform(job, data)
            connection.send_bytes(pickle.dumps((value, time.perf_counter() - start), protocol=5))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def error_line(error: BaseException) -> str:
    """Describe an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
