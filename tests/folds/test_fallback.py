"""Strict mode raises what a refit would hide, and a fallback is reported once for each reason."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from sklearn.base import clone, is_regressor
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import foldwise
from foldwise import Balanced, CostSensitive, Ensemble, KNNClassifier, NaiveBayes
from foldwise.adapters import linear_session, sklearn_naive_bayes, sklearn_neighbors
from foldwise.adapters import sklearn_pipelines as pipelines
from foldwise.adapters.boosters import TruncatedModel
from foldwise.adapters.linear_subsets import LinearSubsets
from foldwise.adapters.sklearn_bayes_models import GaussianFormulas
from foldwise.adapters.sklearn_discriminants import QuadraticSession
from foldwise.adapters.sklearn_pipeline_subsets import PipelineSubsets
from foldwise.adapters.sklearn_staged import StagedHistogramScores
from foldwise.bayes.leave_one_out.scores import LeaveOneOutFacts
from foldwise.bayes.session import NaiveBayesSession
from foldwise.decisions import cost_sensitive_session
from foldwise.decisions.balanced_session import BalancedSession
from foldwise.ensembles import session as ensembles
from foldwise.errors import InputError
from foldwise.folds import Failure, Need, open_session, open_subsets
from foldwise.folds import fallback as module
from foldwise.folds.fallback import FallbackWarning, attempt, is_strict, refitted, report_fallback, strict
from foldwise.folds.leave_one_out import answer_leave_one_out
from foldwise.folds.splits import LeaveOneOutSplits
from foldwise.models import TransformedTarget, transformed_session
from foldwise.neighbors import session as neighbors


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


KNN = KNNClassifier(n_neighbors=3)


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
        (TransformedTarget(Ridge(), transform="log"), {}, (transformed_session, "check_names")),
        (KNN, {"n_neighbors": 5}, (neighbors, "check_voting")),
        (KNN, {"n_neighbors": 5}, (neighbors.KNNSession, "_measure")),
        (KNN, {"n_neighbors": 5}, (neighbors.KNNSession, "_nearest")),
        (RidgeClassifier(class_weight="balanced"), {}, (linear_session, "compute_sample_weight")),
        (RidgeClassifier(), {}, (linear_session, "validate_data")),
        (GaussianNB(), {}, (GaussianFormulas, "prepare")),
        (KNeighborsClassifier(), {}, (sklearn_neighbors, "check_array")),
        (NaiveBayes(), {}, (NaiveBayesSession, "_log_prior")),
        (CostSensitive(NaiveBayes()), {}, (cost_sensitive_session, "class_indices")),
    ],
)
def test_composed_models_raise_what_a_refit_would_hide(estimator, setting, where, rng, monkeypatch):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    monkeypatch.setattr(*where, broken)
    need = Need.VALUES if is_regressor(estimator) else Need.LABELS
    question = [setting], np.arange(40), np.arange(40, 60), need
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        list(open_session(estimator, X, y).answer(*question))
    with strict(False):
        [block] = open_session(estimator, X, y).answer(*question)
    expected = clone(estimator).set_params(**setting).fit(X[:40], y[:40]).predict(X[40:])
    found = block.answer.values if is_regressor(estimator) else block.answer.labels
    assert_allclose(block.answer.models[0].predict(X[40:]) if found is None else found[0], expected)


def test_a_mistake_in_reading_weights_is_raised(rng, monkeypatch):
    X, y, weights = rng.normal(size=(60, 3)), np.arange(60) % 2, {"sample_weight": np.ones(60)}
    monkeypatch.setattr(sklearn_naive_bayes, "as_floats", broken)
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        open_session(GaussianNB(), X, y, weights)
    with strict(False):
        assert open_session(GaussianNB(), X, y, weights).shares == "refit"


@pytest.mark.parametrize(
    ("estimator", "size", "where"),
    [
        (HistGradientBoostingClassifier(random_state=0), "max_iter", (StagedHistogramScores, "raw_at")),
        (LGBMClassifier(n_jobs=1, random_state=0, verbose=-1), "n_estimators", (TruncatedModel, "predict")),
        (QuadraticDiscriminantAnalysis(), "reg_param", (QuadraticDiscriminantAnalysis, "_decision_function")),
    ],
)
def test_a_shared_model_that_cannot_predict(estimator, size, where, rng, monkeypatch):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    session = open_session(estimator, X, y)
    settings = [{size: 2}, {size: 3}] if size != "reg_param" else [{size: 0.1}, {size: 0.2}]
    question = settings, np.arange(40), np.arange(40, 60), Need.LABELS
    monkeypatch.setattr(*where, broken)
    if where[0] is type(estimator):  # the refit cannot predict either
        assert all(block.answer.labels is None for block in session.answer(*question))
        return
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        list(session.answer(*question))
    with strict(False):
        blocks = list(session.answer(*question))
    assert [(block.answer.labels, len(block.answer.models)) for block in blocks] == [(None, 1), (None, 1)]


def test_a_longest_fit_that_fails_only_once(rng, monkeypatch):
    X, y, fit, failed = rng.normal(size=(60, 3)), np.arange(60) % 2, RandomForestClassifier.fit, []

    def fails_once(self, *args, **kwargs):
        if not failed:
            failed.append(True)
            broken()
        return fit(self, *args, **kwargs)

    session = open_session(RandomForestClassifier(4, random_state=0), X, y)
    monkeypatch.setattr(RandomForestClassifier, "fit", fails_once)
    question = [{"n_estimators": 2}, {"n_estimators": 3}], np.arange(40), np.arange(40, 60), Need.LABELS
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        list(session.answer(*question))
    failed.clear()
    with strict(False):
        blocks = list(session.answer(*question))
    assert [block.answer.labels.shape for block in blocks] == [(1, 20), (1, 20)]


def test_members_that_fail_only_together(rng, monkeypatch):
    X, y, make = rng.normal(size=(60, 3)), np.arange(60) % 2, ensembles.MembersOnSplit.__init__

    def fails_together(self, session, shared, train, test):
        if len(shared) > 1:
            broken()
        make(self, session, shared, train, test)

    monkeypatch.setattr(ensembles.MembersOnSplit, "__init__", fails_together)
    session = open_session(ENSEMBLE, X, y)
    question = [{}, {"combiner": "median"}], np.arange(40), np.arange(40, 60), Need.LABELS
    with pytest.raises(RuntimeError, match="a mistake of ours"):
        list(session.answer(*question))
    with strict(False):
        assert sum(block.stop - block.start for block in session.answer(*question)) == 2


def test_one_invalid_setting_explains_why_all_are_answered_apart(rng):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    settings = [{"priors": [0.5, 0.5]}, {"priors": [2.0, 3.0]}, {"priors": "uniform"}]
    blocks = list(open_session(NaiveBayes(), X, y).answer(settings, np.arange(40), np.arange(40, 60), Need.LABELS))
    assert [isinstance(block.answer, Failure) for block in blocks] == [False, True, False]


def test_subsets_of_columns_in_pipelines(rng, monkeypatch):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    question = [{"columns": (0, 2)}], np.arange(40), np.arange(40, 60), Need.VALUES
    pipeline = make_pipeline(StandardScaler(), Ridge())
    expected = clone(pipeline).fit(X[:40][:, [0, 2]], y[:40]).predict(X[40:][:, [0, 2]])
    failed = [([0], Failure(RuntimeError("a mistake of ours")))]
    for where, what in [
        ((PipelineSubsets, "_prepared"), broken),
        ((LinearSubsets, "_pieces"), lambda *_: iter(failed)),
    ]:
        session = open_subsets(pipeline, X, y)
        with monkeypatch.context() as patched:
            patched.setattr(*where, what)
            with pytest.raises(RuntimeError, match="a mistake of ours"):
                list(session.answer(*question))
            with strict(False):
                [block] = session.answer(*question)
        assert_allclose(block.answer.values[0], expected)


def test_a_column_at_fault_fails_only_the_subsets_that_have_it(rng):
    X = np.column_stack([np.arange(60) % 3, np.arange(60) < 40, rng.integers(0, 2, 60)]).astype(float)
    session = open_subsets(make_pipeline(OneHotEncoder(sparse_output=False), Ridge()), X, rng.normal(size=60))
    settings = [{"columns": (0, 2)}, {"columns": (1, 2)}]
    one, other = session.answer(settings, np.arange(40), np.arange(40, 60), Need.VALUES)
    assert one.answer.values.shape == (1, 20)
    assert other.answer.values is None  # an unknown category in the test rows


def test_leave_one_out_raises_what_refits_would_hide(rng, monkeypatch):
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2

    def score(*args):
        raise InputError("a mistake of ours.")

    monkeypatch.setattr(LeaveOneOutFacts, "score", score)
    session, splits = open_session(NaiveBayes(), X, y), LeaveOneOutSplits(np.arange(20))
    with pytest.raises(InputError, match="a mistake of ours"):
        list(answer_leave_one_out(session, [{}], splits, Need.LABELS))
    with strict(False):
        [found] = answer_leave_one_out(session, [{}], splits, Need.LABELS)
    assert found.n_refits == 20
    [found] = answer_leave_one_out(session, [{"priors": [2.0, 3.0]}], splits, Need.LABELS)
    assert len(found.failed) == 20  # each split fails, so nothing is hidden


ROOMS = ("folds", "adapters", "bayes", "neighbors", "decisions", "ensembles", "models")


@pytest.mark.parametrize("room", ROOMS)
def test_each_swallowed_exception_has_a_reason(room):
    """A broad `except`, and an error of shared work that is dropped, say in a comment why no fault is hidden."""
    silent = []
    for path in sorted((Path(foldwise.__file__).parent / room).rglob("*.py")):
        lines = path.read_text().splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.ExceptHandler) and (node.type is None or "Exception" in ast.unparse(node.type)):
                commented = lines[node.lineno - 1 : node.body[0].lineno]
            elif isinstance(node, ast.Assign) and drops_an_error(node):
                commented = lines[node.lineno - 2 : node.end_lineno]
            else:
                continue
            if not any("#" in line for line in commented):
                silent.append(f"{path.name}:{node.lineno}")
    assert silent == []


def drops_an_error(node):
    calls_attempt = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "attempt"
    return calls_attempt and ast.unparse(node.targets[0]).removesuffix(")").endswith(", _")


def test_a_fallback_is_reported_once(monkeypatch):
    monkeypatch.setattr(module, "_reported", set())
    with pytest.warns(FallbackWarning, match="some library: it is too new, so models are refitted"):
        report_fallback("some library", "it is too new")
    report_fallback("some library", "it is too new")  # a second warning would be an error
    with pytest.warns(FallbackWarning, match="too old"):
        report_fallback("some library", "it is too old")
