"""Adapters decline, with one warning, where a version was not tested or a private attribute is missing."""

from __future__ import annotations

import warnings
from importlib import import_module

import lightgbm
import numpy as np
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from foldwise import GridSearchCV
from foldwise.adapters.registry import ADAPTERS
from foldwise.folds import fallback, open_session
from foldwise.folds.fallback import FallbackWarning
from foldwise.testing import check_foldable

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 2


@pytest.fixture(autouse=True)
def nothing_reported(monkeypatch):
    monkeypatch.setattr(fallback, "_reported", set())


@pytest.mark.parametrize(("package", "name"), ADAPTERS)
def test_every_adapter_was_tested_with_the_installed_version(package, name):
    adapter = import_module(f"foldwise.adapters.{ADAPTERS[package, name]}")
    support = adapter.SUPPORT[name] if isinstance(adapter.SUPPORT, dict) else adapter.SUPPORT
    assert support.versions.package == package
    assert not support.versions.problem()


@pytest.mark.parametrize("version", ["1.5.2", "1.10.0", "2.0.dev0", "unknown"])
def test_other_versions_are_refitted_and_said_once(monkeypatch, version):
    monkeypatch.setattr(sklearn, "__version__", version)
    with pytest.warns(FallbackWarning, match=f"version {version} is outside the tested versions 1.9.1 to 1.9"):
        session = open_session(GaussianNB(), X, Y)
    assert session.shares == "refit"
    assert open_session(KNeighborsClassifier(), X, Y).shares == "refit"  # a second warning would be an error
    check_foldable(GaussianNB(), X, Y, [{}, {"var_smoothing": 0.1}], [(np.arange(40), np.arange(40, 60))])


@pytest.mark.parametrize("version", ["1.9.1", "1.9.3"])
def test_tested_versions_share(monkeypatch, version):
    monkeypatch.setattr(sklearn, "__version__", version)
    assert open_session(GaussianNB(), X, Y).shares == "summaries"


def test_each_library_has_its_own_versions(monkeypatch):
    monkeypatch.setattr(lightgbm, "__version__", "5.0.0")
    with pytest.warns(FallbackWarning, match=r"LightGBM: version 5.0.0"):
        assert open_session(lightgbm.LGBMClassifier(), X, Y).shares == "refit"
    assert open_session(GaussianNB(), X, Y).shares == "summaries"


@pytest.mark.parametrize(
    ("holder", "name", "estimator"),
    [
        (DecisionTreeClassifier, "_prune_tree", DecisionTreeClassifier(random_state=0)),
        (NearestNeighbors, "_kneighbors_reduce_func", KNeighborsClassifier()),
        (HistGradientBoostingClassifier, "_raw_predict", HistGradientBoostingClassifier()),
    ],
)
def test_a_missing_private_attribute(monkeypatch, holder, name, estimator):
    owner = next(kind for kind in holder.__mro__ if name in vars(kind))
    monkeypatch.delattr(owner, name)
    with pytest.warns(FallbackWarning, match=f"{name} is missing, so models are refitted"):
        assert open_session(estimator, X, Y).shares == "refit"


@pytest.mark.parametrize(
    ("kind", "name", "grid"),
    [
        (HistGradientBoostingClassifier, "_baseline_prediction", {"max_iter": [2, 4]}),
        (RandomForestClassifier, "estimators_", {"n_estimators": [2, 4]}),
    ],
)
def test_a_fitted_model_without_its_private_attribute_is_refitted(monkeypatch, kind, name, grid):
    model = kind(random_state=0)
    expected = GridSearchCV(model, grid, cv=2, audit=False).fit(X, Y).cv_results_["mean_test_score"]
    monkeypatch.setattr("foldwise.adapters.support.hasattr", lambda one, n: n != name, raising=False)
    with pytest.warns(FallbackWarning, match=f"{kind.__name__}.{name} is missing"):
        found = GridSearchCV(model, grid, cv=2, audit=False).fit(X, Y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], expected)


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_session(GaussianNB(), X, Y)
