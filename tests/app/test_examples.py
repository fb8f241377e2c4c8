"""Worked examples are explained by the model that predicted them, which has not seen them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from foldwise.app.config import FitConfig
from foldwise.app.examples import NO_TIME, example_facts
from foldwise.app.final_model import fit_members, select_members
from foldwise.app.fold_model import explained_fold, fold_jobs, fold_model
from foldwise.app.result import FitResult
from foldwise.app.run import metric_of
from foldwise.app.search import Search
from foldwise.app.setup import RunSetup
from foldwise.app.task import make_task
from foldwise.app.timing import Clock
from foldwise.evaluation.contributions import log_odds_of
from tests.app.fakes import FakeExecutor, FakeTime

MODELS = ("logistic_regression", "linear_svm", "naive_bayes")  # one of them gives decision values


def noisy(n_rows=160):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n_rows) > 0).astype(int)
    return pl.DataFrame(X, schema=list("abcd")).with_columns(y=pl.Series(["no", "yes"]).gather(y))


@pytest.fixture(scope="module")
def result():
    """A run with real models in fake seconds."""
    return finished(noisy(), MODELS, 30.0)


def finished(table, models, budget):
    time = FakeTime()
    executor, clock = FakeExecutor(time), Clock(budget, 0.0, time, time.sleep)
    task = make_task(table, "y")
    config = FitConfig(target="y", budget=budget, models=models, n_jobs=1)
    setup = RunSetup.make(config, task, metric_of(None, task), 1)
    executor.give(setup.worker_data)
    search = Search(setup, executor, clock)
    search.run(lambda: None)
    given = (setup, search.state, search.predictions)
    selection = select_members(*given, clock)
    clock.budget = 1e6  # time enough for all final jobs
    final = fit_members(
        replace(setup, time=replace(setup.time, budget=1e6)), *given[1:], selection, executor, clock, int
    )
    return FitResult(*given, final, False, "foldwise fit", "foldwise.fit()")


def test_the_model_of_the_fold_predicts_what_it_predicted(result):
    selection, found = result.final.selection, result.final.fold_model
    assert found is not None
    honest, tested = selection.honest, selection.tested
    here = tested.fold[honest.index] == found.fold
    X = result.setup.X[tested.rows[honest.index[here]].tolist()]
    np.testing.assert_allclose(found.model.predict_proba(X), honest.predicted[here], atol=1e-5)


def test_contributions_sum_to_the_log_odds_of_the_probability_shown(result):
    examples = example_facts(result, seconds=3.0)
    assert {one["right"] for one in examples} == {True, False}
    train = set(result.setup.splits[explained_fold(result.final.selection)].train.tolist())
    for one in examples:
        proba = np.array([list(one["proba"].values())])
        at = list(one["proba"]).index(one["predicted"])
        assert one["base"] + sum(cell["contribution"] for cell in one["cells"]) == pytest.approx(one["total"])
        assert one["total"] == pytest.approx(log_odds_of(proba)[0, at])
        assert one["total"] > 0  # of two classes the predicted one is more probable than not
        assert one["row"] not in train
        assert one["right"] == (one["truth"] == one["predicted"])


def test_without_time_there_are_examples_without_contributions(result):
    for changed, seconds in ((result, 0.0), (replace(result, final=replace(result.final, fold_model=None)), 3.0)):
        examples = example_facts(changed, seconds=seconds)
        assert examples
        assert all(one["unexplained"] == NO_TIME and "cells" not in one for one in examples)


def test_a_model_that_predicts_otherwise_when_fitted_again_explains_nothing(result):
    found = result.final.fold_model
    members = found.model.members

    class Other:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.tile([0.5, 0.5], (len(X), 1))

        decision_function = None

    model = replace_params(found.model, members=[Other()] * len(members), maps=[None] * len(members))
    changed = replace(result, final=replace(result.final, fold_model=replace(found, model=model)))
    assert all("could not be reproduced exactly" in one["unexplained"] for one in example_facts(changed, seconds=3.0))


def replace_params(model, **params):
    return type(model)(**{**model.get_params(deep=False), **params})


def test_members_of_another_fold_are_not_used(result):
    selection = result.final.selection
    jobs = fold_jobs(result.setup, selection)
    elsewhere = {(fold + 1, batch, setting): "fitted" for fold, batch, setting in jobs}
    assert fold_model(selection, result.predictions, elsewhere) is None
    config = replace(result.setup.config, rows=False)
    assert fold_jobs(replace(result.setup, config=config), selection) == {}
