"""Contributions: sums that are exact, Shapley values by enumeration, models whose answer is known, shap's own."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from foldwise import Calibrated, CostSensitive, NaiveBayes, open_model, save_model
from foldwise.app.explaining import explain, worked_tables
from foldwise.ensembles import Ensemble
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.contributions import DEFAULT_PREDICTIONS, MIN_PROBA, log_odds_of
from foldwise.models import catalogue, outline
from foldwise.models.feature_selection import SelectInformative
from tests.models.tables import mixed
from tests.slow import slow

TABLE = mixed(90)


def fitted(name):
    return catalogue()[name].pipeline(outline(TABLE)).fit(TABLE.X, TABLE.y)


def by_enumeration(model, row, background, index):
    """The definition, coalition by coalition."""
    d = row.width

    def value(columns):
        put_in = background.with_columns(pl.lit(row[name][0], dtype=row[name].dtype).alias(name) for name in columns)
        return log_odds_of(model.predict_proba(put_in))[:, index].mean()

    values = np.zeros(d)
    names = row.columns
    for j, name in enumerate(names):
        others = [other for other in names if other != name]
        for size in range(d):
            share = factorial(size) * factorial(d - size - 1) / factorial(d)
            for coalition in combinations(others, size):
                values[j] += share * (value([*coalition, name]) - value(coalition))
    return values


@pytest.mark.parametrize("name", ["naive_bayes", pytest.param("random_forest", marks=pytest.mark.slow)])
def test_shapley_values_by_enumeration(name):
    X = TABLE.X.select("size", "color", "member", "rings", "day")
    small = type(TABLE)(X, TABLE.y, TABLE.schema, "t", "y")
    about = outline(mixed(90))
    about = type(about)({k: v for k, v in about.roles.items() if k in X.columns}, {}, 90, 2, about.n_levels)
    model = catalogue()[name].pipeline(about).fit(X, small.y)
    background = X[:20]
    for row in (3, 40):
        [found] = explain(model, X[row : row + 1], background, about="up", n_samples=6000, seed=1)
        exact = by_enumeration(model, X[row : row + 1], background, 1)
        assert found.n_orders == 6000
        assert (np.abs(found.values - exact) <= 5 * found.errors + 1e-9).all()
        np.testing.assert_allclose(found.values, exact, atol=0.05)


@pytest.mark.parametrize("name", ["naive_bayes", "knn", "hist_gradient_boosting", "decision_tree"])
@pytest.mark.parametrize("n_samples", [1, *slow(100)])
def test_contributions_sum_to_the_prediction(name, n_samples):
    model = fitted(name)
    for found in explain(model, TABLE.X[:3], TABLE.X[20:50], n_samples=n_samples):
        assert found.values.sum() == pytest.approx(found.total - found.base, abs=1e-9)
        index = found.classes.index(found.about)
        assert found.proba[index] == found.proba.max()
        base = log_odds_of(model.predict_proba(TABLE.X[20:50]))[:, index].mean()
        assert found.base == pytest.approx(base, abs=1e-12)
        assert (found.errors >= 0).all()


def test_a_linear_model_adds_up_its_columns(rng):
    X = rng.normal(size=(400, 4))
    model = LogisticRegression().fit(X, X @ [1.0, -2.0, 0.5, 0.0] + rng.logistic(size=400) > 0)
    [found] = explain(model, X[:1], X[100:200], about=True, n_samples=400)
    expected = model.coef_[0] * (X[0] - X[100:200].mean(axis=0))
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    np.testing.assert_allclose(found.errors, 0, atol=1e-7)


def test_several_classes_are_each_against_the_rest(rng):
    X = rng.normal(size=(300, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X + rng.normal(size=X.shape), axis=1)]
    model = LogisticRegression().fit(X, y)
    for index, name in enumerate("abc"):
        [found] = explain(model, X[:1], X[:50], about=name, n_samples=100)
        p = model.predict_proba(X[:1])[0, index]
        assert found.total == pytest.approx(np.log(p / (1 - p)))
        assert found.values.sum() == pytest.approx(found.total - found.base, abs=1e-9)
        assert abs(found.values).argmax() == index


@pytest.mark.slow
def test_as_shap_says(rng):
    shap = pytest.importorskip("shap")
    X = rng.normal(size=(300, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=300) > 0
    model = catalogue()["random_forest"].make(outline(TABLE), 0).fit(X, y)
    background = X[:25]
    peer = shap.ExactExplainer(lambda rows: log_odds_of(model.predict_proba(rows))[:, 1], background)
    theirs = peer(X[100:102])
    ours = explain(model, X[100:102], background, about=True, n_samples=4000)
    for mine, other, base in zip(ours, theirs.values, theirs.base_values, strict=True):
        assert mine.base == pytest.approx(float(base), abs=1e-9)
        assert (np.abs(mine.values - other) <= 5 * mine.errors + 1e-9).all()
        np.testing.assert_allclose(mine.values, other, atol=0.05)


def test_errors_are_those_of_drawing_again():
    model = fitted("knn")
    runs = [explain(model, TABLE.X[5:6], TABLE.X[:10], n_samples=100, seed=seed)[0] for seed in range(40)]
    spread = np.std([run.values for run in runs], axis=0, ddof=1)
    said = np.sqrt(np.mean([run.errors**2 for run in runs], axis=0))
    telling = spread > max(1e-4, spread.max() / 4)
    assert telling.any()
    np.testing.assert_allclose(said[telling], spread[telling], rtol=0.5)


def test_the_same_seed_gives_the_same(rng):
    model = fitted("knn")
    first, again = (explain(model, TABLE.X[:1], TABLE.X[:30], n_samples=60, seed=3)[0] for _ in range(2))
    np.testing.assert_array_equal(first.values, again.values)


def test_certainty_is_held_within_bounds():
    odds = log_odds_of(np.array([[0.0, 1.0], [0.5, 0.5]]))
    assert odds[0, 1] == pytest.approx(np.log((1 - MIN_PROBA) / MIN_PROBA))
    assert odds[0, 0] == -odds[0, 1]
    assert odds[1].tolist() == [0, 0]


def test_wide_tables_draw_from_the_background(rng):
    X = rng.normal(size=(200, 400))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    predicted = 0
    plain = model.predict_proba

    def counting(rows):
        nonlocal predicted
        predicted += len(rows)
        return plain(rows)

    model.predict_proba = counting
    [found] = explain(model, X[:1], X)
    assert found.n_background < 200
    assert predicted < 1.2 * DEFAULT_PREDICTIONS
    assert found.values.sum() == pytest.approx(found.total - found.base, abs=1e-9)


def test_a_stored_model_takes_the_table_as_it_comes(tmp_path):
    model = fitted("naive_bayes")
    save_model(tmp_path / "m", model, TABLE.X)
    stored = open_model(tmp_path / "m")
    moved = TABLE.X[:1].select(reversed(TABLE.X.columns)).with_columns(more=pl.lit(1))
    [one] = explain(stored, moved, TABLE.X[:20].with_columns(y=pl.lit("up")), n_samples=40)
    [other] = explain(model, TABLE.X[:1], TABLE.X[:20], n_samples=40)
    np.testing.assert_allclose(one.values, other.values)
    assert one.columns == tuple(TABLE.X.columns)


def test_what_cannot_be_explained_is_refused():
    model = fitted("naive_bayes")
    with pytest.raises(InputError, match="does not know the class 'sideways'"):
        explain(model, TABLE.X[:1], TABLE.X, about="sideways")
    with pytest.raises(InputError, match="background has no column 'size'"):
        explain(model, TABLE.X[:1], TABLE.X.drop("size"))
    with pytest.raises(InputError, match="n_samples must be at least 1"):
        explain(model, TABLE.X[:1], TABLE.X, n_samples=0)


class TestTheWorkedTable:
    def test_of_a_pipeline_and_of_naive_bayes_itself(self):
        model = fitted("naive_bayes")
        [found] = worked_tables(model, TABLE.X[:1])
        assert str(found) == str(model[-1].explain(model[:-1].transform(TABLE.X[:1]))[0])
        assert found.calibrated is None
        plain = NaiveBayes().fit(TABLE.X.select("color"), TABLE.y)
        assert str(worked_tables(plain, TABLE.X.select("color")[:1])[0]).startswith("Predicted:")

    def test_inside_wrappers(self):
        inner = catalogue()["naive_bayes"].pipeline(outline(TABLE))
        costs = {"buy": {"up": -1, "down": 3}, "wait": {"up": 0, "down": 0}}
        model = CostSensitive(Calibrated(Ensemble([inner]), method="temperature", cv=3), costs).fit(TABLE.X, TABLE.y)
        [found] = worked_tables(model, TABLE.X[:1])
        assert found.uncalibrated != pytest.approx(found.proba, abs=1e-6)
        assert sum(found.uncalibrated) == pytest.approx(1)
        np.testing.assert_allclose(found.proba, model.predict_proba(TABLE.X[:1])[0])

    def test_none_of_other_models(self):
        assert worked_tables(fitted("decision_tree"), TABLE.X[:1]) is None

    def test_a_column_that_was_not_selected_is_not_called_missing(self):
        model = catalogue()["naive_bayes"].pipeline(outline(TABLE))
        names = tuple(outline(TABLE).columns("number", "category"))
        model = model.set_params(select=SelectInformative(names, share=0.35)).fit(TABLE.X, TABLE.y)
        blank = set(model.named_steps["select"].blank_)
        assert blank
        [worked] = worked_tables(model, TABLE.X[:1])
        notes = {one.column: one.note for one in worked.factors}
        assert {name for name, note in notes.items() if note == "left out by feature selection"} == blank


def test_the_path_of_a_model_is_refused_with_what_opens_it():
    table = mixed(20)
    with pytest.raises(FoldwiseTypeError, match=r"is the path 'run'. Hint: open the model file with open_model"):
        explain("run", table.X[:1], table.X)
