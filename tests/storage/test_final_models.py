"""What a workbench ends with, from a file: ensembles of pipelines, calibrated, deciding by cost."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from foldwise import (
    Balanced,
    Calibrated,
    CostMatrix,
    CostSensitive,
    NaiveBayes,
    SelectFeatures,
    open_model,
    save_model,
)
from foldwise.clusters import KMeans
from foldwise.ensembles import Ensemble, bagging, greedy_selection, stacking, weighted_vote
from foldwise.errors import InputError
from foldwise.models import catalogue, outline
from foldwise.models.column_transformers import KeepColumns, NumberColumns
from foldwise.storage.skops_format import from_skops, to_tag, with_types
from tests.models.tables import mixed

TABLE = mixed(80)
COSTS = CostMatrix.from_dict({"buy": {"up": -1, "down": 3}, "wait": {"up": 0, "down": 0}})


def pipeline(name):
    return catalogue()[name].pipeline(outline(TABLE))


def members(*names):
    return {name: pipeline(name) for name in names}


def quietly(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(TABLE.X, TABLE.y)


MODELS = {
    "greedy": lambda: greedy_selection(members("naive_bayes", "knn", "logistic_regression", "random_forest"), cv=3),
    "weighted": lambda: weighted_vote(members("naive_bayes", "hist_gradient_boosting", "decision_tree"), cv=3),
    "given weights": lambda: Ensemble(members("naive_bayes", "knn"), combiner="mean"),
    "stacking": lambda: stacking(members("naive_bayes", "knn"), cv=3),
    "bagging": lambda: bagging(pipeline("rule_list"), 3, random_state=0),
    "calibrated": lambda: Calibrated(pipeline("linear_svm"), cv=3),
    "sigmoid": lambda: Calibrated(pipeline("naive_bayes"), method="sigmoid", cv=3),
    "isotonic": lambda: Calibrated(pipeline("random_forest"), method="isotonic", cv=3),
    "dirichlet": lambda: Calibrated(pipeline("naive_bayes"), method="dirichlet", cv=3),
    "not calibrated": lambda: Calibrated(pipeline("naive_bayes"), method="none", cv=3),
    "balanced": lambda: Balanced(pipeline("naive_bayes"), random_state=0),
    "balanced by copies": lambda: Balanced(pipeline("naive_bayes"), method="over", correct_priors=True, random_state=0),
    "distances to clusters": lambda: make_pipeline(
        KeepColumns(["size", "rings"]), NumberColumns(), KMeans(3, missing="partial", random_state=0), GaussianNB()
    ),
    "by cost": lambda: CostSensitive(Calibrated(pipeline("naive_bayes"), cv=3), COSTS),
    "by cost, in words": lambda: CostSensitive(pipeline("naive_bayes"), {"a": {"up": 1, "down": 0}}),
    "all of it": lambda: CostSensitive(
        Calibrated(greedy_selection(members("naive_bayes", "decision_tree", "extra_trees"), cv=3), cv=3), COSTS
    ),
}


SLOW = ("greedy", "all of it", "isotonic", "weighted")  # many members, or forests


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MODELS]
)
def test_a_final_model_says_the_same_from_its_file(name, tmp_path):
    model = quietly(MODELS[name]())
    path = tmp_path / "model.foldwise"
    save_model(path, model, TABLE.X)
    stored = open_model(path)
    assert type(stored.model) is type(model)
    np.testing.assert_allclose(stored.predict_proba(TABLE.X), model.predict_proba(TABLE.X), rtol=1e-12)
    np.testing.assert_array_equal(stored.predict(TABLE.X), model.predict(TABLE.X))
    save_model(tmp_path / "again", stored.model, TABLE.X)
    np.testing.assert_array_equal(open_model(tmp_path / "again").predict(TABLE.X), model.predict(TABLE.X))


def test_what_a_wrapped_pipeline_does_not_read_is_not_wanted(tmp_path):
    X = TABLE.X.with_columns(note=TABLE.X["city"])
    model = quietly(CostSensitive(Calibrated(pipeline("naive_bayes"), cv=3), COSTS))
    save_model(tmp_path / "m", model, X)
    assert "note" not in open_model(tmp_path / "m").kinds


def test_costs_by_a_function_are_not_stored(tmp_path):
    varying = {"a": {"up": lambda X: np.ones(len(X)), "down": 0}}
    with pytest.raises(InputError, match="contains no code"):
        save_model(tmp_path / "m", quietly(CostSensitive(pipeline("naive_bayes"), varying)), TABLE.X)
    assert list(tmp_path.iterdir()) == []


def test_costs_by_a_function_are_not_opened():
    import skops.io as sio

    model = CostSensitive(None, COSTS)
    model.costs = {"a": {"up": importlib.import_module}}
    with pytest.raises(InputError, match="which Foldwise does not allow"):
        from_skops(with_types(sio.dumps(model), to_tag))


def test_of_a_selection_the_model_of_the_selected_columns_is_saved(tmp_path):
    model = make_pipeline(NumberColumns(), SelectFeatures(NaiveBayes(), n_features=1), NaiveBayes())
    X = TABLE.X.select("size", "rings")
    with pytest.raises(InputError, match=r"SelectFeatures cannot be saved. Hint: fit the model on the columns of supp"):
        save_model(tmp_path / "m", model.fit(X, TABLE.y), X)
