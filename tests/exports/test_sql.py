"""SQL exports predict what Python predicts: models × databases, missing cells, hostile names, boundary values."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
import sqlglot
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import Calibrated, NaiveBayes, StoredModel, open_model, save_model, to_sql
from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.coverage import CoverageRule
from foldwise.decisions.conformal.levels import set_text
from foldwise.errors import InputError
from foldwise.exports.sql.dialects import DIALECTS, dialect_of
from foldwise.exports.trees.readers import read_boosted
from foldwise.exports.trees.splits import double_threshold, with_shared_splits
from foldwise.models import TransformedTarget, catalogue, outline
from foldwise.storage.table_check import kinds_of
from tests.exports.databases import HOSTILE, compare, run
from tests.models.tables import table_of
from tests.slow import slow

DATABASES = ["duckdb", *slow("sqlite", "postgres")]
FEW_TREES = {
    "random_forest": {"n_estimators": 5},
    "extra_trees": {"n_estimators": 5},
    "hist_gradient_boosting": {"max_iter": 5},
    "lightgbm": {"n_estimators": 5},
    "xgboost": {"estimator__n_estimators": 5},
    "catboost": {"estimator__n_estimators": 5},
    "gradient_boosting": {"n_estimators": 5},
}
CLASSIFIERS = ["logistic_regression", "decision_tree", "lightgbm", "random_forest"]
MORE_CLASSIFIERS = ["extra_trees", "hist_gradient_boosting", "xgboost", "catboost", "linear_svm"]
REGRESSORS = ["ridge"]
MORE_REGRESSORS = ["linear_regression", "lasso", "decision_tree", "random_forest", "gradient_boosting", "lightgbm"]
MORE_REGRESSORS += ["hist_gradient_boosting", "xgboost", "catboost"]


@pytest.fixture(scope="session")
def server(request):
    fixtures = {"postgres": "postgresql_server", "spark": "spark_session"}
    return lambda dialect: request.getfixturevalue(fixtures[dialect]) if dialect in fixtures else None


def hostile_table(n: int = 120, classes: int = 3, quantity: bool = False):
    """Mixed columns with missing cells, whose names and categories try to break out of SQL."""
    rng = np.random.default_rng(5)
    levels = np.array(["plain", "it's", '"quoted"', "'); DROP TABLE rows; --", "back\\slash", "new\nline", "f12", "ß"])
    kind = rng.choice(levels, n)
    size, width = rng.normal(5, 2, n).round(2), rng.exponential(3, n)
    X = pl.DataFrame(
        {
            "x'); DROP TABLE rows; --": size,
            'wid"th': width,
            "select": kind,
            "many`levels": [f"level {i}" for i in rng.integers(0, 30, n)],
            "member": rng.random(n) < 0.4,
            "rings": rng.integers(0, 9, n),
        }
    )
    gaps = rng.random((n, 3)) < 0.1
    names = [X.columns[0], "select", "member"]
    X = X.with_columns(
        pl.when(pl.Series(gaps[:, i])).then(None).otherwise(pl.col(c)).alias(c) for i, c in enumerate(names)
    )
    value = size + (kind == "it's") * 3 + rng.normal(size=n)
    y = value if quantity else np.array(["no", "yes", 'it\'s \\ a "class"'])[np.digitize(value, [5, 7])[:n] % classes]
    return table_of(X, y)


def stored(model, X, metadata=None) -> StoredModel:
    return StoredModel(model, kinds_of(X), getattr(model, "classes_", np.empty(0)), "y", metadata or {}, {})


def fitted(name: str, table, task: str = "classification"):
    """A pipeline of the catalog with few trees."""
    spec = catalogue()[name].suited(task)
    pipeline = spec.pipeline(outline(table, task))
    own = FEW_TREES.get(name, {})
    if task == "regression":
        wrapped = "regressor__" if isinstance(pipeline[-1], TransformedTarget) else ""
        own = {wrapped + key.removeprefix("estimator__"): value for key, value in own.items()}
    return pipeline.set_params(**{f"model__{key}": value for key, value in own.items()}).fit(table.X, table.y)


def check(model, table, dialect, server, tolerance=1e-9, metadata=None) -> None:
    """The query equals Python on rows of the table, on rows with unseen categories, and its own check finds nothing."""
    X = table.X.with_columns(pl.Series("select", ["never seen", *table.X["select"][1:]]))
    export = to_sql(stored(model, X, metadata), dialect=dialect, table=HOSTILE, keep=[], rows=X)
    rows, differences = run(export, X, HOSTILE, server(dialect))
    assert differences == 0
    compare([row[: 1 + len(getattr(model, "classes_", ()))] for row in rows], model, X, tolerance)


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("name", [*CLASSIFIERS, *slow(*MORE_CLASSIFIERS)])
def test_classifiers_of_the_catalog(name, dialect, server):
    table = hostile_table()
    if name == "catboost":
        table = table_of(table.X.drop("many`levels"), table.y)
    check(fitted(name, table), table, dialect, server, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_two_classes(name, server):
    table = hostile_table(classes=2)
    check(fitted(name, table), table, "duckdb", server, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("dialect", DATABASES)
@pytest.mark.parametrize("name", [*REGRESSORS, *slow(*MORE_REGRESSORS)])
def test_regressors_of_the_catalog(name, dialect, server):
    table = hostile_table(quantity=True)
    if name == "catboost":
        table = table_of(table.X.drop("many`levels"), table.y)
    check(fitted(name, table, "regression"), table, dialect, server, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
def test_boosters_of_model_files(name, task, server, tmp_path):
    """`foldwise export` opens a model file, in which a booster is no longer the estimator of its library."""
    table = hostile_table(quantity=task == "regression")
    table = table_of(table.X.drop("many`levels"), table.y)
    save_model(tmp_path / "model.foldwise", fitted(name, table, task), table.X, target="y")
    opened = open_model(tmp_path / "model.foldwise")
    check(opened.model, table, "duckdb", server, 1e-6 if name == "xgboost" else 1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", *slow("spark")])
def test_the_weighted_mean_of_a_run_with_costs(dialect, server):
    """Members with probabilities and with decision values, class frequencies mixed in, a calibrated mean, costs."""
    table = hostile_table(n=200)
    codes = np.unique(table.y, return_inverse=True)[1]
    coded = table_of(table.X, codes)
    members = [fitted(name, coded) for name in ("logistic_regression", "linear_svm")]
    given = [
        Calibrated(fitted("decision_tree", coded), method=method).fit(table.X, codes)
        for method in ("sigmoid", "temperature")
    ]
    labels = np.unique(table.y).tolist()
    blend = Blend(
        members, [0.6, 0.4], [None, given[0].calibrator_], given[1].calibrator_, [0.3, 0.3, 0.4], 0.05, labels
    )
    actions = ["call", "ignore"]
    costs = {"actions": actions, "classes": labels, "matrix": [[1.0, 0.0, 2.0], [0.0, 4.0, 1.0]]}
    check(blend, table, dialect, server, metadata={"costs": costs})


@pytest.mark.parametrize("bar", ["", "|"])
@pytest.mark.parametrize("dialect", [*DATABASES, *slow("spark")])
def test_sets_of_a_run_with_a_coverage(dialect, bar, server):
    """Classes are separated by |, or written as JSON if a class contains one; some sets are empty."""
    table = hostile_table()
    y = np.array([f"{label}{bar}" for label in table.y])
    model, rule = fitted("logistic_regression", table_of(table.X, y)), CoverageRule(0.9, False, 0.55, 100)
    given = stored(model, table.X, {"coverage": rule.to_metadata()})
    export = to_sql(given, dialect=dialect, table="rows", keep=[], rows=table.X)
    rows, differences = run(export, table.X, "rows", server(dialect))
    assert differences == 0
    sets = [set_text(one, model.classes_) for one in rule.sets(model.predict_proba(table.X))]
    assert [row[-1] for row in rows] == sets
    assert len(set(sets)) > 3


@pytest.mark.parametrize("quantile", [1.5, np.inf])
@pytest.mark.parametrize("dialect", [*DATABASES, *slow("spark")])
def test_intervals_of_a_run_with_a_coverage(dialect, quantile, server):
    """An infinite interval, of a rule that rests on too few rows, has no ends."""
    table = hostile_table(quantity=True)
    model, rule = fitted("ridge", table, "regression"), CoverageRule(0.9, False, quantile, 100)
    given = stored(model, table.X, {"coverage": rule.to_metadata()})
    export = to_sql(given, dialect=dialect, table="rows", keep=[], rows=table.X)
    rows, differences = run(export, table.X, "rows", server(dialect))
    assert differences == 0
    if np.isinf(quantile):
        assert {row[1:] for row in rows} == {(None, None)}
    else:
        ends = np.array([row[1:] for row in rows], dtype=float)
        np.testing.assert_allclose(ends, rule.intervals(model.predict(table.X)), rtol=1e-9)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature", "dirichlet"])
@pytest.mark.parametrize("classes", [2, 3])
def test_calibrated(method, classes, server):
    table = hostile_table(n=200, classes=classes)
    check(Calibrated(fitted("decision_tree", table), method=method).fit(table.X, table.y), table, "sqlite", server)


def test_a_mean_of_values_and_a_transformed_target(server):
    table = hostile_table(quantity=True)
    positive = table_of(table.X, np.exp(table.y / 3))
    members = [fitted("ridge", positive, "regression"), fitted("lasso", positive, "regression")]
    members[0].set_params(model__transform="log").fit(positive.X, positive.y)
    check(ValueBlend(members, [0.3, 0.7]), positive, "duckdb", server)


NUMERIC = {"gaussian": 'wid"th', "gamma": 'wid"th', "binned": 'wid"th', "poisson": "rings", "binomial": "rings"}


@pytest.mark.parametrize("dialect", ["sqlite", *slow("duckdb", "postgres")])
@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("family", [*NUMERIC, "bernoulli", "multinomial"])
def test_naive_bayes(family, missing, dialect, server):
    table = hostile_table()
    X = table.X.with_columns(flag=(table.X["rings"] > 4).cast(pl.Float64))
    families = {NUMERIC.get(family, {"bernoulli": "flag", "multinomial": "rings"}.get(family)): family}
    model = NaiveBayes(
        families=families,
        missing=missing,
        unseen="smooth",
        temperature=1.5,
        column_weights={"select": 0.5, "rings": 0.7},
    ).fit(X, table.y)
    check(model, table_of(X, table.y), dialect, server)


def test_an_impossible_row_gets_the_prior(server):
    X = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["u", "u", "v", "v"]})
    model = NaiveBayes(alpha=0).fit(X, ["no", "no", "yes", "yes"])
    row = pl.DataFrame({"a": ["x"], "b": ["v"]})
    export = to_sql(stored(model, X), dialect="sqlite", table="rows", keep=[], rows=X)
    rows, differences = run(export, row, "rows")
    assert differences == 0
    assert rows[0][1:] == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("family", ["kde", "text"])
def test_other_families_are_refused_by_name(family):
    X = (
        pl.DataFrame({"a": ["two words", "three more words"] * 4})
        if family == "text"
        else pl.DataFrame({"a": np.arange(8.0)})
    )
    model = NaiveBayes(families=family).fit(X, ["no", "yes"] * 4)
    with pytest.raises(InputError, match=f"'{family}' cannot be exported"):
        to_sql(model)


def test_unknown_models_are_refused_by_name():
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="one name per column of the model, 1 in total; got 2"):
        to_sql(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), columns=["a", "b"])
    for columns in (["a"], None):  # it does not ask for columns first
        with pytest.raises(InputError, match="KNeighborsClassifier cannot be exported to SQL"):
            to_sql(model, columns=columns)
    with pytest.raises(InputError, match="pass columns="):
        to_sql(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))


@pytest.mark.parametrize("threshold", [0.1, 1.5, -3.7, 1e-12, 16777217.0, 0.0, -0.0, 1e30])
def test_thresholds_of_single_precision(threshold):
    """A double goes to the same side as its float32, one double before and after the threshold as well."""
    moved = double_threshold(threshold)
    near = [moved, np.nextafter(moved, np.inf), np.nextafter(moved, -np.inf), threshold, float(np.float32(threshold))]
    near += [np.nextafter(np.float32(threshold), np.float32(side)) for side in (np.inf, -np.inf)]
    for x in map(float, near):
        assert (float(np.float32(x)) <= threshold) == (x <= moved)


def test_every_row_reaches_the_same_leaf(rng):
    """Cells at the thresholds of a tree, and the doubles beside them."""
    X = rng.normal(size=(300, 2)).astype(np.float32).astype(np.float64)
    y = np.arange(300.0)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)  # one leaf per row: the value names the leaf
    cuts = tree.tree_.threshold[tree.tree_.feature >= 0][:60]
    near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts.astype(np.float32)])
    cells = np.column_stack([near, near[::-1]])
    export = to_sql(tree, columns=["a", "b"], keep=[], rows=pl.DataFrame(cells[:5], schema=["a", "b"], orient="row"))
    rows, differences = run(export, pl.DataFrame(cells, schema=["a", "b"], orient="row"), "rows")
    assert differences == 0
    assert [row[0] for row in rows] == tree.predict(cells).tolist()


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_trees_deeper_than_a_parser(dialect):
    """A chain of 300 nodes, and leaves whose values and classes name them."""
    X = np.arange(300.0)[:, None]
    frame = pl.DataFrame({"a": X[:, 0]})
    regressor = DecisionTreeRegressor(splitter="best").fit(X, 2.0 ** np.arange(300))
    classifier = DecisionTreeClassifier(random_state=0).fit(X, np.arange(300) % 7)
    assert regressor.get_depth() > 100
    for tree in (regressor, classifier):
        export = to_sql(tree, dialect=dialect, columns=["a"], keep=[], rows=frame)
        rows, differences = run(export, frame, "rows")
        assert differences == 0
        assert [row[0] for row in rows] == tree.predict(X).tolist()


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("random_forest", "duckdb"),
        ("lightgbm", "duckdb"),
        *slow(*product(["hist_gradient_boosting", "xgboost", "catboost"], ["duckdb", "sqlite", "postgres"])),
        *slow(*product(["random_forest", "lightgbm"], ["sqlite", "postgres"])),
        *slow(*product(["random_forest", "catboost"], ["spark"])),
    ],
)
def test_large_forests_as_a_table_of_nodes(name, dialect, server, monkeypatch):
    """Missing cells, categories and one forest per class; the plain form of the same forest is tested above."""
    monkeypatch.setattr("foldwise.exports.sql.node_tables.MOST_SPLITS", 10)
    table = hostile_table()
    table = table_of(table.X.drop("many`levels"), table.y) if name == "catboost" else table
    model = fitted(name, table)
    assert "_nodes" in to_sql(stored(model, table.X), dialect=dialect).query
    check(model, table, dialect, server, 1e-6 if name == "xgboost" else 1e-9)


def test_a_large_forest_of_many_classes(rng, monkeypatch):
    """SQLite repeats a step for each use of it, so one step adds up the trees of all classes."""
    monkeypatch.setattr("foldwise.exports.sql.node_tables.MOST_SPLITS", 10)
    X = rng.normal(size=(300, 2))
    forest = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4).fit(X, np.arange(300) % 25)
    frame = pl.DataFrame(X, schema=["a", "b"], orient="row")
    export = to_sql(forest, dialect="sqlite", columns=["a", "b"], keep=[], rows=frame)
    rows, differences = run(export, frame, "rows")
    assert differences == 0
    compare(rows, forest, X, 1e-9)


@pytest.mark.parametrize("most", [10, 10**9])
@pytest.mark.parametrize("dialect", ["sqlite", *slow("duckdb", "postgres")])
def test_classes_that_share_the_splits_of_catboost(dialect, most, server, rng, monkeypatch):
    """Each tree is written once and not once per class, as a table and as expressions."""
    catboost = pytest.importorskip("catboost")
    monkeypatch.setattr("foldwise.exports.sql.node_tables.MOST_SPLITS", most)
    X = rng.normal(size=(200, 2))
    model = catboost.CatBoostClassifier(n_estimators=3, depth=3, verbose=False, allow_writing_files=False)
    model.fit(X, np.arange(200) % 8)
    forests = [list(forest) for forest in read_boosted(model).forests]
    shared = with_shared_splits(forests)
    assert shared is not None
    assert [tree.values.shape[1] for tree in shared] == [8] * 3
    frame = pl.DataFrame(X, schema=["a", "b"], orient="row")
    export = to_sql(model, dialect=dialect, columns=["a", "b"], keep=[], rows=frame)
    n_splits = sum(child >= 0 for tree in shared for child in tree.left)
    assert export.query.count(" <= ") <= n_splits  # not one comparison per split and class
    rows, differences = run(export, frame, "rows", server(dialect))
    assert differences == 0
    np.testing.assert_allclose(np.array([row[1:] for row in rows], dtype=float), model.predict_proba(X), atol=1e-9)
    assert [row[0] for row in rows] == model.predict(X).ravel().tolist()


def test_forests_with_other_splits_are_not_merged(rng):
    X = rng.normal(size=(90, 2))
    model = HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4).fit(X, rng.integers(0, 3, 90))
    assert with_shared_splits([list(forest) for forest in read_boosted(model).forests]) is None


@pytest.mark.parametrize("dialect", [*DATABASES, *slow("spark")])
def test_boundary_values_and_the_start_of_a_large_boosted_forest(dialect, server, rng, monkeypatch):
    """Cells at thresholds and the doubles beside them reach the same leaves, and rows keep their order."""
    monkeypatch.setattr("foldwise.exports.sql.node_tables.MOST_SPLITS", 10)
    X = rng.normal(size=(300, 2)).astype(np.float32).astype(np.float64)
    forest = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, np.arange(300.0))
    trees = [one.tree_ for one in forest.estimators_[:, 0]]
    cuts = np.concatenate([tree.threshold[tree.feature >= 0] for tree in trees])
    near = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts.astype(np.float32)])
    cells = np.column_stack([near, near[::-1]])
    frame = pl.DataFrame(cells, schema=["a", "b"], orient="row")
    export = to_sql(forest, dialect=dialect, columns=["a", "b"], keep=[], rows=frame)
    assert "_nodes" in export.query
    rows, differences = run(export, frame, "rows", server(dialect))
    assert differences == 0
    np.testing.assert_allclose([row[0] for row in rows], forest.predict(cells), rtol=1e-12)


def test_missing_cells_in_a_forest_of_scikit_learn(rng):
    X = rng.normal(size=(200, 3))
    X[rng.random((200, 3)) < 0.2] = np.nan
    forest = RandomForestClassifier(5, random_state=0).fit(X, rng.integers(0, 3, 200))
    frame = pl.DataFrame(X, schema=["a", "b", "c"], orient="row")
    export = to_sql(forest, columns=["a", "b", "c"], keep=[], rows=frame)
    rows, differences = run(export, frame, "rows")  # NaN and not NULL
    assert differences == 0
    compare(rows, forest, X, 1e-12)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -2.5, 0.0, -0.0, 1e22, 123456789.123])
def test_doubles_are_read_back_exactly(value):
    import sqlite3

    import duckdb

    assert duckdb.sql(f"SELECT {dialect_of('duckdb').double_literal(value)}").fetchall() == [(value,)]
    assert (
        sqlite3.connect(":memory:").execute(f"SELECT {dialect_of('sqlite').double_literal(value)}").fetchone()[0]
        == value
    )


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_every_dialect_is_parsed_by_sqlglot(dialect):
    """Also those of databases that cannot run here: the text is one SELECT over the table, whatever names contain."""
    table = hostile_table()
    export = to_sql(stored(fitted("logistic_regression", table), table.X), dialect=dialect, table=HOSTILE, rows=table.X)
    for text in (export.query, export.check):
        (statement,) = sqlglot.parse(text, dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)
    tables = {one.name for one in sqlglot.parse_one(export.query, dialect=dialect).find_all(sqlglot.exp.Table)}
    assert {name for name in tables if not name.startswith("step")} == {HOSTILE}


@pytest.mark.parametrize("dialect", ["mysql", *slow("bigquery", "snowflake")])
@pytest.mark.parametrize("name", ["naive_bayes", "decision_tree", *slow("random_forest", "xgboost", "catboost")])
def test_models_and_costs_in_databases_that_do_not_run_here(name, dialect):
    table = hostile_table(n=60)
    table = table_of(table.X.drop("many`levels"), table.y)
    labels = np.unique(table.y).tolist()
    costs = {"actions": ["call", "ignore"], "classes": labels, "matrix": [[1.0, 0.0, 2.0], [0.0, 4.0, 1.0]]}
    model = fitted(name, table)
    if name == "naive_bayes":
        model.set_params(model__families="auto").fit(table.X, table.y)
    export = to_sql(stored(model, table.X, {"costs": costs}), dialect=dialect, table=HOSTILE, rows=table.X)
    for text in (export.query, export.check):
        (statement,) = sqlglot.parse(text, dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)
    assert "predicted_decision" in sqlglot.parse_one(export.query, dialect=dialect).named_selects


def test_columns_that_a_column_transformer_passes_on():
    X = pl.DataFrame({"a": ["x", "y", "x", "z"], "b": [1.0, 2.0, 3.0, 4.0]})
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["a"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(X, [1, 2, 1, 2])
    export = to_sql(model, columns={"a": "text", "b": "number"}, keep=[], rows=X)
    rows, differences = run(export, X, "rows")
    assert differences == 0
    assert [row[0] for row in rows] == [1, 2, 1, 2]


def test_files_of_an_export(tmp_path):
    table = hostile_table()
    export = to_sql(stored(fitted("decision_tree", table), table.X), rows=table.X)
    files = export.write(tmp_path / "model.sql")
    assert [path.name for path in files] == ["model.sql", "model.check.sql"]
    assert files[0].read_text().endswith(";\n")


def test_kept_columns_come_first(server):
    table = hostile_table()
    model = fitted("decision_tree", table)
    export = to_sql(stored(model, table.X), table="rows", keep=["rings"], rows=table.X)
    rows, _ = run(export, table.X, "rows")
    assert [row[0] for row in rows] == table.X["rings"].to_list()
    with pytest.raises(InputError, match="keep= names 'predicted_class'"):
        to_sql(stored(model, table.X), keep=["predicted_class"])


def test_a_model_that_needs_no_column():
    """A tree of one leaf, in the database with the most reserved words."""
    tree = DecisionTreeClassifier(max_depth=1).fit([[1.0], [1.0]], ["no", "yes"])
    frame = pl.DataFrame({"a": [1.0, 2.0]})
    rows, differences = run(to_sql(tree, dialect="sqlite", columns=["a"], keep=[], rows=frame), frame, "rows")
    assert differences == 0
    assert rows == [("no", 0.5, 0.5)] * 2


@pytest.mark.parametrize("name", ["_baseline_prediction", "_predictors", "_preprocessor"])
def test_a_private_attribute_of_another_version(name):
    model = HistGradientBoostingClassifier(max_iter=2).fit([[float(i)] for i in range(60)], [i > 30 for i in range(60)])
    delattr(model, name)
    with pytest.raises(InputError, match=rf"Classifier.{name} is missing. Hint: use version 1.9.1 to 1.9"):
        to_sql(model, columns=["a"], table="t")
