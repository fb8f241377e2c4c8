"""The catalogue: what is in it, the ranges it searches, how models are added and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import loguniform
from sklearn.linear_model import RidgeClassifier

from foldwise import SearchCV
from foldwise.errors import InputError
from foldwise.models import Cost, ModelSpec, catalogue, models_for, outline, register, scaled, spec_of, unregister
from foldwise.models.spec import ExtraError
from tests.models.tables import mixed, table_of

NAMES = {  # for classes; those for quantities are in test_regressors.py
    "naive_bayes",
    "knn",
    "decision_tree",
    "rule_list",
    "logistic_regression",
    "linear_svm",
    "rbf_svm",
    "perceptron",
    "mlp",
    "random_forest",
    "extra_trees",
    "adaboost",
    "hist_gradient_boosting",
    "lightgbm",
    "xgboost",
    "catboost",
}


def test_the_families_of_the_workbench_are_all_there():
    classifiers = {name: spec for name, spec in catalogue().items() if "classification" in spec.tasks}
    assert set(classifiers) == NAMES
    assert {name for name, spec in catalogue().items() if spec.extra} == {"lightgbm", "xgboost", "catboost"}
    for name, spec in classifiers.items():
        assert spec.name == name
        assert spec.space(outline(mixed())), f"{name} has nothing to search"


def test_the_ranges_of_support_vector_machines():
    about = outline(mixed())
    radial, linear = spec_of("rbf_svm"), spec_of("linear_svm")
    assert radial.space(about)["model__C"].support() == linear.space(about)["model__C"].support() == (0.03, 30_000.0)
    assert radial.space(about)["model__gamma"].support() == (0.00003, 8.0)
    draws = np.log(radial.space(about)["model__gamma"].rvs(4000, random_state=0))
    middle = (np.log(0.00003) + np.log(8.0)) / 2
    assert abs(np.median(draws) - middle) < 0.3  # log-uniform


def test_support_vector_machines_see_columns_between_0_and_1():
    table = mixed()
    about = outline(table)
    for name in ("rbf_svm", "linear_svm"):
        prepared = spec_of(name).pipeline(about)["prepare"].fit_transform(table.X, table.y)
        assert prepared.min() >= 0.0
        assert prepared.max() <= 1.0 + 1e-12


def test_trees_are_pruned_and_boosters_say_their_rate():
    about = outline(mixed())
    assert "model__ccp_alpha" in spec_of("decision_tree").space(about)
    for name in ("hist_gradient_boosting", "lightgbm", "adaboost"):
        assert spec_of(name).pipeline(about)[-1].learning_rate is not None
    for name in ("xgboost", "catboost"):
        assert spec_of(name).pipeline(about)[-1].estimator.get_params()["learning_rate"] == 0.1


def test_cheap_families_come_first():
    large = table_of(
        pl.DataFrame({f"x{j}": np.random.default_rng(j).normal(size=3000) for j in range(5)}), ["a", "b"] * 1500
    )
    order = [spec.name for spec in models_for(large)]
    assert order[0] == "naive_bayes"
    assert order.index("decision_tree") < order.index("hist_gradient_boosting") < order.index("random_forest")


def test_families_that_take_no_column_of_a_table_are_not_offered():
    texts = table_of(pl.DataFrame({"t": [f"these are words number {i} of many" for i in range(40)]}), ["a", "b"] * 20)
    assert outline(texts).roles == {"t": "text"}
    offered = {spec.name for spec in models_for(texts)}
    assert not offered & {"knn", "rule_list"}
    assert {"naive_bayes", "linear_svm"} <= offered
    with pytest.raises(InputError, match="'knn' needs a column of numbers, categories or dates"):
        models_for(texts, ["knn"])


def test_roles_are_said_with_reasons():
    rng = np.random.default_rng(0)
    table = table_of(
        pl.DataFrame({"id": range(100, 140), "one": ["x"] * 40, "n": rng.normal(size=40), "c": list("abcd") * 10}),
        ["a", "b"] * 20,
    )
    about = outline(table)
    assert dict(about.roles) == {"n": "number", "c": "category"}
    assert about.left_out["id"].startswith("it identifies rows: different in every row")
    assert about.left_out["one"] == "every cell is 'x'"
    with pytest.raises(InputError, match="has no target"):
        outline(type(table)(table.X, None, table.schema, "t"))


def test_an_absent_library_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr("foldwise.models.spec.find_spec", lambda name: None)
    table = mixed()
    assert "lightgbm" not in {spec.name for spec in models_for(table)}
    with pytest.raises(
        ExtraError, match=r"LightGBM needs .*not installed. Hint: run pip install 'foldwise\[boosters\]'"
    ):
        models_for(table, ["lightgbm"])
    with pytest.raises(ImportError):
        spec_of("catboost").pipeline(outline(table))


def test_a_model_is_added_in_ten_lines_and_searched():
    ridge = ModelSpec(
        name="my_ridge",
        title="ridge classifier",
        make=lambda outline, seed: RidgeClassifier(),
        prepare=scaled,
        search=lambda outline: {"alpha": loguniform(1e-3, 1e3)},
        cost=Cost(cell=1e-8),
        answers="decision",
    )
    register(ridge)
    try:
        with pytest.raises(InputError, match="a model called 'my_ridge' already exists"):
            register(ridge)
        register(ridge, replace=True)
        table = mixed()
        about = outline(table)
        (spec,) = models_for(table, ["my_ridge"])
        search = SearchCV(spec.pipeline(about), spec.space(about), strategy="random", cv=3, random_state=0)
        assert search.fit(table.X, table.y).best_score_ > 0.7
    finally:
        unregister("my_ridge")
    with pytest.raises(InputError, match="no model called 'my_ridge' was registered"):
        unregister("my_ridge")


def test_any_classifier_by_its_dotted_name():
    table = mixed()
    spec = spec_of("sklearn.ensemble.BaggingClassifier")
    model = spec.pipeline(outline(table), seed=5).fit(table.X, table.y)
    assert model[-1].random_state == 5
    assert spec.answers == "probabilities"
    assert spec_of("sklearn.linear_model.RidgeClassifier").answers == "decision"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("forest", r"there is no model called 'forest'. Hint: did you mean 'random_forest'\? Choose among mean"),
        ("cobweb", "there is no model called 'cobweb'. Hint: choose among mean"),
        ("sklearn.ensemble.Nothing", "cannot be imported"),
        ("no_such_package.Model", "cannot be imported"),
        ("sklearn.cluster.KMeans", "is not a classifier or regressor"),
        ("sklearn.ensemble.VotingClassifier", "cannot be created without arguments"),
        ("os.path.join", "is not an estimator class"),
        (".x", "cannot be imported"),
    ],
)
def test_names_of_nothing_are_refused(name, message):
    with pytest.raises(InputError, match=message):
        spec_of(name)


def test_a_wrong_name_suggests_models_of_the_task(rng):
    X = pl.DataFrame({"x": rng.normal(size=40)})
    for y, other in ((rng.normal(size=40), "naive_bayes"), (["a", "b"] * 20, "ridge")):
        with pytest.raises(InputError, match="there is no model called 'forest'") as refused:
            models_for(table_of(X, y), ["knn", "forest"])
        assert "random_forest" in str(refused.value)
        assert other not in str(refused.value)


def test_boosting_is_tried_on_few_rows_only_if_it_is_asked_for():
    few = replace(outline(table_of(pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}), ["a", "b"] * 2)), n_rows=30)
    assert not {spec.name for spec in models_for(few)} & {"lightgbm", "xgboost", "hist_gradient_boosting"}
    assert [spec.name for spec in models_for(few, "xgboost")] == ["xgboost"]
    assert "xgboost" in {spec.name for spec in models_for(replace(few, n_rows=50))}


def test_a_frame_instead_of_a_table_is_refused_in_public_words():
    with pytest.raises(
        TypeError, match=r"^table must be a Table, got DataFrame\. Hint: pass read_table\(path, target="
    ):
        models_for(pl.DataFrame({"x": [1.0]}))
