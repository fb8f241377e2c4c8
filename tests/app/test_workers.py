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

from foldwise.app.workers.jobs import Answered, Ask, Bench, Failed, Refit
from foldwise.app.workers.pool import COMPILED, ForkedPool, InlinePool, open_pool
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
    return Bench(X, y, splits, None, {"it": (Pipeline([("model", model)]), False)})


def result_of(pool, job, patience=LATER):
    pool.start(job, time.monotonic() + patience)
    while True:
        done = pool.collect(1.0)
        if done:
            return done[0].result


@pytest.fixture(params=["forked", "inline"])
def pool(request):
    made = open_pool(2 if request.param == "forked" else 0)
    assert isinstance(made, ForkedPool if request.param == "forked" else InlinePool)
    yield made
    made.close()


def test_answers_and_fits_are_those_of_this_process(pool):
    given = bench(DecisionTreeClassifier(random_state=0))
    pool.give(given)
    settings = ({"model__max_depth": 1}, {"model__max_depth": 3})
    for number, split in enumerate(given.splits):
        found = result_of(pool, Ask("it", settings, number, 2, False))
        assert isinstance(found, Answered)
        for place, setting in enumerate(settings):
            model = clone(given.families["it"][0]).set_params(**setting)
            model.fit(given.X[split.train.tolist()], given.y[split.train])
            expected = model.predict_proba(given.X[split.test.tolist()])
            np.testing.assert_allclose(found.scores[place], expected, rtol=1e-6)
    model = result_of(pool, Refit("it", settings[1]))
    np.testing.assert_array_equal(
        model.predict(given.X),
        clone(given.families["it"][0]).set_params(**settings[1]).fit(given.X, given.y).predict(given.X),
    )


def test_a_setting_that_fails_is_named(pool):
    pool.give(bench(DecisionTreeClassifier()))
    found = result_of(pool, Ask("it", ({"model__max_depth": -3}, {}), 0, 2, False))
    assert [place for place, _ in found.errors] == [0]
    assert "max_depth" in found.errors[0][1]
    assert np.isfinite(found.scores[1]).all()


def test_a_job_is_stopped_at_its_deadline_and_the_next_one_runs():
    pool = open_pool(1)
    try:
        pool.give(bench(Sleeping()))
        assert result_of(pool, Refit("it", {}), patience=0.5) is None
        pool.give(bench(DecisionTreeClassifier()))
        assert result_of(pool, Refit("it", {})).predict is not None
    finally:
        pool.close()


def test_a_worker_that_dies_is_replaced():
    pool = open_pool(1)
    try:
        pool.give(bench(Crashing()))
        found = result_of(pool, Refit("it", {}))
        assert isinstance(found, Failed)
        assert "ended" in found.error
        assert isinstance(result_of(pool, Refit("it", {})), Failed)
    finally:
        pool.close()


def test_what_is_compiled_is_told(pool):
    """Other families never wait; ours are ready some time, and at once where nothing is compiled beside."""
    pool.give(bench(DecisionTreeClassifier()))
    assert pool.compiled("decision_tree")
    end = time.monotonic() + 240.0  # a machine that has compiled nothing yet, and runs other tests beside
    while not all(map(pool.compiled, COMPILED)):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_compiler_that_died_keeps_nobody_waiting():
    pool = open_pool(1)
    try:
        hear, bell = os.pipe()
        os.set_blocking(hear, False)
        pool._hear.close()
        pool._hear = os.fdopen(hear, "rb", buffering=0)
        assert not pool.compiled("naive_bayes")
        os.write(bell, b"naive_bayes\n")
        assert pool.compiled("naive_bayes")
        assert not pool.compiled("knn")
        os.close(bell)
        assert pool.compiled("knn")
    finally:
        pool.close()
