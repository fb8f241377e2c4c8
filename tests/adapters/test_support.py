"""Adapters decline, with one warning, where a version was not tested or a private attribute is missing."""

from __future__ import annotations

import ast
import sys
import tomllib
import warnings
from importlib import import_module
from pathlib import Path

import lightgbm
import numpy as np
import pytest
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from foldwise import GridSearchCV, adapters
from foldwise.adapters.nearest.tie_search import THREADS
from foldwise.adapters.registry import ADAPTERS
from foldwise.adapters.sklearn_lasso import DESCENT
from foldwise.adapters.support import LIBRARIES
from foldwise.folds import fallback, open_session
from foldwise.folds.fallback import FallbackWarning
from foldwise.testing import check_foldable
from foldwise.tuning.smooth_losses import smooth_names

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 2
DISCRIMINANTS = "sklearn.discriminant_analysis"


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
    ("what", "function", "estimator", "modules"),
    [
        ("function", THREADS, KNeighborsClassifier(), ["sklearn_neighbors", "nearest.tie_search"]),
        ("module", THREADS, KNeighborsClassifier(), ["sklearn_neighbors", "nearest.tie_search"]),
        ("function", DESCENT, Lasso(), ["sklearn_lasso"]),
        ("module", DESCENT, Lasso(), ["sklearn_lasso"]),
        ("function", f"{DISCRIMINANTS}._cov", QuadraticDiscriminantAnalysis(), ["sklearn_discriminants"]),
        ("function", f"{DISCRIMINANTS}._class_means", LinearDiscriminantAnalysis(), ["sklearn_discriminants"]),
    ],
)
def test_a_missing_private_function_or_module(monkeypatch, what, function, estimator, modules):
    module, _, name = function.rpartition(".")
    parent, _, own = module.rpartition(".")
    if what == "function":
        monkeypatch.delattr(sys.modules[module], name)
    else:
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delattr(sys.modules[parent], own)
    for adapter in modules:  # imported again, as in a process that starts with this library
        loaded = import_module(f"foldwise.adapters.{adapter}")
        package, _, attribute = loaded.__name__.rpartition(".")
        monkeypatch.setattr(sys.modules[package], attribute, loaded)  # restores it after the test
        monkeypatch.delitem(sys.modules, loaded.__name__)
    with pytest.warns(FallbackWarning, match=f"{name} is missing, so models are refitted"):
        assert open_session(estimator, X, Y).shares == "refit"


def test_adapters_import_no_private_name_of_another_library():
    found = []
    for path in sorted(Path(adapters.__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{one.name}" for one in node.names]
            else:
                continue
            others = [name for name in names if not name.startswith(("foldwise.", "__future__"))]
            found += [f"{path.name}: {name}" for name in others if "._" in name]
    assert found == []


def test_adapters_of_untested_versions_are_not_imported(monkeypatch):
    monkeypatch.setattr(sklearn, "__version__", "2.0")
    monkeypatch.setitem(sys.modules, "foldwise.adapters.sklearn_naive_bayes", None)  # its import would raise
    with pytest.warns(FallbackWarning, match="version 2.0 is outside"):
        assert open_session(GaussianNB(), X, Y).shares == "refit"


def test_smooth_losses_of_untested_versions_are_not_used(monkeypatch):
    assert smooth_names(Ridge()) == {"alpha"}
    monkeypatch.setattr(sklearn, "__version__", "2.0")
    with pytest.warns(FallbackWarning, match="version 2.0 is outside .*, so strategy='gradient' does not support its"):
        assert smooth_names(Ridge()) == set()
    assert smooth_names(LogisticRegression()) == set()  # a second warning would be an error


@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "catboost"])
def test_the_lowest_versions_are_those_of_the_installation(package):
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    lowest = {
        name.removesuffix("-cpu"): tuple(map(int, version.split(".")))
        for name, version in (one.split(">=") for one in declared["optional-dependencies"]["boosters"])
    }
    assert LIBRARIES[package].lowest == lowest[package]


@pytest.mark.parametrize(
    ("model", "name", "grid"),
    [
        (HistGradientBoostingClassifier(random_state=0), "_baseline_prediction", {"max_iter": [2, 4]}),
        (RandomForestClassifier(random_state=0), "estimators_", {"n_estimators": [2, 4]}),
        (LinearDiscriminantAnalysis(), "_max_components", {"priors": [[0.2, 0.8], [0.5, 0.5]]}),
    ],
)
def test_a_fitted_model_without_its_private_attribute_is_refitted(monkeypatch, model, name, grid):
    expected = GridSearchCV(model, grid, cv=2, audit=False).fit(X, Y).cv_results_["mean_test_score"]
    monkeypatch.setattr("foldwise.adapters.support.hasattr", lambda one, n: n != name, raising=False)
    with pytest.warns(FallbackWarning, match=f"{type(model).__name__}.{name} is missing"):
        found = GridSearchCV(model, grid, cv=2, audit=False).fit(X, Y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], expected)


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        open_session(GaussianNB(), X, Y)
