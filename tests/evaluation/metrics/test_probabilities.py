"""Log loss, Brier score and ROC AUC against scikit-learn's scorers on the refitted model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from foldwise.errors import InputError
from foldwise.folds import Answer, Need, RefitSession, Split
from tests.evaluation.problems import Deciding, LabelsOnly, Problem, Told, assert_as_scikit_learn, classification, told

NAMES = ("neg_log_loss", "neg_brier_score", "roc_auc", "roc_auc_ovr", "roc_auc_ovr_weighted")


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    kind=st.sampled_from(["int", "from one", "text", "object"]),
    weights=st.sampled_from([None, "random", "whole", "some zero", "class of none"]),
    absent=st.sampled_from(["", "", "train", "test", "both"]),
    sharp=st.sampled_from([1, 40, 2000, -1]),
    model=st.sampled_from([Told, Deciding]),
    n=st.sampled_from([0, 8, 60, 300]),
)
def test_equal_to_the_scorer(seed, n_classes, kind, weights, absent, sharp, model, n):
    rng = np.random.default_rng(seed)
    lacking = (int(rng.integers(n_classes)),) if absent else ()
    problem = classification(
        rng,
        n_classes,
        kind=kind,
        weights=weights,
        n=n,
        sharp=sharp if sharp != 2000 else 300,
        model=model,
        train_lacks=lacking if absent in ("train", "both") and n_classes > 2 else (),
        test_lacks=lacking if absent in ("test", "both") else (),
    )
    for name in NAMES:
        assert_as_scikit_learn(problem, name)


def test_the_plain_cases_do_not_go_to_the_scorer(rng, monkeypatch):
    for n_classes, names in ((2, NAMES), (4, ("neg_log_loss", "neg_brier_score", "roc_auc_ovr"))):
        problem = classification(rng, n_classes, weights="random")
        for name in names:
            metric = problem.metric(name)
            answer = problem.answer(problem.settings, metric.need)
            monkeypatch.setattr(metric, "by_scorer", None)
            assert metric(problem.session, problem.settings, problem.split, answer).shape == (4,)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logarithms_are_read_as_probabilities(rng, n_classes):
    """A session may give logarithms: the numbers are those of their exponentials."""
    problem = classification(rng, n_classes, sharp=30)
    log_proba = np.log(np.maximum(problem.answer(problem.settings).proba, 1e-300))
    log_proba -= np.log(np.exp(log_proba).sum(axis=2, keepdims=True))
    log_proba = np.minimum(log_proba, 0)
    for name in ("neg_log_loss", "neg_brier_score", "roc_auc_ovr"):
        metric = problem.metric(name)
        call = (problem.session, problem.settings, problem.split)
        one, other = metric(*call, Answer(log_proba=log_proba)), metric(*call, Answer(proba=np.exp(log_proba)))
        np.testing.assert_allclose(one, other, rtol=1e-12)
        theirs = metric.by_scorer(*call, Answer(labels=None, log_proba=log_proba))
        np.testing.assert_allclose(one, theirs, rtol=1e-12)


def test_no_probabilities_are_for_scikit_learn_to_judge(rng):
    """Above 1, below 0, not summing to 1, NaN: its errors and warnings."""
    problem = classification(rng, 3)
    call = (problem.session, problem.settings[:1], problem.split)
    good = problem.answer(problem.settings[:1]).proba
    for spoiled in (good * 1.5, good - 0.5, good * 0.5, np.where(good > 0.5, np.nan, good)):
        for name in ("neg_log_loss", "neg_brier_score", "roc_auc_ovr"):
            metric = problem.metric(name)
            ours, our_warnings = told(metric, *call, Answer(proba=spoiled))
            theirs, their_warnings = told(metric.by_scorer, *call, Answer(proba=spoiled))
            if isinstance(theirs, Exception):
                assert (type(ours), str(ours)) == (type(theirs), str(theirs))
            else:
                np.testing.assert_array_equal(ours, theirs)
                assert our_warnings == their_warnings


@pytest.mark.parametrize("weights", [None, "random"])
@pytest.mark.parametrize("name", ["neg_log_loss", "neg_brier_score"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_losses_average_to_the_score(rng, weights, name, n_classes):
    problem = classification(rng, n_classes, weights=weights, sharp=20)
    losses = problem.metric(name).losses(problem.session, problem.split, problem.answer(problem.settings))
    w = problem.session.fit_params.get("sample_weight")
    mean = np.average(losses, axis=1, weights=None if w is None else w[problem.split.test])
    np.testing.assert_allclose(-mean, problem.ours(name, problem.settings), rtol=1e-12)
    assert losses.shape == (4, len(problem.split.test))


def test_losses_of_a_class_never_learned_are_finite(rng):
    problem = classification(rng, 3, train_lacks=(1,))
    losses = problem.metric("neg_log_loss").losses(problem.session, problem.split, problem.answer(problem.settings))
    assert np.isfinite(losses).all()
    assert losses.max() == pytest.approx(-np.log(np.finfo(float).eps))


def test_two_classes_read_the_second_column_only(rng):
    """scikit-learn takes 1 - p for the first class, whose own small p is not the same number."""
    problem = classification(rng, 2, sharp=12)
    answer = problem.answer(problem.settings)
    metric = problem.metric("neg_log_loss")
    spoiled = answer.proba.copy()
    spoiled[:, :, 0] = 1 - spoiled[:, :, 1]
    call = (problem.session, problem.settings, problem.split)
    assert (metric(*call, answer) == metric(*call, Answer(proba=spoiled))).all()


def test_areas_have_a_plain_twin(rng):
    """Unweighted, the area is a sum of ranks."""
    problem = classification(rng, 2, n=200)
    truth = problem.session.y[problem.split.test] == 1
    p = problem.answer(problem.settings).proba[:, :, 1]
    ranks = rankdata(p, axis=1)
    n, m = truth.sum(), (~truth).sum()
    plain = (ranks[:, truth].sum(axis=1) - n * (n + 1) / 2) / (n * m)
    np.testing.assert_allclose(problem.ours("roc_auc", problem.settings), plain, rtol=1e-12)


def test_decision_values_come_first(rng):
    problem = classification(rng, 2, model=Deciding)
    metric = problem.metric("roc_auc")
    assert metric.need == Need.DECISION
    values = problem.answer(problem.settings, Need.DECISION).decision
    truth = problem.session.y[problem.split.test]
    found = problem.ours("roc_auc", problem.settings)
    np.testing.assert_allclose(found, [roc_auc_score(truth, row) for row in values], rtol=1e-12)
    plain = classification(rng, 2)
    assert plain.answer(plain.settings, Need.DECISION).probabilities() is not None  # of a model without them


@pytest.mark.parametrize("name", NAMES)
def test_a_model_without_probabilities(name):
    X, y = np.c_[np.arange(8.0), np.zeros(8)], np.array([0, 1] * 4)
    problem = Problem(RefitSession(LabelsOnly(), X, y), Split(np.arange(4), np.arange(4, 8)), [{}])
    with pytest.raises(InputError, match=rf"{name} needs .*probabilities, which LabelsOnly does not provide"):
        problem.ours(name, [{}])
