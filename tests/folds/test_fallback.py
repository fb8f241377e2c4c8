"""Strict mode raises what a refit would hide, and a fallback is reported once for each reason."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import Balanced, Ensemble, NaiveBayes
from foldwise.adapters import sklearn_pipelines as pipelines
from foldwise.adapters.sklearn_discriminants import QuadraticSession
from foldwise.decisions.balanced_session import BalancedSession
from foldwise.ensembles import session as ensembles
from foldwise.folds import Failure, Need, open_session
from foldwise.folds import fallback as module
from foldwise.folds.fallback import FallbackWarning, attempt, is_strict, refitted, report_fallback, strict


def test_strict_mode_is_on_in_tests_and_can_be_switched():
    assert is_strict()
    with strict(False):
        assert not is_strict()
        with strict(), ThreadPoolExecutor(1) as pool:
            assert pool.submit(is_strict).result()
        assert not is_strict()
    assert is_strict()


@pytest.mark.parametrize(("value", "on"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_the_environment_decides(monkeypatch, value, on):
    monkeypatch.delenv(module.VARIABLE)
    if value is not None:
        monkeypatch.setenv(module.VARIABLE, value)
    assert is_strict() is on
    with strict(not on):
        assert is_strict() is not on
    assert is_strict() is on


def test_what_a_refit_would_hide_is_raised():
    value, error = attempt(lambda: 1 / 0)
    assert value is None
    with pytest.raises(ZeroDivisionError):
        refitted("a model", error)
    with strict(False):
        assert refitted("a model", error) == "a model"
    failed = Failure(ValueError("the refit fails too"))
    assert refitted(failed, error) is failed
    assert refitted("a model", None) == "a model"
    assert attempt(lambda: 3) == (3, None)


def test_a_mistake_in_shared_work_is_raised_by_the_session(rng, monkeypatch):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    monkeypatch.setattr(QuadraticSession, "finish", lambda self, parts, values: parts.no_such_thing)
    session = open_session(QuadraticDiscriminantAnalysis(), X, y)
    question = [{"reg_param": 0.1}], np.arange(40), np.arange(40, 60), Need.LABELS
    with pytest.raises(AttributeError, match="no_such_thing"):
        list(session.answer(*question))
    with strict(False):
        [block] = session.answer(*question)
    expected = QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X[:40], y[:40]).predict(X[40:])
    assert (block.answer.labels[0] == expected).all()


def broken(*args, **kwargs):
    raise RuntimeError("a mistake of ours")


ENSEMBLE = Ensemble({"a": NaiveBayes(), "b": NaiveBayes(var_floor=0.1)})
PIPELINE = make_pipeline(StandardScaler(), GaussianNB())


@pytest.mark.parametrize(
    ("estimator", "setting", "where"),
    [
        (ENSEMBLE, {}, (ensembles, "draw_specs")),
        (ENSEMBLE, {}, (ensembles, "EnsembleVariants")),
        (ENSEMBLE, {}, (ensembles.MembersOnSplit, "answer_batch")),
        (ENSEMBLE, {}, (ensembles, "stack_answers")),
        (ENSEMBLE, {"combiner": "median"}, (ensembles.MembersOnSplit, "answer")),
        (Balanced(NaiveBayes(), "weights"), {}, (BalancedSession, "_balanced")),
        (PIPELINE, {"standardscaler__with_mean": False}, (pipelines, "configured")),
        (PIPELINE, {}, (pipelines.PipelineSession, "prepare")),
        (PIPELINE, {}, (pipelines.PipelineSession, "open_last")),
    ],
)
def test_composed_models_raise_what_a_refit_would_hide(estimator, setting, where, rng, monkeypatch):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    monkeypatch.setattr(*where, broken)
    question = [setting], np.arange(40), np.arange(40, 60), Need.LABELS
    session = open_session(estimator, X, y)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        list(session.answer(*question))
    with strict(False):
        [block] = session.answer(*question)
    expected = clone(estimator).set_params(**setting).fit(X[:40], y[:40]).predict(X[40:])
    assert (block.answer.labels[0] == expected).all()


def test_a_fallback_is_reported_once(monkeypatch):
    monkeypatch.setattr(module, "_reported", set())
    with pytest.warns(FallbackWarning, match="some library: it is too new, so models are refitted"):
        report_fallback("some library", "it is too new")
    report_fallback("some library", "it is too new")  # a second warning would be an error
    with pytest.warns(FallbackWarning, match="too old"):
        report_fallback("some library", "it is too old")
