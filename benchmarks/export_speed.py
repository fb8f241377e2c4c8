"""The part of benchmarks/exports.py that measures speed, and that compares with orbital."""

from __future__ import annotations

import subprocess
import tempfile
import time
from typing import Any

import duckdb
import joblib
import numpy as np

from export_agreement import catalogue, fitted
from foldwise import StoredModel, models_for, read_table, to_sql
from foldwise.errors import FoldwiseError
from foldwise.exports.sql.node_tables import MOST_SPLITS
from foldwise.models import outline
from foldwise.storage.table_check import kinds_of

SPEED_TREES = 20
SPEED = ("logistic_regression", "naive_bayes", "decision_tree", "lightgbm", "random_forest")


def speed(n_rows: int = 1_000_000) -> list[str]:
    """Lines of the page: seconds of DuckDB and of Python for the same rows, the best of two."""
    table = read_table("examples/loans.csv", target="repaid")
    specs = {spec.name: spec for spec in models_for(outline(table))}
    rows = table.X.sample(n_rows, with_replacement=True, seed=0)
    lines = [
        f"Forests have {SPEED_TREES} trees. Both use two threads where they can. The query adds up the probability of "
        "the last class, so DuckDB need not compute the label.",
        "",
        "| model | rows | SQL | DuckDB, two threads | Python `predict_proba` | ratio |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in SPEED:
        model = fitted(specs[name], table, table.X, table.y, SPEED_TREES)
        stored = StoredModel(model, kinds_of(table.X), model.classes_, "repaid", {}, {})
        export = to_sql(stored, keep=[])
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.register("source", rows.to_arrow())
            connection.execute("CREATE TABLE rows AS SELECT * FROM source")
            sql = best(lambda c=connection, q=export.query: c.execute(f"SELECT SUM(p) FROM ({q}) AS t(a, b, p)"), 2)
        python = best(lambda m=model: m.predict_proba(rows), 2)
        size = f"{len(export.query) / 1e6:.2f} MB"
        lines.append(f"| {name} | {n_rows:,} | {size} | {sql:.2f} s | {python:.2f} s | {python / sql:.1f} × |")
        print(lines[-1], flush=True)
    return lines


def planning(planned: tuple[int, ...] = (5, 10, 20, 100, 500)) -> list[str]:
    """Lines of the page: the size of forests as SQL, and the time until DuckDB answers for one row."""
    table = read_table("examples/loans.csv", target="repaid")
    specs = {spec.name: spec for spec in models_for(outline(table))}
    lines = ["| trees | leaves | SQL | DuckDB plans it and predicts one row |", "|--:|--:|--:|--:|"]
    for trees in planned:
        model = fitted(specs["random_forest"], table, table.X, table.y, trees)
        stored = StoredModel(model, kinds_of(table.X), model.classes_, "repaid", {}, {})
        query = to_sql(stored, keep=[]).query
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.register("rows", table.X[:1].to_arrow())
            seconds = f"{best(lambda c=connection, q=query: c.execute(q).fetchall(), 2):.2f} s"
        leaves = sum(one.tree_.n_leaves for one in model[-1].estimators_)
        lines.append(f"| {trees} | {leaves:,} | {len(query) / 1e6:.2f} MB | {seconds} |")
    return [
        "Random forests of one table with 1,200 rows:",
        "",
        *lines,
        "",
        f"Forests are lists of nodes if their splits, times the classes, are more than {MOST_SPLITS:,}.",
    ]


ORBITAL = """
import sys, joblib, orbital, orbital.types
names, models = joblib.load(sys.argv[1])
found = {}
for name, model in models.items():
    try:
        parsed = orbital.parse_pipeline(model, features={one: orbital.types.DoubleColumnType() for one in names})
        found[name] = orbital.export_sql("rows", parsed, dialect="duckdb")
    except Exception as error:
        found[name] = f"refused: {type(error).__name__}: {error}"
joblib.dump(found, sys.argv[2])
"""


def orbital(python: str, n_rows: int = 100_000) -> list[str]:
    """Lines of the page: queries of orbital, written by its own Python, and ours for the same pipelines."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    table = read_table(catalogue()["breast_cancer"]["path"], target=catalogue()["breast_cancer"]["target"])
    X, names = table.X.to_numpy(), table.X.columns
    makes = {
        "logistic regression": LogisticRegression(),
        "decision tree": DecisionTreeClassifier(random_state=0),
        "random forest, 10 trees": RandomForestClassifier(10, random_state=0),
        "gradient boosting, 10 trees": GradientBoostingClassifier(n_estimators=10, random_state=0),
        "histogram gradient boosting, 10 trees": HistGradientBoostingClassifier(max_iter=10, random_state=0),
        "Gaussian naive Bayes": GaussianNB(),
    }
    models = {name: make_pipeline(StandardScaler(), model).fit(X, np.asarray(table.y)) for name, model in makes.items()}
    with tempfile.TemporaryDirectory() as folder:
        given, made = f"{folder}/models", f"{folder}/queries"
        joblib.dump((names, models), given)
        subprocess.run([python, "-c", ORBITAL, given, made], check=True, capture_output=True)
        theirs = joblib.load(made)
    rows = table.X.sample(n_rows, with_replacement=True, seed=0)
    lines = [
        f"The same pipelines of scikit-learn, {n_rows:,} rows of 30 columns in DuckDB. The difference is the largest "
        "one of the probability of the last class from `predict_proba`.",
        "",
        "| model | orbital | difference | Foldwise | difference |",
        "|---|--:|--:|--:|--:|",
    ]
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("source", rows.to_arrow())
        connection.execute("CREATE TABLE rows AS SELECT * FROM source")
        for name, model in models.items():
            truth = model.predict_proba(rows.to_numpy())[:, -1]
            cells = [name, *answered(connection, theirs[name], truth)]
            try:
                query = to_sql(model, columns=names, keep=[]).query
            except FoldwiseError:
                query = "refused"
            lines.append(f"| {' | '.join([*cells, *answered(connection, query, truth)])} |")
            print(lines[-1], flush=True)
    return lines


def answered(connection: Any, query: str, truth: Any) -> list[str]:
    """The time of a query, and its largest difference."""
    if query.startswith("refused"):
        return ["refused", ""]
    try:
        seconds = best(lambda: connection.execute(query).fetchnumpy(), 2)
    except duckdb.Error as error:
        return [f"fails: {type(error).__name__}", ""]
    columns = connection.execute(query).fetchnumpy()
    last = np.asarray(columns[list(columns)[-1]])
    if last.dtype.kind != "f":
        return [f"{seconds:.2f} s", "no probabilities"]
    return [f"{seconds:.2f} s", f"{np.abs(last - truth).max():.0e}"]


def best(call: Any, times: int = 3) -> float:
    """The shortest of several times."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)
