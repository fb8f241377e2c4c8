"""Every model for a quantity: on mixed and nasty tables, over its whole space, by the fold law, and by its name."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_regression
from sklearn.model_selection import ParameterSampler
from sklearn.preprocessing import TargetEncoder

from foldwise.errors import InputError
from foldwise.folds import open_session
from foldwise.models import catalogue, models_for, outline, spec_of
from foldwise.models.target_encoding import MeanEncoder
from foldwise.models.wide_tables import linear_f_statistics
from foldwise.testing import check_foldable
from tests.models.tables import mixed, nasty, table_of

ALL = [name for name, spec in catalogue().items() if "regression" in spec.tasks]
SLOW = ("catboost", "extra_trees", "gradient_boosting", "hist_gradient_boosting", "mlp", "random_forest", "xgboost")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ALL]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def quantity(n=90, gaps=0.1):
    """The mixed table with a quantity that depends on its columns."""
    table = mixed(n, gaps=gaps)
    size = np.array([5.0 if one is None else one for one in table.X["size"].to_list()])
    red = table.X["color"].fill_null("").to_numpy() == "red"
    return table_of(table.X, 30 + 10 * size + 20 * red + np.random.default_rng(1).normal(0, 3, n))


def small(name, about, **params):
    """The suited declaration, and its pipeline with few stages."""
    spec = catalogue()[name].suited("regression")
    if not spec.available:
        pytest.skip(f"{spec.module} is not installed")
    model = spec.pipeline(about)
    if spec.stages:
        model.set_params(**{spec.stages: 8})
    return spec, model.set_params(**params)


def check_values(model, X):
    values = model.predict(X)
    assert values.shape == (len(X),)
    assert np.isfinite(values).all()


def test_the_models_of_both_tasks():
    assert set(ALL) == {
        *("mean", "median", "knn", "linear_regression", "ridge", "lasso", "elastic_net", "decision_tree", "rbf_svm"),
        *("random_forest", "extra_trees", "gradient_boosting", "hist_gradient_boosting", "lightgbm", "xgboost"),
        *("catboost", "mlp"),
    }
    table = quantity()
    found = models_for(table)
    assert {spec.name for spec in found} == {name for name in ALL if catalogue()[name].available}
    assert {spec.answers for spec in found} == {"values"}
    assert not {spec.name for spec in models_for(mixed())} & {"mean", "ridge", "lasso"}
    with pytest.raises(InputError, match="the target is a quantity, but the model 'naive_bayes' predicts classes"):
        models_for(table, ["naive_bayes"])
    with pytest.raises(InputError, match="the target contains classes, but the model 'ridge' predicts a quantity"):
        models_for(mixed(), ["ridge"])


def test_the_task_of_an_outline():
    table = quantity()
    about = outline(table)
    assert (about.task, about.n_classes) == ("regression", 0)
    assert about.target.lowest == table.y.min()
    assert about.target.spread == pytest.approx(table.y.std())
    grades = table_of(table.X, np.arange(90) % 10)
    assert outline(grades).task == "classification"
    assert outline(grades, "regression").task == "regression"
    with pytest.raises(InputError, match="must be one number per row"):
        outline(mixed(), "regression")
    with pytest.raises(InputError, match="infinity in 1 row"):
        outline(table_of(table.X, np.append(table.y[1:], np.inf)))


def test_a_forest_starts_with_a_third_of_the_columns():
    about = outline(quantity())
    forest = spec_of("random_forest")
    assert forest.pipeline(about)[-1].max_features == pytest.approx(1 / 3)
    assert forest.first_settings(about) == [{}, {"model__max_features": 1.0}]
    assert forest.pipeline(outline(mixed()))[-1].max_features == "sqrt"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_learned_is_better_than_guessing(name):
    table = quantity(240, gaps=0.0)
    spec, model = small(name, outline(table))
    if spec.stages:
        model.set_params(**{spec.stages: 60})
    model.fit(table.X[:160], table.y[:160])
    values = model.predict(table.X[160:])
    spread = table.y[160:].std()
    error = np.sqrt(np.mean((values - table.y[160:]) ** 2))
    most = {"mean": 1.1, "median": 1.1, "knn": 0.95}  # noise harms distances
    assert error < most.get(name, 0.8) * spread


@pytest.mark.parametrize("name", NAMES)
def test_nasty_tables_break_nothing(name):
    for case, table in nasty().items():
        y = np.random.default_rng(2).normal(100, 5, table.X.height)
        about = outline(table_of(table.X, y))
        spec, model = small(name, about)
        if not spec.takes(about):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            if case == "infinite and huge numbers":  # sums of squares overflow in linear models and networks
                warnings.simplefilter("ignore", RuntimeWarning)
            check_values(model.fit(table.X, y), table.X[:5])


@pytest.mark.parametrize("name", NAMES)
def test_unknown_categories_and_gaps_at_prediction(name):
    whole = quantity(gaps=0.0)
    model = small(name, outline(whole))[1].fit(whole.X, whole.y)
    strange = whole.X[:6].with_columns(color=pl.lit("violet"), city=pl.lit("nowhere"), said=pl.lit("never heard of"))
    check_values(model, strange)
    check_values(
        model,
        whole.X[:6].with_columns(pl.lit(None, dtype=kind).alias(one) for one, kind in whole.X.schema.items()),
    )


@pytest.mark.parametrize("name", NAMES)
def test_settings_of_the_space_obey_the_fold_law(name):
    """Answers equal clean refits, whatever lies outside the training rows."""
    table = quantity(70)
    about = outline(table)
    spec, model = small(name, about)
    order = np.random.default_rng(0).permutation(70)
    settings = list(ParameterSampler(spec.space(about), 3, random_state=0)) if spec.space(about) else [{}]
    for size, setting in enumerate(settings, 3):
        if spec.stages in setting:
            setting[spec.stages] = size
    check_foldable(model, table.X, table.y, settings, [(order[:40], order[45:])])


@pytest.mark.parametrize("name", [name for name in ALL if catalogue()[name].suited("regression").stages])
def test_stages_are_lazy(name):
    table = quantity(40)
    spec, model = small(name, outline(table))
    assert spec.stages in open_session(model, table.X, table.y).lazy({})


def test_any_regressor_by_its_dotted_name():
    table = quantity()
    (spec,) = models_for(table, ["sklearn.linear_model.HuberRegressor"])
    assert (spec.answers, spec.tasks) == ("values", ("regression",))
    with pytest.raises(InputError, match="is not a classifier or regressor"):
        spec_of("sklearn.cluster.KMeans")


def test_penalties_are_in_units_of_the_target():
    about = outline(quantity())
    larger = replace(about, target=replace(about.target, spread=1000 * about.target.spread))
    for name in ("lasso", "elastic_net"):
        spec = spec_of(name)
        assert spec.pipeline(larger)[-1].alpha == pytest.approx(1000 * spec.pipeline(about)[-1].alpha)
        low, high = (one.space(larger)["model__alpha"].support() for one in (spec, spec))
        assert low == high
        assert low[1] == pytest.approx(larger.target.spread)


def test_means_of_categories_are_those_of_scikit_learn(rng):
    codes = rng.integers(0, 6, (200, 2)).astype(float)
    codes[rng.random((200, 2)) < 0.1] = np.nan
    y = 1e6 + codes[:, 0] + rng.normal(size=200)
    y[np.isnan(y)] = 1e6
    ours = MeanEncoder(smooth=10.0).fit(codes, y)
    peer = TargetEncoder(target_type="continuous", smooth=10.0).fit(codes, y)
    queries = np.vstack([codes[:50], [[99.0, np.nan]]])
    np.testing.assert_allclose(ours.transform(queries), peer.transform(queries), rtol=1e-12)


def test_no_row_reveals_its_own_value(rng):
    codes, y = np.arange(100.0)[:, None], rng.normal(size=100)  # a category of its own for each row
    encoded = MeanEncoder().fit_transform(codes, y)
    assert abs(np.corrcoef(encoded[:, 0], y)[0, 1]) < 0.3
    assert np.corrcoef(MeanEncoder().fit(codes, y).transform(codes)[:, 0], y)[0, 1] > 0.99


def test_columns_are_ranked_as_by_scikit_learn(rng):
    cells, y = rng.normal(1e3, 1, (80, 5)), rng.normal(size=80)
    cells[:, 1] += y
    np.testing.assert_allclose(linear_f_statistics(cells, y), f_regression(cells, y)[0], rtol=1e-8)
    cells[:3, 2], cells[:, 3] = np.nan, 7.0
    found = linear_f_statistics(cells, y)
    assert found[3] == 0
    assert found[2] == pytest.approx(f_regression(cells[3:, 2:3], y[3:])[0][0])
