"""Cost matrices: decisions against a plain twin, worked numbers, the metric against scikit-learn's own searches."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import model_selection as peer
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from foldwise.errors import InputError
from foldwise.evaluation import CostMatrix, Decision
from foldwise.evaluation.metrics import CostMetric
from foldwise.folds import Answer, Need
from tests.evaluation.problems import Told, classification

ABSTAIN = {
    "spam": {"spam": 0, "ham": 100, "virus": 5},
    "ham": {"spam": 10, "ham": 0, "virus": 500},
    "abstain": {"spam": 3, "ham": 3, "virus": 3},
}


def test_the_worked_example(worked):
    example = worked["spam_costs"]
    costs = CostMatrix.from_dict({action.removeprefix("predict "): row for action, row in example["cost"].items()})
    p = example["p_spam"]
    expected = costs.expected([[p, 1 - p]])
    assert dict(zip(costs.actions, expected[0].tolist(), strict=True)) == pytest.approx(example["expected_cost"])
    decision = costs.decide([[p, 1 - p]], classes=["spam", "not spam"])
    assert decision.action.tolist() == [example["decision"]]
    assert decision.cost.tolist() == pytest.approx([6.0])
    assert decision.margin.tolist() == pytest.approx([34.0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 5))
def test_decisions_have_a_plain_twin(seed, n_actions, n_truths):
    rng = np.random.default_rng(seed)
    costs = CostMatrix(tuple(range(n_actions)), tuple("abcde"[:n_truths]), rng.integers(-3, 9, (n_actions, n_truths)))
    proba = rng.dirichlet(np.ones(n_truths), 20)
    proba[:2] = 1 / n_truths  # ties
    decision = costs.decide(proba)
    for i, row in enumerate(proba.tolist()):
        totals = [sum(p * c for p, c in zip(row, line, strict=True)) for line in costs.costs.tolist()]
        best = min(totals)
        assert decision.action[i] == totals.index(best)  # the first of equal ones
        assert decision.cost[i] == best
        others = totals[: totals.index(best)] + totals[totals.index(best) + 1 :]
        assert decision.margin[i] == (min(others) - best if others else np.inf)
        np.testing.assert_allclose(costs.expected([row])[0], totals)


def test_zero_one_takes_the_most_probable(rng):
    proba = rng.dirichlet(np.ones(4), 50)
    decision = CostMatrix.zero_one(list("abcd")).decide(proba)
    assert decision.action.tolist() == np.array(list("abcd"))[proba.argmax(axis=1)].tolist()
    np.testing.assert_allclose(decision.cost, 1 - proba.max(axis=1))


def test_an_action_that_is_no_class():
    costs = CostMatrix.from_dict(ABSTAIN)
    decision = costs.decide([[0.97, 0.01, 0.02], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    assert isinstance(decision, Decision)
    assert len(decision) == 3
    assert decision.action.tolist() == ["spam", "abstain", "ham"]
    assert decision.cost[1] == 3
    assert costs.realized(["spam", "abstain"], ["ham", "virus"]).tolist() == [100, 3]


def test_columns_follow_the_classes():
    costs = CostMatrix.from_dict(ABSTAIN)
    proba = np.array([[0.2, 0.5, 0.3]])
    turned = costs.expected(proba[:, [2, 0, 1]], classes=np.array(["virus", "spam", "ham"]))
    np.testing.assert_allclose(turned, costs.expected(proba))
    assert costs.decide([[1.0]], classes=["ham"]).action.tolist() == ["ham"]  # not every truth need have a column


def test_text_and_numbers_meet(tmp_path):
    path = tmp_path / "costs.csv"
    path.write_text("\ufeffaction,0,1\n0,0,5\n1,1,0\n\nask, 0.4 ,0.4\n", encoding="utf-8")
    costs = CostMatrix.from_csv(path)
    assert (costs.actions, costs.truths) == (("0", "1", "ask"), ("0", "1"))
    for classes in ([0, 1], [0.0, 1.0], np.array([0, 1]), ["0", "1"]):
        decision = costs.decide([[1, 0], [0, 1], [0.5, 0.5]], classes=classes)
        assert decision.action.tolist() == [*np.asarray(classes).tolist(), "ask"]
    yes = CostMatrix.from_dict({"True": {"True": 0, "False": 2}, "False": {"True": 1, "False": 0}})
    assert yes.decide([[0.9, 0.1]], classes=np.array([False, True])).action.tolist() == [False]


def test_frames_of_both_libraries():
    costs = CostMatrix.from_dict(ABSTAIN)
    assert CostMatrix.from_frame(costs.to_frame()) == costs
    assert costs.to_frame().columns == ["action", "spam", "ham", "virus"]
    assert CostMatrix.from_frame(costs.to_frame().to_pandas()) == costs
    assert CostMatrix.from_frame(costs.to_frame().to_pandas().set_index("action")) == costs
    numbers = pd.DataFrame([[0, 5], [1, 0]])  # rows 0, 1 and columns 0, 1
    assert CostMatrix.from_frame(numbers) == CostMatrix((0, 1), (0, 1), [[0, 5], [1, 0]])
    mixed = CostMatrix((0, "ask"), (0, 1), [[0, 5], [1, 1]])
    assert mixed.to_frame()["action"].to_list() == ["0", "ask"]


def test_a_matrix_is_a_value():
    costs = CostMatrix.from_dict(ABSTAIN)
    for other in (copy.deepcopy(costs), pickle.loads(pickle.dumps(costs))):
        assert other == costs
        assert hash(other) == hash(costs)
        with pytest.raises(ValueError, match="read-only"):
            other.costs[0, 0] = 1
    assert costs != CostMatrix.zero_one(["spam", "ham"])
    assert costs != "costs"
    source = np.zeros((1, 1))
    kept = CostMatrix(("a",), ("b",), source)
    source[0, 0] = 7
    assert kept.costs.tolist() == [[0.0]]


def test_readable_text():
    assert str(CostMatrix.from_dict(ABSTAIN)).splitlines() == [
        "action \\ truth  spam  ham  virus",
        "spam               0  100      5",
        "ham               10    0    500",
        "abstain            3    3      3",
    ]
    wide = str(CostMatrix.zero_one([f"a class with a long name {i}" for i in range(12)]))
    assert max(map(len, wide.splitlines())) <= 80


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CostMatrix.from_dict({"a": {"x": 1, "y": 2}, "b": {"x": 1}}), "'b' has no cost for the true"),
        (lambda: CostMatrix.from_dict({"a": {"x": float("nan")}}), "'a' for the true class 'x' is nan"),
        (lambda: CostMatrix.from_dict({"a": {"x": float("inf")}}), "is inf.*very large"),
        (lambda: CostMatrix.from_dict({}), "at least one action"),
        (lambda: CostMatrix.from_dict({"a": {}}), "at least one true class"),
        (lambda: CostMatrix.from_dict({"a": {"x": "dear"}}), "must be numbers"),
        (lambda: CostMatrix(("a", "a"), ("x",), [[1], [2]]), "action 'a' occurs twice"),
        (lambda: CostMatrix((1, 1.0), ("x",), [[1], [2]]), "action 1.0 occurs twice"),
        (lambda: CostMatrix(("a", None), ("x",), [[1], [2]]), "needs a name"),
        (lambda: CostMatrix(("a",), ("x", "y"), [[1]]), r"shape \(1, 2\).*\(1, 1\)"),
        (lambda: CostMatrix.from_frame(pl.DataFrame()), "no columns"),
        (lambda: CostMatrix.from_frame(pl.DataFrame({"action": ["a"]})), "at least one true class"),
        (lambda: CostMatrix.from_frame(pl.DataFrame({"action": ["a"], "x": [None]})), "is nan|must be numbers"),
    ],
)
def test_bad_matrices(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no costs"),
        ("a,x\n", "contains no costs"),
        ("a,x,y\np,1\n", "'p' has 1 cost for 2 true classes"),
        ("a,x\np,dear\n", "'p' for the true class 'x' is 'dear'"),
        ("a,x\np,nan\n", "is nan"),
        ("a,x,x\np,1,2\n", "true class 'x' occurs twice"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        CostMatrix.from_csv(path)


@pytest.mark.parametrize(
    ("proba", "classes", "message"),
    [
        ([0.5, 0.5], None, r"got \(2,\)"),
        ([[0.5, 0.25, 0.25]], None, r"\(n_rows, 2\).*\(1, 3\)"),
        ([[0.5, 0.4]], None, "row 0 sums to 0.9"),
        ([[0.5, 0.5], [1.5, -0.5]], None, "row 1 contains -0.5"),
        ([[np.nan, 1]], None, "row 0 contains nan"),
        ([["a", "b"]], None, "must be numbers"),
        ([[0.5, 0.5]], ["spam", "eggs"], "class 'eggs' is not in the cost matrix, which has 'spam', 'ham'"),
    ],
)
def test_bad_probabilities(proba, classes, message):
    costs = CostMatrix.zero_one(["spam", "ham"])
    for ask in (costs.decide, costs.expected):
        with pytest.raises(InputError, match=message):
            ask(proba, classes)


def test_no_rows():
    decision = CostMatrix.zero_one(["a", "b"]).decide(np.empty((0, 2)))
    assert len(decision) == 0


def test_bad_truths():
    costs = CostMatrix.from_dict(ABSTAIN)
    with pytest.raises(InputError, match="true class 'eggs' is not in the cost matrix"):
        costs.realized(["spam"], ["eggs"])
    with pytest.raises(InputError, match="2 actions but 1 true classes"):
        costs.realized(["spam", "ham"], ["ham"])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weights", [None, "random", "some zero"])
@pytest.mark.parametrize("kind", ["int", "text", "object"])
def test_the_metric_is_the_scorer(rng, n_classes, weights, kind):
    problem = classification(rng, n_classes, kind=kind, weights=weights, train_lacks=(1,) if n_classes > 2 else ())
    classes = problem.session.target.classes.tolist()
    costs = CostMatrix((*map(str, classes), "ask"), classes, rng.integers(0, 9, (n_classes + 1, n_classes)))
    metric, scorer = CostMetric(costs), costs.scorer()
    answer = problem.answer(problem.settings)
    found = metric(problem.session, problem.settings, problem.split, answer)
    test = problem.split.test
    w = problem.session.fit_params.get("sample_weight")
    w = None if w is None else w[test]
    for setting, score in zip(problem.settings, found, strict=True):
        model = problem.session.refit(setting, problem.split.train)
        theirs = scorer(model, problem.session.X[test], problem.session.y[test], sample_weight=w)
        assert score == pytest.approx(theirs, rel=1e-12)
        decision = costs.decide(model.predict_proba(problem.session.X[test]), model.classes_)
        plain = costs.realized(decision.action, problem.session.y[test])
        assert score == pytest.approx(-np.average(plain, weights=w))
    losses = metric.losses(problem.session, problem.split, answer)
    np.testing.assert_allclose(-np.average(losses, axis=1, weights=w), found, rtol=1e-12)
    logarithms = Answer(log_proba=answer.log_probabilities())
    assert metric.need == Need.PROBA
    assert metric(problem.session, problem.settings, problem.split, logarithms).shape == (4,)


def test_in_scikit_learns_own_searches(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    X[:, 0] += y
    costs = CostMatrix.from_dict({0: {0: 0, 1: 5}, 1: {0: 1, 1: 0}})
    weights = rng.exponential(size=80)
    for params in ({}, {"sample_weight": weights}):
        search = peer.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, scoring=costs.scorer(), cv=3)
        search.fit(X, y, **params)
        several = {"cost": costs.scorer(), "right": "accuracy"}
        both = peer.GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, scoring=several, refit="cost", cv=3)
        both.fit(X, y, **params)
        np.testing.assert_allclose(both.cv_results_["mean_test_cost"], search.cv_results_["mean_test_score"])
        assert (search.cv_results_["mean_test_score"] < 0).all()
    assert costs.scorer()(search, X, y) == costs.scorer()(search.best_estimator_, X, pd.Series(y))


def test_as_scoring_of_our_search(rng):
    from foldwise import GridSearchCV, NaiveBayes

    X, y = rng.normal(size=(80, 3)), np.where(rng.random(80) < 0.5, "good", "bad")
    costs = CostMatrix(("good", "bad", "ask"), ("good", "bad"), [[0, 5], [1, 0], [1, 1]])
    grid = {"var_floor": [1e-9, 0.5]}
    ours = GridSearchCV(NaiveBayes(), grid, scoring=costs, cv=3).fit(X, y)
    theirs = peer.GridSearchCV(NaiveBayes(), grid, scoring=costs.scorer(), cv=3).fit(X, y)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-12)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y))
    named = GridSearchCV(NaiveBayes(), grid, scoring={"cost": costs, "accuracy": "accuracy"}, refit="cost", cv=3)
    assert named.fit(X, y).best_params_ == ours.best_params_


def test_models_and_matrices_that_do_not_fit(rng):
    problem = classification(rng, 3)
    X, y = problem.session.X, problem.session.y
    costs = CostMatrix.zero_one([0, 1])
    model = Told(n_classes=3).fit(X, y)
    with pytest.raises(InputError, match="class 2 is not in the cost matrix"):
        problem.ours(costs, problem.settings)
    with pytest.raises(InputError, match="class 2 is not in the cost matrix"):
        costs.scorer()(model, X, [0])
    with pytest.raises(InputError, match="needs probabilities, but LinearSVC has no predict_proba"):
        costs.scorer()(LinearSVC(), [[1.0]], [0])
    labels = Answer(np.zeros((1, len(problem.split.test)), dtype=int))
    with pytest.raises(InputError, match="cost needs probabilities, which Told does not provide"):
        CostMetric(costs)(problem.session, [{}], problem.split, labels)
