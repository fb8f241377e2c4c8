"""Metrics of labels against scikit-learn's scorers on the refitted model, and each fast path against a plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score

from foldwise.evaluation.metrics import SESSION_METRICS
from foldwise.evaluation.metrics.counting import count_pairs, count_right, weigh_pairs
from foldwise.folds import Need
from tests.evaluation.problems import LAYOUTS, assert_as_scikit_learn, classification, laid_out, told

NAMES = [name for name, metric in SESSION_METRICS.items() if metric.need == Need.LABELS]
WEIGHTS = (None, "random", "whole", "some zero", "class of none")


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    kind=st.sampled_from(["int", "from one", "text", "object"]),
    weights=st.sampled_from(WEIGHTS),
    absent=st.sampled_from(["", "train", "test", "both"]),
    sharp=st.sampled_from([1, 1, -1]),
    layout=st.sampled_from(LAYOUTS),
    n=st.sampled_from([0, 8, 60, 300]),
)
def test_equal_to_the_scorer(seed, n_classes, kind, weights, absent, sharp, layout, n):
    rng = np.random.default_rng(seed)
    lacking = (int(rng.integers(n_classes)),) if absent else ()
    problem = classification(
        rng,
        n_classes,
        kind=kind,
        weights=weights,
        n=n,
        sharp=sharp,
        train_lacks=lacking if absent in ("train", "both") and n_classes > 2 else (),
        test_lacks=lacking if absent in ("test", "both") else (),
    )
    for name in NAMES:
        assert_as_scikit_learn(problem, name, layout)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_many_classes(rng, weights):
    problem = classification(rng, 12, weights=weights, n=400, train_lacks=(3, 5), test_lacks=(0, 5))
    for name in NAMES:
        assert_as_scikit_learn(problem, name, "int8 rows")


def test_true_and_false(rng):
    for name in ("f1", "precision", "recall", "matthews_corrcoef"):
        assert_as_scikit_learn(classification(rng, 2, kind="bool"), name)


def test_one_label_only(rng):
    problem = classification(rng, 2, sharp=-1, test_lacks=(0,))
    for name in NAMES:
        assert_as_scikit_learn(problem, name)
    problem.split.train[:] = problem.split.train[np.argsort(problem.session.y[problem.split.train])][0]
    for name in NAMES:
        assert_as_scikit_learn(problem, name)


def test_weights_that_sum_to_nothing_are_refused_as_by_scikit_learn(rng):
    problem = classification(rng, 3)
    problem.session.fit_params["sample_weight"] = np.zeros(problem.session.n_rows)
    for name in NAMES:
        assert_as_scikit_learn(problem, name)


def test_a_class_of_no_weight_is_dropped(rng):
    problem = classification(rng, 3, weights="class of none", test_lacks=(0,))
    (ours, _), (theirs, _) = (
        told(problem.ours, "balanced_accuracy", problem.settings[:1]),
        told(problem.theirs, "balanced_accuracy", problem.settings[0]),
    )
    np.testing.assert_allclose(ours, [theirs], rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_rows", [1, 254, 255, 256, 1000])
def test_counts_have_a_plain_twin(rng, layout, n_rows):
    labels, truth = rng.integers(0, 4, (9, n_rows)), rng.integers(0, 4, n_rows)
    weights = rng.exponential(size=n_rows)
    given = laid_out(labels, layout)
    right = (labels == truth).sum(axis=1)
    pairs, sums = np.zeros((9, 4, 4), dtype=int), np.zeros((9, 4, 4))
    for s in range(9):
        for i in range(n_rows):
            pairs[s, truth[i], labels[s, i]] += 1
            sums[s, truth[i], labels[s, i]] += weights[i]
    assert count_right(given, truth, 4).tolist() == right.tolist()
    assert count_pairs(given, truth, 4).tolist() == pairs.tolist()
    np.testing.assert_allclose(weigh_pairs(given, truth, 4, weights), sums, rtol=1e-12)


def test_truths_beyond_the_labels_type():
    labels, truth = np.zeros((2, 3), dtype=np.int8), np.array([0, 256, 1])
    assert count_right(labels, truth, 257).tolist() == [1, 1]


def test_balanced_accuracy_of_the_iris_matrix(worked):
    matrix = np.array(worked["iris_confusion"]["matrix"])
    truth, label = (np.repeat(axis.ravel(), matrix.ravel()) for axis in np.indices(matrix.shape))
    assert count_right(label[None], truth, 3)[0] / len(truth) == worked["iris_confusion"]["accuracy"]
    counts = count_pairs(label[None], truth, 3)
    assert counts[0].tolist() == matrix.tolist()
    shares = np.diagonal(counts[0]) / counts[0].sum(axis=1)
    assert shares.mean() == pytest.approx(balanced_accuracy_score(truth, label), rel=1e-12)


@pytest.mark.parametrize("weights", [None, "random"])
def test_losses_average_to_the_score(rng, weights):
    problem = classification(rng, 3, weights=weights)
    answer = problem.answer(problem.settings, layout="rows")
    losses = problem.metric("accuracy").losses(problem.session, problem.split, answer)
    w = problem.session.fit_params.get("sample_weight")
    mean = np.average(losses, axis=1, weights=None if w is None else w[problem.split.test])
    np.testing.assert_allclose(1 - mean, problem.ours("accuracy", problem.settings), rtol=1e-12)
    assert set(np.unique(losses)) == {0.0, 1.0}
