"""What sessions and estimators offer beyond the common protocol is declared, and never asked for by an attribute."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Lasso, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import foldwise
from foldwise import GridSearchCV, HalvingGridSearchCV, KNNClassifier, NaiveBayes, RandomizedSearchCV, SearchCV
from foldwise.evaluation.metrics import metrics_of
from foldwise.evaluation.metrics.protocol import HasScorer
from foldwise.evaluation.metrics.routed import RoutedMetric
from foldwise.folds import Need, open_session, open_subsets
from foldwise.folds.abilities import (
    DescribesSharing,
    ExpectsSplits,
    FitsFacts,
    FitsSettings,
    HasEqualSettings,
    HasRefitType,
    HasSmallProducts,
    equal_settings,
    work_shared,
)
from foldwise.tuning import Float, SelectFeatures
from foldwise.tuning.dimensions import Dimension, dimension_of

X = np.random.default_rng(0).normal(size=(40, 3))
CLASSES, VALUES = np.arange(40) % 2, X[:, 0]
DECLARED = {"expect", "small_products", "equal_settings", "refit_type", "shares_of", "fit_facts", "fit_settings"}
DECLARED |= {"shared_params", "by_scorer", "when", "n_trials", "timeout", "initial_settings", "reshuffle", "store"}
DECLARED |= {"watch", "keep"}


def test_no_declared_ability_is_asked_for_by_an_attribute():
    found = []
    for path in sorted(Path(foldwise.__file__).parent.rglob("*.py")):
        text = path.read_text()
        if not any(f'"{name}"' in text for name in DECLARED) or "attr(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr"):
                names = {one.value for one in node.args[1:] if isinstance(one, ast.Constant)}
                found += [f"{path.name}:{node.lineno}: {name}" for name in sorted(map(str, names)) if name in DECLARED]
    assert found == []


def test_sessions():
    gram, refit = open_session(Ridge(), X, VALUES), open_session(GaussianNB(), X.astype(np.float32), CLASSES)
    assert isinstance(gram, ExpectsSplits)
    assert isinstance(gram, HasSmallProducts)
    assert gram.small_products
    assert not any(isinstance(refit, one) for one in (ExpectsSplits, HasSmallProducts, HasRefitType, DescribesSharing))
    assert not isinstance(gram, HasEqualSettings)
    assert equal_settings(gram, {}) == []
    assert equal_settings(open_session(Lasso(), X, VALUES), {"alpha": 0.1}) == [{"alpha": 0.1, "precompute": True}]
    descent = open_subsets(make_pipeline(StandardScaler(), Lasso(0.1)), X, VALUES)  # before it has answered anything
    assert equal_settings(descent, {"columns": (0,)}) == [{"columns": (0,), "lasso__precompute": True}]
    for estimator in (Ridge(), make_pipeline(StandardScaler(), Ridge())):
        subsets = open_subsets(estimator, X, VALUES)
        assert isinstance(subsets, HasRefitType)
        assert isinstance(subsets, HasSmallProducts)


def test_what_is_shared_depends_on_the_settings_only():
    session = open_session(KNNClassifier(), X, CLASSES)
    assert isinstance(session, DescribesSharing)
    same, scaled = {"n_neighbors": 3}, {"scale": "standard"}
    for _ in range(2):
        assert session.shares == work_shared(session, [same]) == "neighbors"
        assert work_shared(session, [scaled]) == "neighbors of each split"
        assert work_shared(session, [same, scaled, {"scale": "nonsense"}]) == "neighbors, in part of each split"
        list(session.answer([scaled], np.arange(30), np.arange(30, 40), Need.LABELS))
    assert work_shared(open_session(GaussianNB(), X, CLASSES), [{}]) == "summaries"


def test_estimators_and_transformers():
    assert isinstance(NaiveBayes(), FitsFacts)
    assert not isinstance(Ridge(), FitsFacts)
    assert isinstance(SelectFeatures(NaiveBayes()), FitsSettings)
    assert not isinstance(StandardScaler(), FitsSettings)


def test_metrics_with_other_metadata_than_weights_use_their_scorer():
    metric = metrics_of("accuracy", NaiveBayes())[0]["score"]
    assert isinstance(metric, HasScorer)
    assert RoutedMetric(metric, {"sample_weight": None}).metric is metric
    assert RoutedMetric(metric, {"other": None}).metric is metric.by_scorer
    assert RoutedMetric(metric.by_scorer, {"other": None}).metric is metric.by_scorer


def test_dimensions():
    assert all(isinstance(dimension_of("a", one), Dimension) for one in ([1, 2], Float(0, 1)))

    class Unconditional:
        n_values, ordered = 2.0, True
        to_unit = from_unit = contains = float

    with pytest.raises(TypeError, match="must be a list, a distribution or a dimension"):
        dimension_of("a", Unconditional())
    assert isinstance(type("Conditional", (Unconditional,), {"when": None})(), Dimension)


@pytest.mark.parametrize("kind", [GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV, SearchCV])
def test_searches_have_every_option(kind):
    search = kind(NaiveBayes(), {"var_floor": [0.1, 0.2]})
    options = {name: getattr(search, name) for name in ("n_trials", "timeout", "initial_settings", "store", "watch")}
    assert set(options.values()) == {None}
    assert search.reshuffle is False
    assert search.keep in ("losses", "none")
