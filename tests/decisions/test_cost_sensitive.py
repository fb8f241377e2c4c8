"""`CostSensitive`: the cheapest action, whatever names it has; costs by row; clear errors; the fold law."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from foldwise import CostMatrix, CostSensitive, GridSearchCV, KNNClassifier, NaiveBayes
from foldwise.decisions import realized_cost
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, InputError
from foldwise.folds import open_session
from foldwise.testing import check_foldable
from tests.conftest import mixed_columns
from tests.slow import slow


@pytest.mark.filterwarnings("ignore::foldwise.errors.FoldwiseWarning")  # numbers as objects, weights below 1
@parametrize_with_checks([CostSensitive(NaiveBayes()), CostSensitive(LogisticRegression())])
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_the_spam_example(worked):
    example = worked["spam_costs"]
    y = np.array(["spam"] * 6 + ["not spam"] * 4)  # six of ten: p = 0.6
    X = np.zeros((10, 1))
    model = CostSensitive(DummyClassifier(strategy="prior"), example["cost"]).fit(X, y)
    decision = model.decide(X[:1])
    assert model.predict_proba(X[:1])[0, list(model.classes_).index("spam")] == example["p_spam"]
    assert decision.action[0] == "predict " + example["decision"]
    assert decision.cost[0] == pytest.approx(example["expected_cost"]["not spam"], abs=1e-12)
    other = example["expected_cost"]["spam"] - example["expected_cost"]["not spam"]
    assert decision.margin[0] == pytest.approx(other, abs=1e-12)
    assert model.cost(X, y) == pytest.approx(6.0)  # 6 of 10 rows pay 10


def plain_choice(proba, costs):
    """The twin: row by row."""
    return [int(np.argmin([sum(p * c for p, c in zip(row, line, strict=True)) for line in costs])) for row in proba]


@pytest.mark.parametrize("seed", range(5))
def test_the_cheapest_action(seed):
    rng = np.random.default_rng(seed)
    X, y = load_iris(return_X_y=True)
    costs = rng.integers(-3, 10, (3, 3)).astype(float)  # gains too
    model = CostSensitive(NaiveBayes(), costs).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain_choice(model.predict_proba(X), costs))
    assert model.predict(X).dtype == y.dtype
    assert model.cost(X, y) == pytest.approx(costs[model.predict(X), y].mean())
    named = {a: {t: costs[a, t] for t in (2, 0, 1)} for a in range(3)}
    np.testing.assert_array_equal(CostSensitive(NaiveBayes(), named).fit(X, y).predict(X), model.predict(X))
    matrix = CostMatrix.from_dict(named)
    np.testing.assert_array_equal(CostSensitive(NaiveBayes(), matrix).fit(X, y).predict(X), model.predict(X))
    frame = pd.DataFrame(costs)
    np.testing.assert_array_equal(CostSensitive(NaiveBayes(), frame).fit(X, y).predict(X), model.predict(X))
    decision, theirs = model.decide(X), matrix.decide(model.predict_proba(X), classes=model.classes_)
    np.testing.assert_allclose(decision.cost, theirs.cost, atol=1e-12)
    np.testing.assert_allclose(decision.margin, theirs.margin, atol=1e-12)


def test_without_costs_it_is_the_likeliest_class():
    X, y = load_iris(return_X_y=True)
    model = CostSensitive(NaiveBayes()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), NaiveBayes().fit(X, y).predict(X))
    np.testing.assert_array_equal(model.actions_, model.classes_)
    np.testing.assert_array_equal(model.predict_log_proba(X), NaiveBayes().fit(X, y).predict_log_proba(X))


ABSTAIN = {**{a: {t: float(a != t) for t in range(3)} for a in range(3)}, "abstain": dict.fromkeys(range(3), 0.1)}


def test_abstaining_where_it_is_cheaper_than_a_doubt():
    X, y = load_iris(return_X_y=True)
    model = CostSensitive(NaiveBayes(), ABSTAIN).fit(X, y)
    assert model.actions_.tolist() == [0, 1, 2, "abstain"]
    assert model.classes_.tolist() == [0, 1, 2]
    sure = model.predict_proba(X).max(axis=1)
    found = model.predict(X)
    assert all((action == "abstain") == (p < 0.9) for action, p in zip(found, sure, strict=True) if abs(p - 0.9) > 1e-9)
    assert 0 < sum(action == "abstain" for action in found) < len(y)
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == found.tolist()


def test_costs_by_row(rng):
    n = 200
    X = pl.DataFrame({"amount": rng.uniform(1, 500, n), "new": rng.choice(["yes", "no"], n)})
    y = np.where(rng.random(n) < np.where(X["new"] == "yes", 0.4, 0.05), "fraud", "fine")
    costs = {"pay": {"fraud": "amount", "fine": 0}, "stop": {"fraud": lambda rows: np.full(len(rows), 2.0), "fine": 5}}
    model = CostSensitive(NaiveBayes(columns=["new"]), costs).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    pay, stop = p * X["amount"].to_numpy(), 2 * p + 5 * (1 - p)
    np.testing.assert_array_equal(model.predict(X), np.where(pay <= stop, "pay", "stop"))
    np.testing.assert_allclose(model.decide(X).cost, np.minimum(pay, stop))
    paid = np.where(pay <= stop, np.where(y == "fraud", X["amount"], 0), np.where(y == "fraud", 2, 5))
    assert model.cost(X, y) == pytest.approx(paid.mean())
    assert realized_cost(model, X, y) == pytest.approx(-paid.mean())
    given = np.zeros((n, 2, 2))  # actions pay, stop; classes fine, fraud
    given[:, 0, 1], given[:, 1, 1], given[:, 1, 0] = X["amount"], 2, 5
    plain = CostSensitive(
        NaiveBayes(columns=["new"]), {"pay": {"fraud": 1, "fine": 0}, "stop": {"fraud": 0, "fine": 1}}
    )
    plain.fit(X, y)
    np.testing.assert_array_equal(plain.predict(X, row_costs=given), model.predict(X))
    assert plain.cost(X, y, row_costs=given) == pytest.approx(paid.mean())
    splits = list(StratifiedKFold(3).split(X, y))
    check_foldable(model, X, y, [{}, {"estimator__alpha": 3.0}], splits)
    scores = cross_val_score(model, X, y, scoring=realized_cost, cv=splits)
    search = GridSearchCV(model, {"estimator__alpha": [1.0]}, scoring=realized_cost, cv=splits).fit(X, y)
    np.testing.assert_allclose([search.cv_results_[f"split{i}_test_score"][0] for i in range(3)], scores)


def random_costs(rng, classes):
    return CostMatrix(
        tuple(classes), tuple(classes), rng.uniform(0, 10, (len(classes),) * 2) * (1 - np.eye(len(classes)))
    )


@pytest.mark.parametrize("weighted", [True, *slow(False)])
@pytest.mark.parametrize(
    "inner",
    [NaiveBayes(), KNNClassifier(), LogisticRegression(), make_pipeline(StandardScaler(), NaiveBayes())],
    ids=lambda one: type(one).__name__,
)
def test_the_fold_law(inner, weighted, rng):
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]
    params = {"sample_weight": rng.integers(1, 4, len(y)).astype(float)} if weighted else None
    name = {"NaiveBayes": "var_floor", "KNNClassifier": "n_neighbors", "LogisticRegression": "C"}.get(
        type(inner).__name__
    )
    settings = [{"costs": random_costs(rng, "abc")} for _ in range(3)] + [{"costs": None}, {}, {"costs": ABSTAIN}]
    if name:
        settings += [{f"estimator__{name}": value, "costs": random_costs(rng, "abc")} for value in (1, 2)]
    settings += [{"estimator": NaiveBayes(alpha=2), "costs": None}, {"unknown": 1}, {"estimator__unknown": 1}]
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    splits.append((np.flatnonzero(y != "c")[::2], np.arange(1, 150, 2)))  # a class is lost
    check_foldable(CostSensitive(inner), X, y, settings, splits, params)


def test_the_fold_law_on_a_mixed_table(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 150)), rng.choice(["x", "y", "z"], 150)
    settings = [{"costs": random_costs(rng, "xyz"), "estimator__alpha": a} for a in (0.5, 1.0, 2.0)]
    check_foldable(CostSensitive(NaiveBayes()), X, y, settings, list(StratifiedKFold(4).split(X, y)))


def test_many_costs_share_one_set_of_answers(rng):
    X, y = load_iris(return_X_y=True)
    asked = []

    class Counting(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            asked.append(len(X))
            return super().fit(X, y, sample_weight)

    grid = {"costs": [random_costs(rng, range(3)) for _ in range(20)]}
    search = GridSearchCV(
        CostSensitive(Counting(max_iter=1000, random_state=0)), grid, cv=5, refit=False, audit=False, scoring="accuracy"
    ).fit(X, y)
    assert len(asked) == 5
    assert search.session_ == "answers of the wrapped estimator"
    assert open_session(CostSensitive(NaiveBayes()), X, y).shares == "summaries"


@pytest.mark.parametrize(
    ("inner", "name"),
    [
        pytest.param(NaiveBayes(), "var_floor", id="threads"),
        pytest.param(LogisticRegression(), "C", id="processes", marks=pytest.mark.slow),
    ],
)
def test_searches_by_cost_at_any_number_of_workers(inner, name, rng):
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    costs = random_costs(rng, range(3))
    grid = {f"estimator__{name}": [1e-9, 0.1, 1.0], "costs": [None, costs]}
    one, two = (
        GridSearchCV(
            CostSensitive(inner),
            grid,
            cv=4,
            n_jobs=n,
            scoring={"cost": realized_cost, "acc": "accuracy"},
            refit="cost",
        ).fit(X, y)
        for n in (1, 2)
    )
    for name in ("mean_test_cost", "mean_test_acc"):
        np.testing.assert_allclose(one.cv_results_[name], two.cv_results_[name], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("costs", "says"),
    [
        ({0: {0: 0, 1: 1}, 1: {0: 1, 1: 0}}, "the class 2 is not in the cost matrix"),
        ({0: {0: 0, 1: 1, 2: 1}, 1: {0: 1, 1: 0}}, "action 1 has no cost for the true class 2"),
        (np.ones((2, 3)), r"shape is \(2, 3\)"),
        (np.array([[0, 1, np.inf]] * 3), "is inf"),
        (np.array([[0, 1, np.nan]] * 3), "is nan"),
        ("dear", "costs must be"),
        ({"a": 3}, "costs must be a mapping"),
        ({0: {0: "price", 1: 1, 2: 1}}, "X has no column names"),
        ({0: {0: lambda X: [np.inf] * len(X), 1: 1, 2: 1}}, "row 0 contains inf"),
        ({0: {0: lambda X: [1.0], 1: 1, 2: 1}}, "must have the shape"),
    ],
)  # fmt: skip
def test_costs_that_cannot_be(costs, says):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=says):
        CostSensitive(NaiveBayes(), costs).fit(X, y).predict(X)


def test_other_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match="no predict_proba"):
        CostSensitive(LinearSVC()).fit(X, y)
    with pytest.raises(InputError, match="is a regressor"):
        CostSensitive(LinearRegression()).fit(X, y)
    with pytest.raises(FoldwiseTypeError, match="must be a classifier"):
        CostSensitive(NaiveBayes).fit(X, y)
    with pytest.raises(InputError, match="does not accept it"):
        CostSensitive(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(150))
    model = CostSensitive(NaiveBayes()).fit(X, y)
    with pytest.raises(InputError, match=r"\(150, 3, 3\)"):
        model.predict(X, row_costs=np.ones((150, 2, 3)))
    with pytest.raises(InputError, match="row 0 contains"):
        model.predict(X, row_costs=np.full((150, 3, 3), np.inf))
    with pytest.raises(InputError, match="is not in the cost matrix"):
        model.cost(X, np.full(150, 7))
    with pytest.raises(InputError, match="150 rows but y has 3 labels"):
        model.cost(X, y[:3])
    extra = {a: {0: 1, 1: 0, 2: 1, "maybe": 5} for a in (0, 1)}
    with pytest.warns(FoldwiseWarning, match="'maybe', which is missing from the training data"):
        CostSensitive(NaiveBayes(), extra).fit(X, y)
    frame = pd.DataFrame(X).rename(columns=str)
    with pytest.raises(InputError, match="which X does not have"):
        CostSensitive(NaiveBayes(), {0: {0: "price", 1: 1, 2: 1}}).fit(frame, y).predict(frame)
    with pytest.raises(InputError, match="has no method cost"):
        realized_cost(NaiveBayes().fit(X, y), X, y)
