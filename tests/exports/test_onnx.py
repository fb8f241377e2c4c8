"""ONNX exports predict what Python predicts: models, missing cells, hostile names, boundary values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import Calibrated, KNNClassifier, NaiveBayes, OnnxExport, open_model, save_model, to_onnx
from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.coverage import CoverageRule
from foldwise.errors import InputError
from foldwise.exports.coverage import tolerance_scales
from foldwise.exports.onnx import export as module
from foldwise.exports.trees.readers import read_boosted
from tests.exports.test_sql import (
    CLASSIFIERS,
    MORE_CLASSIFIERS,
    MORE_REGRESSORS,
    NUMERIC,
    REGRESSORS,
    fitted,
    hostile_table,
    stored,
)
from tests.models.tables import table_of
from tests.slow import slow


def check(model, table, tolerance=1e-9, metadata=None) -> OnnxExport:
    """The graph equals Python on rows of the table, one with a category that the model does not know."""
    X = table.X.with_columns(pl.Series("select", ["never seen", *table.X["select"][1:]]))
    export = to_onnx(stored(model, X, metadata), rows=X)
    assert export.n_checked == X.height
    found = export.predict(X)
    if not len(getattr(model, "classes_", ())):
        np.testing.assert_allclose(found["predicted_value"], model.predict(X), rtol=tolerance)
        return export
    assert found["predicted_class"].tolist() == model.predict(X).tolist()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["predicted_p"], model.predict_proba(X), atol=tolerance, rtol=0)
    return export


@pytest.mark.parametrize("name", [*CLASSIFIERS, "xgboost", "catboost", *slow(*MORE_CLASSIFIERS[:2], "linear_svm")])
def test_classifiers_of_the_catalog(name):
    table = hostile_table()
    if name == "catboost":
        table = table_of(table.X.drop("many`levels"), table.y)
    check(fitted(name, table), table, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("name", ["lightgbm", *slow("xgboost", "hist_gradient_boosting")])
def test_two_classes(name):
    table = hostile_table(classes=2)
    check(fitted(name, table), table, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("name", [*REGRESSORS, "hist_gradient_boosting", *slow(*MORE_REGRESSORS)])
def test_regressors_of_the_catalog(name):
    table = hostile_table(quantity=True)
    if name == "catboost":
        table = table_of(table.X.drop("many`levels"), table.y)
    check(fitted(name, table, "regression"), table, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("step", [1.0, 0.5])
def test_categories_of_histogram_gradient_boosting(step, rng):
    """Some nodes send only missing cells to the left; unknown categories count as missing."""
    codes = rng.integers(0, 4, 300).astype(float)
    codes[rng.random(300) < 0.3] = np.nan
    X = np.column_stack([step * codes, rng.normal(size=300)])
    y = np.where(np.isnan(codes), 3.0, codes % 2) + rng.normal(size=300) / 9
    model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(X, y)
    rows = pl.DataFrame({"a": [*(step * codes), 9 * step], "b": [*X[:, 1], 0.0]}, nan_to_null=True)
    trees = [tree for forest in read_boosted(model).forests for tree in forest]
    assert any(not values for tree in trees for values in tree.among.values())
    if step == 1.0:
        assert to_onnx(model, columns=["a", "b"], rows=rows).n_checked == 301
    else:
        with pytest.raises(InputError, match="not whole numbers"):
            to_onnx(model, columns=["a", "b"])


@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("family", [*NUMERIC, "bernoulli", "multinomial"])
def test_naive_bayes(family, missing):
    table = hostile_table()
    X = table.X.with_columns(flag=(table.X["rings"] > 4).cast(pl.Float64))
    families = {NUMERIC.get(family, {"bernoulli": "flag", "multinomial": "rings"}.get(family)): family}
    weights = {"select": 0.5, "rings": 0.7}
    model = NaiveBayes(families=families, missing=missing, unseen="smooth", temperature=1.5, column_weights=weights)
    check(model.fit(X, table.y), table_of(X, table.y))


def test_an_impossible_row_gets_the_prior():
    X = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]})
    model = NaiveBayes(alpha=0).fit(X, ["no", "no", "yes", "yes"])
    row = pl.DataFrame({"a": ["x"], "b": ["v"]})
    found = to_onnx(stored(model, X), rows=X).predict(row)
    np.testing.assert_allclose(found["predicted_p"], [[0.5, 0.5]])


KERNELS = [("heom", "distance"), ("hvdm", "uniform"), ("gower", "gaussian")]
MORE_KERNELS = [("gower", "uniform"), ("gower", "distance"), ("heom", "triangular"), ("hvdm", "epanechnikov")]
MORE_KERNELS += [("heom", "biweight"), ("gower", "triangular")]


@pytest.mark.parametrize(("metric", "weights"), [*KERNELS, *slow(*MORE_KERNELS)])
def test_nearest_neighbors_of_mixed_columns(metric, weights):
    """Integers, duplicates and missing cells, so that many training rows are nearly or exactly as far."""
    table = hostile_table()
    X = table.X.with_columns(pl.Series('wid"th', np.round(table.X['wid"th'].to_numpy())))
    column_weights = {"rings": 0.3, 'wid"th': 0.7}
    model = KNNClassifier(7, metric=metric, weights=weights, laplace=0.5, column_weights=column_weights)
    check(model.fit(X, table.y), table_of(X, table.y))


@pytest.mark.parametrize("metric", ["euclidean", *slow("manhattan", "chebyshev")])
def test_nearest_neighbors_of_numbers(metric, rng):
    X = pl.DataFrame(rng.integers(0, 6, size=(150, 4)).astype(float), schema=list("abcd"), orient="row")
    model = KNNClassifier(4, metric=metric, scale="standard", ties="class").fit(X, rng.integers(0, 3, 150))
    found = to_onnx(model, rows=X).predict(X)
    np.testing.assert_allclose(found["predicted_p"], model.predict_proba(X))
    assert found["predicted_class"].tolist() == model.predict(X).tolist()


def test_nearest_neighbors_of_a_quantity():
    table = hostile_table(quantity=True)
    check(fitted("knn", table, "regression"), table)


@pytest.mark.parametrize(
    ("given", "words"), [({"metric": "cosine"}, "metric='cosine'"), ({"weights": np.abs}, "function")]
)
def test_nearest_neighbors_that_are_refused(given, words, rng):
    model = KNNClassifier(3, **given).fit(rng.normal(size=(20, 2)), rng.integers(0, 2, 20))
    with pytest.raises(InputError, match=words):
        to_onnx(model, columns=["a", "b"])


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature", "dirichlet"])
@pytest.mark.parametrize("classes", [2, 3])
def test_calibrated(method, classes):
    table = hostile_table(n=200, classes=classes)
    check(Calibrated(fitted("decision_tree", table), method=method).fit(table.X, table.y), table)


def run_model(table):
    """The weighted mean of a run: probabilities, decision values, class frequencies mixed in, a calibrated mean."""
    codes = np.unique(table.y, return_inverse=True)[1]
    coded = table_of(table.X, codes)
    members = [fitted(name, coded) for name in ("logistic_regression", "linear_svm")]
    given = [
        Calibrated(fitted("decision_tree", coded), method=method).fit(table.X, codes)
        for method in ("sigmoid", "temperature")
    ]
    labels = np.unique(table.y).tolist()
    maps = [None, given[0].calibrator_]
    return Blend(members, [0.6, 0.4], maps, given[1].calibrator_, [0.3, 0.3, 0.4], 0.05, labels)


def test_the_weighted_mean_of_a_run_with_costs_and_sets():
    table = hostile_table(n=200)
    model = run_model(table)
    costs = {"actions": ["call", "ignore"], "classes": list(model.labels), "matrix": [[1.0, 0.0, 2.0], [0.0, 4.0, 1.0]]}
    rule = CoverageRule(0.9, False, 0.8, 100)
    export = check(model, table, metadata={"costs": costs, "coverage": rule.to_metadata()})
    found = export.predict(table.X)
    expected = model.predict_proba(table.X) @ np.array(costs["matrix"]).T
    assert found["predicted_decision"].tolist() == [costs["actions"][i] for i in expected.argmin(axis=1)]
    np.testing.assert_allclose(found["predicted_expected_cost"], expected.min(axis=1))
    assert (found["predicted_set"] == rule.sets(model.predict_proba(table.X))).all()


def test_a_graph_with_wrong_decisions_is_refused(monkeypatch):
    table, written = hostile_table(), module.named_output

    def swapped(output, names, codes, graph):
        return written(output, names[::-1] if output == "predicted_decision" else names, codes, graph)

    monkeypatch.setattr(module, "named_output", swapped)
    model = fitted("decision_tree", table)
    costs = {"actions": ["call", "wait"], "classes": model.classes_.tolist(), "matrix": [[1, 0, 2], [0, 4, 1]]}
    with pytest.raises(InputError, match="predicted_decision of row"):
        to_onnx(stored(model, table.X, {"costs": costs}), rows=table.X)


def test_a_mean_of_values_with_intervals_and_a_transformed_target():
    table = hostile_table(quantity=True)
    positive = table_of(table.X, np.exp(table.y / 3))
    members = [fitted("ridge", positive, "regression"), fitted("lasso", positive, "regression")]
    members[0].set_params(model__transform="log").fit(positive.X, positive.y)
    model, rule = ValueBlend(members, [0.3, 0.7]), CoverageRule(0.9, False, 1.5, 100)
    found = check(model, positive, metadata={"coverage": rule.to_metadata()}).predict(table.X)
    ends = np.column_stack([found["predicted_low"], found["predicted_high"]])
    np.testing.assert_allclose(ends, rule.intervals(model.predict(table.X)), rtol=1e-9)


def test_an_end_of_an_interval_near_zero(rng):
    """XGBoost adds in single precision, so the error of an end is relative to the value, which may be far larger."""
    xgboost = pytest.importorskip("xgboost")
    X = rng.normal(size=(200, 2))
    y = 1000 + X[:, 0]
    model = xgboost.XGBRegressor(n_estimators=40, max_depth=4).fit(X, y)
    rows, rule = pl.DataFrame(X, schema=["a", "b"], orient="row"), CoverageRule(0.9, False, 1000.0, 100)
    given = stored(model, rows, {"coverage": rule.to_metadata()})
    found = to_onnx(given, rows=rows).predict(rows)
    np.testing.assert_allclose(found["predicted_low"], model.predict(X) - 1000.0, atol=1e-3)


def test_wrong_values_are_refused_even_if_all_are_tiny():
    values = np.array([1e-12, 2e-12, 4e-12])
    of_values, of_ends = tolerance_scales(values, 1e-12)
    module.compare("predicted_value", values * (1 + 1e-8), values, np.maximum(of_values, values))
    for scale in (of_values, of_ends):
        with pytest.raises(InputError, match="predicted_value of row 1 would be"):
            module.compare("predicted_value", values * [1, 1.1, 1], values, np.maximum(scale, values))


@pytest.mark.parametrize("kind", ["kde", "text"])
def test_other_families_are_refused_by_name(kind):
    texts = pl.DataFrame({"a": ["two words", "three more words"] * 4})
    X = texts if kind == "text" else pl.DataFrame({"a": np.arange(8.0)})
    model = NaiveBayes(families=kind).fit(X, ["no", "yes"] * 4)
    with pytest.raises(InputError, match=f"'{kind}' cannot be exported to ONNX"):
        to_onnx(model)


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        to_onnx(DecisionTreeRegressor())


def test_unknown_models_are_refused_by_name():
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="KNeighborsClassifier cannot be exported to ONNX"):
        to_onnx(model, columns=["a"])


def test_every_row_reaches_the_same_leaf(rng):
    """Cells at the thresholds of a tree, and the doubles beside them."""
    X = rng.normal(size=(300, 2)).astype(np.float32).astype(np.float64)
    tree = DecisionTreeRegressor(random_state=0).fit(X, np.arange(300.0))  # one leaf per row: the value names the leaf
    cuts = tree.tree_.threshold[tree.tree_.feature >= 0][:60]
    near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts.astype(np.float32)])
    cells = pl.DataFrame({"a": near, "b": near[::-1]})
    found = to_onnx(tree, columns=["a", "b"], rows=cells).predict(cells)
    assert found["predicted_value"].tolist() == tree.predict(cells.to_numpy()).tolist()


def test_missing_cells_in_a_forest_of_scikit_learn(rng):
    X = rng.normal(size=(200, 3))
    X[rng.random((200, 3)) < 0.2] = np.nan
    forest = RandomForestClassifier(5, random_state=0).fit(X, rng.integers(0, 3, 200))
    frame = pl.DataFrame(X, schema=["a", "b", "c"], orient="row")
    found = to_onnx(forest, columns=["a", "b", "c"], rows=frame).predict(frame)
    np.testing.assert_allclose(found["predicted_p"], forest.predict_proba(X), atol=1e-12)
    assert found["predicted_class"].dtype == np.int64


def test_a_tree_of_one_leaf_and_a_model_without_columns():
    tree = DecisionTreeClassifier(max_depth=1).fit([[1.0], [1.0]], ["no", "yes"])
    found = to_onnx(tree, columns=["a"]).predict(pl.DataFrame({"a": [1.0, None]}))
    assert found["predicted_p"].tolist() == [[0.5, 0.5]] * 2


def test_several_classes_of_catboost_itself(rng):
    """Its labels are a column, not a list."""
    catboost = pytest.importorskip("catboost")
    X = rng.normal(size=(90, 2))
    model = catboost.CatBoostClassifier(n_estimators=3, depth=3, verbose=False, allow_writing_files=False)
    model.fit(X, np.arange(90) % 3)
    frame = pl.DataFrame(X, schema=["a", "b"], orient="row")
    found = to_onnx(model, columns=["a", "b"], rows=frame).predict(frame)
    assert found["predicted_class"].tolist() == model.predict(X).ravel().tolist()


def test_one_hot_columns_of_text():
    X = pl.DataFrame({"a": ["x", "y", "x", "z"], "b": [1.0, 2.0, 3.0, 4.0]})
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["a"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(X, [1, 2, 1, 2])
    found = to_onnx(model, columns={"a": "text", "b": "number"}, rows=X).predict(X)
    assert found["predicted_class"].tolist() == [1, 2, 1, 2]


def test_the_string_of_missing_cells_must_not_be_a_category():
    X = pl.DataFrame({"a": ["x", "", "x", None]})
    model = NaiveBayes(missing="category").fit(X, ["no", "yes", "no", "yes"])
    with pytest.raises(InputError, match="has the category ''"):
        to_onnx(model)
    export = to_onnx(model, missing_text="(missing)", rows=X)
    np.testing.assert_allclose(export.predict(X)["predicted_p"], model.predict_proba(X))
    with pytest.raises(InputError, match="contains '\\(missing\\)'"):
        export.predict(pl.DataFrame({"a": ["(missing)"]}))


def test_a_graph_that_differs_is_refused(monkeypatch):
    """If onnxruntime predicts something else, there is no export."""
    table = hostile_table()
    model = fitted("decision_tree", table)
    monkeypatch.setattr(module.OnnxWriter, "classes", wrong_classes(module.OnnxWriter.classes))
    with pytest.raises(InputError, match="predicted_p of row 0 would be"):
        to_onnx(stored(model, table.X), rows=table.X)


def wrong_classes(right):
    """Write twice the probabilities."""

    def classes(self, table, graph):
        outputs = right(self, table, graph)
        (node,) = [node for node in graph.nodes if "predicted_p" in node.output]
        tensor = graph.add("Mul", node.input[0], 2.0)
        node.input[0] = tensor
        graph.nodes.append(graph.nodes.pop(graph.nodes.index(node)))
        return outputs

    return classes


@pytest.mark.parametrize("name", ["", "predicted_class"])
def test_names_that_an_input_cannot_have(name):
    tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    with pytest.raises(InputError, match="cannot be called"):
        to_onnx(tree, columns=[name])


@pytest.mark.parametrize("task", ["classification", *slow("regression")])
@pytest.mark.parametrize("name", ["lightgbm", *slow("xgboost", "catboost")])
def test_models_from_files(name, task, tmp_path):
    """Boosters from a file are other objects than fitted ones."""
    table = hostile_table(quantity=task == "regression")
    if name == "catboost":
        table = table_of(table.X.drop("many`levels"), table.y)
    save_model(tmp_path / "model.foldwise", fitted(name, table, task), table.X)
    assert to_onnx(open_model(tmp_path / "model.foldwise"), rows=table.X).n_checked == table.X.height


def test_files_of_an_export(tmp_path):
    import json

    import onnxruntime

    table = hostile_table()
    export = to_onnx(stored(fitted("decision_tree", table), table.X), rows=table.X)
    session = onnxruntime.InferenceSession(export.write(tmp_path / "model.onnx"))
    facts = session.get_modelmeta().custom_metadata_map
    assert json.loads(facts["classes"]) == np.unique(table.y).tolist()
    assert json.loads(facts["columns"]) == dict(export.kinds)
    assert [one.name for one in session.get_inputs()] == table.X.columns
