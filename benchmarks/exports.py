"""SQL exports on every table: do databases predict what Python predicts, and how fast? Writes benchmarks/exports.md.

Each model of the catalog that can be exported is fitted on up to 300 rows of each table, with 10 trees where it has
trees, and predicts up to 1,000 rows in DuckDB, SQLite and, if FOLDWISE_POSTGRES names a server, PostgreSQL. Then DuckDB
and Python predict 1,000,000 rows of one table with five models. The real tables are those of FOLDWISE_DATA or
../shared/data. `python benchmarks/exports.py` takes about ten minutes; `--tables` and `--speed` run a part of it.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.exports.databases import in_duckdb, in_postgres, in_sqlite  # noqa: E402
from tests.tables import catalogue  # noqa: E402

from foldwise import StoredModel, models_for, read_table, to_sql  # noqa: E402
from foldwise.errors import FoldwiseError  # noqa: E402
from foldwise.models import TransformedTarget, outline  # noqa: E402
from foldwise.storage.table_check import kinds_of  # noqa: E402

TRAINED, PREDICTED, TREES = 300, 1_000, 10
SIZES = ("n_estimators", "max_iter")
SPEED = ("logistic_regression", "naive_bayes", "decision_tree", "lightgbm", "random_forest")


def fitted(spec: Any, table: Any, X: pl.DataFrame, y: Any, trees: int | None) -> Any:
    """A pipeline of the catalog, with few trees."""
    pipeline = spec.pipeline(outline(table))
    model = pipeline[-1].regressor if isinstance(pipeline[-1], TransformedTarget) else pipeline[-1]
    prefix = "model__regressor__" if isinstance(pipeline[-1], TransformedTarget) else "model__"
    names = model.get_params()
    for size in SIZES:
        for name in (size, f"estimator__{size}"):
            is_forest = name in names and (size != "max_iter" or "Hist" in type(model).__name__)
            if is_forest and trees is not None and spec.name not in ("logistic_regression", "mlp"):
                pipeline.set_params(**{prefix + name: trees})
    if spec.name == "naive_bayes":
        pipeline.set_params(model__families="auto")
    return pipeline.fit(X, y)


def differences(rows: list[Any], model: Any, X: pl.DataFrame) -> tuple[int, float]:
    """The number of labels that differ, and the largest difference of probabilities, or of values relative to them."""
    if not hasattr(model, "classes_"):
        truth = np.asarray(model.predict(X), dtype=float)
        found = np.array([row[0] for row in rows], dtype=float)
        return 0, float((np.abs(found - truth) / np.maximum(1.0, np.abs(truth))).max())
    labels = sum(a[0] != b for a, b in zip(rows, model.predict(X).tolist(), strict=True))
    if not hasattr(model, "predict_proba"):
        return labels, 0.0
    found = np.array([row[1:] for row in rows], dtype=float)
    return labels, float(np.abs(found - model.predict_proba(X)).max())


def agreement() -> list[str]:
    """Lines of the page: one per model and database, over all tables."""
    server = os.environ.get("FOLDWISE_POSTGRES")
    databases = {"duckdb": in_duckdb, "sqlite": in_sqlite} | ({"postgres": in_postgres} if server else {})
    worst: dict[tuple[str, str], list[float]] = {}
    labels, refused, n_tables = Counter[tuple[str, str]](), Counter[str](), 0
    for name, entry in sorted(catalogue().items()):
        try:
            table = read_table(entry["path"], target=entry["target"])
        except FoldwiseError as error:
            print(f"{name}: {error}")
            continue
        n_tables += 1
        order = np.random.default_rng(0).permutation(table.X.height)
        X, y = table.X[order[:TRAINED]], np.asarray(table.y)[order[:TRAINED]]
        rows = table.X[order[:PREDICTED]]
        for spec in models_for(outline(table)):
            try:
                model = fitted(spec, table, X, y, TREES)
                stored = StoredModel(model, kinds_of(table.X), getattr(model, "classes_", np.empty(0)), "y", {}, {})
                exports = {one: to_sql(stored, dialect=one, keep=[], rows=rows) for one in databases}
            except FoldwiseError:
                refused[spec.name] += 1
                continue
            except ValueError as error:  # too few rows of a class for this model
                print(f"{name}, {spec.name}: {str(error)[:100]}")
                continue
            for one, run in databases.items():
                answers, check = run(exports[one], rows, "rows", server)
                wrong, gap = differences(answers, model, rows)
                worst.setdefault((spec.name, one), []).append(gap)
                labels[spec.name, one] += wrong
                if wrong or check or gap > (1e-6 if spec.name == "xgboost" else 1e-9):
                    print(f"{name}, {spec.name}, {one}: {wrong} labels, {gap:.1e}, check {check}", flush=True)
        print(name, flush=True)
    lines = [f"{n_tables} tables, up to {PREDICTED:,} rows each.", ""]
    lines += ["| model | database | tables | labels that differ | largest difference |", "|---|---|--:|--:|--:|"]
    for (model, one), gaps in sorted(worst.items()):
        lines.append(f"| {model} | {one} | {len(gaps)} | {labels[model, one]} | {max(gaps):.0e} |")
    others = ", ".join(f"{name} on {count}" for name, count in sorted(refused.items()))
    return [*lines, "", f"Refused by name: {others}."]


def speed(n_rows: int = 1_000_000) -> list[str]:
    """Lines of the page: seconds of DuckDB and of Python for the same rows, best of three."""
    table = read_table("examples/loans.csv", target="repaid")
    specs = {spec.name: spec for spec in models_for(outline(table))}
    rows = table.X.sample(n_rows, with_replacement=True, seed=0)
    lines = [
        "| model | rows | SQL | DuckDB, two threads | Python `predict_proba` | ratio |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in SPEED:
        model = fitted(specs[name], table, table.X, table.y, None)
        stored = StoredModel(model, kinds_of(table.X), model.classes_, "repaid", {}, {})
        export = to_sql(stored, keep=[])
        with duckdb.connect(config={"threads": 2}) as connection:
            connection.register("source", rows.to_arrow())
            connection.execute("CREATE TABLE rows AS SELECT * FROM source")
            sql = best(lambda c=connection, q=export.query: c.execute(f"SELECT SUM(p) FROM ({q}) AS t(a, b, p)"))
        python = best(lambda m=model: m.predict_proba(rows), 1)
        size = f"{len(export.query) / 1e6:.2f} MB"
        lines.append(f"| {name} | {n_rows:,} | {size} | {sql:.2f} s | {python:.2f} s | {python / sql:.1f} × |")
        print(lines[-1], flush=True)
    return lines


def planning() -> list[str]:
    """Lines of the page: the size of a forest of 500 trees, and the time until DuckDB answers for one row."""
    table = read_table("examples/loans.csv", target="repaid")
    specs = {spec.name: spec for spec in models_for(outline(table))}
    model = fitted(specs["random_forest"], table, table.X, table.y, 500)
    stored = StoredModel(model, kinds_of(table.X), model.classes_, "repaid", {}, {})
    export = to_sql(stored, keep=[])
    rows = table.X[:1].to_arrow()
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        seconds = best(lambda: connection.execute(export.query).fetchall(), 1)
    leaves = sum(one.tree_.n_leaves for one in model[-1].estimators_)
    return [
        f"A forest of 500 trees with {leaves:,} leaves is {len(export.query) / 1e6:.1f} MB of SQL. DuckDB needs "
        f"{seconds:.1f} s to parse and plan it, and to predict one row."
    ]


def best(call: Any, times: int = 3) -> float:
    """The shortest of several times."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true", help="only the agreement on all tables")
    parser.add_argument("--speed", action="store_true", help="only the speed")
    given = parser.parse_args()
    both = given.tables == given.speed
    warnings.simplefilter("ignore")
    lines = ["# Benchmarks: models as SQL", "", "Made by `benchmarks/exports.py`.", ""]
    if both or given.tables:
        lines += ["## Agreement with Python", "", *agreement(), ""]
    if both or given.speed:
        lines += ["## Speed", "", *speed(), "", *planning(), ""]
    lines.append(f"DuckDB {duckdb.__version__}, SQLite {sqlite3.sqlite_version}.")
    text = "\n".join(lines) + "\n"
    if both:
        (HERE / "exports.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
