"""Transformed targets: the way there and back, the mean by smearing, the fold law, the search."""

from __future__ import annotations

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import PowerTransformer, QuantileTransformer
from sklearn.tree import DecisionTreeRegressor

from foldwise import GridSearchCV
from foldwise.errors import InputError
from foldwise.folds import open_session
from foldwise.models import TransformedTarget, models_for, outline, spec_of
from foldwise.models.target_transforms import transforms_for
from foldwise.testing import check_foldable
from tests.models.tables import mixed, table_of


def skewed(n, noise=0.8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.exp(X[:, 0] + noise * rng.normal(size=n))


PEERS = {
    "log": {"func": np.log, "inverse_func": np.exp},
    "yeo-johnson": {"transformer": PowerTransformer()},
    "quantiles": {"transformer": QuantileTransformer(n_quantiles=400, output_distribution="normal", subsample=None)},
}


@pytest.mark.parametrize("transform", PEERS)
def test_medians_are_those_of_scikit_learn(transform):
    X, y = skewed(400)
    ours = TransformedTarget(LinearRegression(), transform=transform, predicts="median").fit(X, y).predict(X)
    unit = np.median(y)
    peer = unit * TransformedTargetRegressor(LinearRegression(), **PEERS[transform]).fit(X, y / unit).predict(X)
    inside = (peer > np.quantile(y, 0.02)) & (peer < np.quantile(y, 0.98))  # beyond, ours stay in the range of y
    np.testing.assert_allclose(ours[inside], peer[inside], rtol=2e-2)


def test_the_scale_changes_nothing_that_has_no_unit():
    X, y = skewed(100)
    plain = Ridge().fit(X, y).predict(X)
    for transform in ("none", "scale"):
        np.testing.assert_allclose(TransformedTarget(Ridge(), transform=transform).fit(X, y).predict(X), plain)


@pytest.mark.parametrize("transform", ["log", "yeo-johnson", "quantiles"])
@pytest.mark.parametrize("model", [LinearRegression(), RandomForestRegressor(30, min_samples_leaf=3, random_state=0)])
def test_smearing_predicts_the_mean(transform, model):
    """The mean of predictions is that of new rows, for a model that overfits too; medians are far below it."""
    X, y = skewed(3000)
    new, truth = skewed(20_000, seed=1)
    mean = TransformedTarget(model, transform=transform).fit(X, y).predict(new).mean()
    median = TransformedTarget(model, transform=transform, predicts="median").fit(X, y).predict(new).mean()
    assert mean == pytest.approx(truth.mean(), rel=0.06)
    assert median < 0.85 * truth.mean()


def test_a_log_model_has_the_smallest_error_where_errors_are_relative():
    X, y = skewed(2000, noise=0.4)
    new, _ = skewed(5000, seed=2)
    truth = np.exp(new[:, 0] + 0.4**2 / 2)  # the true mean
    errors = {
        name: np.sqrt(np.mean((TransformedTarget(Ridge(), transform=name).fit(X, y).predict(new) - truth) ** 2))
        for name in ("none", "log")
    }
    assert errors["log"] < 0.4 * errors["none"]


def test_zeros_have_logarithms_and_negative_values_do_not():
    X, y = skewed(200)
    y[:20] = 0.0
    values = TransformedTarget(LinearRegression(), transform="log").fit(X, y).predict(X)
    assert np.isfinite(values).all()
    assert values.min() >= 0
    with pytest.raises(InputError, match="needs values of at least 0, but the target contains -3"):
        TransformedTarget(LinearRegression(), transform="log").fit(X, np.r_[-3.0, y[1:]])
    with pytest.raises(InputError, match=r"transform must be 'none', .* got 'cube'"):
        TransformedTarget(LinearRegression(), transform="cube").fit(X, y)


@pytest.mark.parametrize("transform", ["scale", "log", "yeo-johnson", "quantiles"])
@pytest.mark.parametrize("y", [np.full(30, 7.0), np.full(30, 0.0), np.r_[np.full(29, 1e-9), 1e9], np.arange(3.0)])
def test_odd_targets(transform, y):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    values = TransformedTarget(LinearRegression(), transform=transform).fit(X, y).predict(X)
    assert np.isfinite(values).all()
    if transform != "scale":
        assert values.min() >= y.min() - 1e-6
        assert values.max() <= max(y.max(), 1e-6) * 1.001


def test_weights_count_like_rows():
    X, y = skewed(60)
    twice = np.r_[np.arange(60), np.arange(60)]
    for transform in ("none", "scale"):
        model = TransformedTarget(DecisionTreeRegressor(max_depth=3, random_state=0), transform=transform)
        np.testing.assert_allclose(
            model.fit(X, y, sample_weight=np.full(60, 2.0)).predict(X), model.fit(X[twice], y[twice]).predict(X)
        )
    heavy = np.where(y > np.median(y), 5.0, 1.0)
    weighed = TransformedTarget(DummyRegressor(), transform="log").fit(X, y, sample_weight=heavy)
    assert weighed.predict(X[:1]) > TransformedTarget(DummyRegressor(), transform="log").fit(X, y).predict(X[:1])


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (Ridge(), [{"regressor__alpha": alpha} for alpha in (0.1, 1.0, 10.0)]),
        (
            LGBMRegressor(
                n_estimators=8, min_child_samples=3, n_jobs=1, deterministic=True, verbosity=-1, random_state=0
            ),
            [{"regressor__n_estimators": n} for n in (3, 6)],
        ),
        (DecisionTreeRegressor(random_state=0), [{"regressor__ccp_alpha": 0.01}, {"regressor__ccp_alpha": 0.1}]),
    ],
)
def test_the_fold_law(model, settings):
    X, y = skewed(90)
    every = [
        {**one, "transform": name} for name in ("none", "scale", "log", "yeo-johnson", "quantiles") for one in settings
    ]
    every += [{"transform": "log", "predicts": "median"}, {"transform": "cube"}]
    order = np.random.default_rng(0).permutation(90)
    check_foldable(TransformedTarget(model), X, y, every, [(order[:60], order[65:])])


def test_what_the_regressor_shares_is_shared_with_every_transformation():
    X, y = skewed(60)
    session = open_session(TransformedTarget(Ridge()), X, y)
    for transform in ("none", "log"):
        assert "regressor__alpha" in session.lazy({"transform": transform})
    assert not session.lazy({"regressor": LinearRegression()})


def test_skewed_targets_are_searched():
    assert transforms_for(1.0, 0.2) == ("none",)
    assert transforms_for(0.0, 2.0) == ("none", "log", "yeo-johnson", "quantiles")
    assert transforms_for(-1.0, 2.0) == ("none", "yeo-johnson", "quantiles")
    table = mixed(200, gaps=0.0)
    size = table.X["size"].to_numpy()
    straight = outline(table_of(table.X, size + 0.01))
    about = outline(table_of(table.X, np.exp(size)))
    ridge = spec_of("ridge")
    assert "model__transform" not in ridge.space(straight)
    assert ridge.space(about)["model__transform"] == ["none", "log", "yeo-johnson", "quantiles"]
    assert ridge.first_settings(about)[:2] == [{}, {"model__transform": "log"}]
    assert spec_of("mlp").space(about)["model__transform"][0] == "scale"
    assert not [spec.name for spec in models_for(mixed()) if "model__transform" in spec.space(outline(mixed()))]
    search = GridSearchCV(ridge.pipeline(about), {"model__transform": ["none", "log"]}, cv=4)
    assert search.fit(table.X, np.exp(size)).best_params_ == {"model__transform": "log"}
