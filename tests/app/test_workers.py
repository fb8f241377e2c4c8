"""Workers: they answer as this process would, they can be stopped, and their death is survived."""

from __future__ import annotations

import os
import time

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from foldwise.app.workers import compiled_stamp
from foldwise.app.workers.executors import COMPILED, InProcessExecutor, ProcessExecutor, open_executor
from foldwise.app.workers.jobs import (
    FitAllRows,
    FitSplit,
    JobFailure,
    PredictSplit,
    ShuffleColumns,
    SplitPredictions,
    WorkerData,
)
from foldwise.folds.splits import Split

LATER = 60.0


class Sleeping(ClassifierMixin, BaseEstimator):
    """Fits for an hour."""

    def fit(self, X, y):
        time.sleep(3600)
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Crashing(Sleeping):
    """Takes its process along."""

    def fit(self, X, y):
        os._exit(7)


def bench(model):
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = (X["a"].to_numpy() + rng.normal(size=60) > 0).astype(np.int64)
    rows = np.arange(60)
    splits = [Split(rows[20:], rows[:20]), Split(rows[:40], rows[40:])]
    return WorkerData(X, y, splits, None, {"it": Pipeline([("model", model)])})


def result_of(executor, job, patience=LATER):
    executor.start("key", job, patience)
    while True:
        done = executor.collect(1.0)
        if done:
            return done[0].value


@pytest.fixture(params=["forked", "inline"])
def executor(request):
    made = open_executor(2 if request.param == "forked" else 0)
    assert isinstance(made, ProcessExecutor if request.param == "forked" else InProcessExecutor)
    yield made
    made.close()


def test_answers_and_fits_are_those_of_this_process(executor):
    given = bench(DecisionTreeClassifier(random_state=0))
    executor.give(given)
    settings = ({"model__max_depth": 1}, {"model__max_depth": 3})
    for number, split in enumerate(given.splits):
        found = result_of(executor, PredictSplit("it", settings, number, 2, "probabilities"))
        assert isinstance(found, SplitPredictions)
        for i, setting in enumerate(settings):
            model = clone(given.pipelines["it"]).set_params(**setting)
            model.fit(given.X[split.train.tolist()], given.y[split.train])
            expected = model.predict_proba(given.X[split.test.tolist()])
            np.testing.assert_allclose(found.values[i], expected, rtol=1e-6)
    model = result_of(executor, FitAllRows("it", settings[1]))
    np.testing.assert_array_equal(
        model.predict(given.X),
        clone(given.pipelines["it"]).set_params(**settings[1]).fit(given.X, given.y).predict(given.X),
    )


def test_a_setting_that_fails_is_named(executor):
    executor.give(bench(DecisionTreeClassifier()))
    found = result_of(executor, PredictSplit("it", ({"model__max_depth": -3}, {}), 0, 2, "probabilities"))
    assert [i for i, _ in found.errors] == [0]
    assert "max_depth" in found.errors[0][1]
    assert np.isfinite(found.values[1]).all()


def test_a_job_is_stopped_at_its_deadline_and_the_next_one_runs():
    executor = open_executor(1)
    try:
        executor.give(bench(Sleeping()))
        assert result_of(executor, FitAllRows("it", {}), patience=0.5) is None
        executor.give(bench(DecisionTreeClassifier()))
        assert result_of(executor, FitAllRows("it", {})).predict is not None
    finally:
        executor.close()


def test_a_worker_that_dies_is_replaced():
    executor = open_executor(1)
    try:
        executor.give(bench(Crashing()))
        found = result_of(executor, FitAllRows("it", {}))
        assert isinstance(found, JobFailure)
        assert "ended" in found.error
        assert isinstance(result_of(executor, FitAllRows("it", {})), JobFailure)
    finally:
        executor.close()


def test_what_is_compiled_is_told(executor):
    """Other models never wait; ours are ready some time, and at once where nothing is compiled beside."""
    executor.give(bench(DecisionTreeClassifier()))
    assert executor.compiled("decision_tree")
    end = time.monotonic() + 240.0  # a machine that has compiled nothing yet, and runs other tests beside
    while not all(map(executor.compiled, COMPILED)):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_what_was_compiled_is_noted_until_something_changes(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled_stamp, "folder", lambda: tmp_path)
    assert not compiled_stamp.is_compiled()
    compiled_stamp.note_compiled("an earlier state")
    assert not compiled_stamp.is_compiled()
    compiled_stamp.note_compiled(compiled_stamp.state())
    assert compiled_stamp.is_compiled()
    assert [path.name for path in tmp_path.iterdir()] == [compiled_stamp.NAME]
    monkeypatch.setenv("NUMBA_CPU_NAME", "another")
    assert not compiled_stamp.is_compiled()
    monkeypatch.setattr(compiled_stamp, "folder", lambda: tmp_path / "nowhere")
    compiled_stamp.note_compiled(compiled_stamp.state())
    assert not compiled_stamp.is_compiled()


def test_a_compiler_that_died_keeps_nobody_waiting():
    executor = open_executor(1)
    try:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        executor._compiled_pipe.close()
        executor._compiled_pipe = os.fdopen(reading, "rb", buffering=0)
        assert not executor.compiled("naive_bayes")
        os.write(writing, b"naive_bayes\n")
        assert executor.compiled("naive_bayes")
        assert not executor.compiled("knn")
        os.close(writing)
        assert executor.compiled("knn")
    finally:
        executor.close()


def test_a_model_of_a_split_is_fitted_on_its_training_rows():
    given = bench(DecisionTreeClassifier(random_state=0))
    model = FitSplit("it", {"model__max_depth": 2}, 1).run(given)
    expected = clone(given.pipelines["it"]).set_params(model__max_depth=2)
    expected.fit(given.X[given.splits[1].train.tolist()], given.y[given.splits[1].train])
    np.testing.assert_array_equal(model.predict_proba(given.X), expected.predict_proba(given.X))


class SlowToFit(DecisionTreeClassifier):
    """Needs longer to fit than there is for shuffling columns."""

    def fit(self, X, y):
        time.sleep(0.3)
        return super().fit(X, y)


def test_a_slow_fit_leaves_time_to_shuffle_every_column():
    rises = ShuffleColumns("it", {}, (0, 1), ("a", "b"), 2, 0, seconds=0.2).run(bench(SlowToFit(max_depth=2)))
    assert set(rises) == {"a", "b"}
    assert len(rises["a"]) <= 2  # the second split came too late
