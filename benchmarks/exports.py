"""Exports on every table: do databases and onnxruntime predict what Python predicts, and how fast?

Writes benchmarks/exports.md. Each model of the catalog that can be exported is fitted on up to 300 rows of each table,
with 10 trees where it has trees, and predicts up to 500 rows in DuckDB, SQLite, onnxruntime and, if it is installed,
PostgreSQL. Then DuckDB and Python predict 1,000,000 rows of one table with five models. The real tables are those of
FOLDWISE_DATA or ../shared/data.

`--tables` measures the agreement. Its results are kept in `--cache`, so that it can be interrupted (`--minutes`).
`--speed` measures the speed; `--page` writes the page from the cache.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import joblib
import numpy as np
import onnxruntime
import polars as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.exports.databases import in_duckdb, in_postgres, in_sqlite  # noqa: E402
from tests.postgresql import program, running_server  # noqa: E402
from tests.tables import catalogue  # noqa: E402

from foldwise import StoredModel, models_for, read_table, to_onnx, to_sql  # noqa: E402
from foldwise.errors import FoldwiseError  # noqa: E402
from foldwise.exports.onnx.registry import CLASSIFIERS, REGRESSORS  # noqa: E402
from foldwise.exports.sql.node_tables import MOST_SPLITS  # noqa: E402
from foldwise.models import TransformedTarget, outline  # noqa: E402
from foldwise.storage.table_check import kinds_of  # noqa: E402

TRAINED, PREDICTED, TREES = 300, 500, 10
SPEED_TREES = 20
SIZES = ("n_estimators", "max_iter")
SPEED = ("logistic_regression", "naive_bayes", "decision_tree", "lightgbm", "random_forest")
DATABASES = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgres": in_postgres}
TIE = 2e-6  # probabilities that are so near are tied


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


def differences(labels: list[Any], numbers: Any, model: Any, X: pl.DataFrame, ties: bool) -> tuple[int, float]:
    """The number of labels that differ, and the largest difference of probabilities, or of values relative to them."""
    if not hasattr(model, "classes_"):
        truth = np.asarray(model.predict(X), dtype=float)
        return 0, float((np.abs(np.asarray(numbers).ravel() - truth) / np.maximum(1.0, np.abs(truth))).max())
    wrong = np.array(labels, dtype=object) != np.array(model.predict(X).tolist(), dtype=object)
    if not hasattr(model, "predict_proba"):
        return int(wrong.sum()), 0.0
    proba = model.predict_proba(X)
    ordered = np.sort(proba, axis=1)
    tied = ordered[:, -1] - ordered[:, -2] <= TIE if ordered.shape[1] > 1 else np.zeros(len(proba), dtype=bool)
    if ties:
        wrong &= ~tied
    return int(wrong.sum()), float(np.abs(np.asarray(numbers, dtype=float) - proba).max())


def by_sql(stored: StoredModel, name: str, rows: pl.DataFrame, server: str | None) -> dict[str, Any]:
    """Labels and numbers that differ in one database."""
    export = to_sql(stored, dialect=name, keep=[], rows=rows)
    answers, check = DATABASES[name](export, rows, "rows", server)
    is_quantity = not hasattr(stored.model, "classes_")
    labels, numbers = [row[0] for row in answers], [row[0:] if is_quantity else row[1:] for row in answers]
    wrong, gap = differences(labels, numbers, stored.model, rows, ties=False)
    return {"wrong": wrong, "gap": gap, "check": check}


def by_onnx(stored: StoredModel, rows: pl.DataFrame) -> dict[str, Any]:
    """Labels away from ties and numbers that differ in onnxruntime."""
    export = to_onnx(stored)
    if "" in {text for column in rows.select(pl.col(pl.String)) for text in column.unique().to_list()}:
        export = to_onnx(stored, missing_text="(missing)")
    found = export.predict(rows)
    numbers = found.get("predicted_p", found.get("predicted_value"))
    labels = found["predicted_class"].tolist() if "predicted_class" in found else []
    wrong, gap = differences(labels, numbers, stored.model, rows, ties=True)
    return {"wrong": wrong, "gap": gap, "check": 0}


def measure(cache: Path, minutes: float) -> None:
    """Append one line per table and model to the cache, until all are there or the time is over."""
    end = time.monotonic() + 60 * minutes
    done = {(one["table"], one["model"]) for one in read_cache(cache)}
    with ExitStack() as stack, cache.open("a", encoding="utf-8") as file:
        server = stack.enter_context(running_server()) if program("postgres") else None
        for name, entry in sorted(catalogue().items(), key=lambda one: Path(one[1]["path"]).stat().st_size):
            if (name, "") in done:
                continue
            try:
                table = read_table(entry["path"], target=entry["target"])
                specs = models_for(outline(table))
            except FoldwiseError as error:
                print(f"{name}: {error}", flush=True)
                continue
            order = np.random.default_rng(0).permutation(table.X.height)
            X, y, rows = table.X[order[:TRAINED]], np.asarray(table.y)[order[:TRAINED]], table.X[order[:PREDICTED]]
            for spec in specs:
                if time.monotonic() > end:
                    return
                if (name, spec.name) not in done:
                    file.write(json.dumps(compared(name, spec, table, (X, y, rows), server)) + "\n")
                    file.flush()
            file.write(json.dumps({"table": name, "model": ""}) + "\n")
            print(name, flush=True)


def compared(name: str, spec: Any, table: Any, parts: Any, server: str | None) -> dict[str, Any]:
    """What one model predicts for one table in all places."""
    X, y, rows = parts
    line: dict[str, Any] = {"table": name, "model": spec.name}
    if not is_known(spec.pipeline(outline(table))[-1]):  # do not fit what is refused anyway
        return {**line, "duckdb": {"refused": spec.name}, "onnx": {"refused": spec.name}}
    try:
        model = fitted(spec, table, X, y, TREES)
    except (FoldwiseError, ValueError) as error:  # too few rows of a class for this model
        return {**line, "unfitted": str(error)[:200]}
    stored = StoredModel(model, kinds_of(table.X), getattr(model, "classes_", np.empty(0)), "y", {}, {})
    for where in ("duckdb", "sqlite", *(["postgres"] if server else []), "onnx"):
        try:
            found = by_onnx(stored, rows) if where == "onnx" else by_sql(stored, where, rows, server)
        except FoldwiseError as error:
            found = {"refused": str(error)[:200]}
        except Exception as error:  # a limit of the database
            found = {"failed": f"{type(error).__name__}: {error}"[:300]}
        line[where] = found
        most = 1e-6 if where == "onnx" or spec.name == "xgboost" else 1e-9
        if "failed" in found or found.get("wrong") or found.get("check") or found.get("gap", 0.0) > most:
            print(f"{name}, {spec.name}, {where}: {found}", flush=True)
    return line


def is_known(model: Any) -> bool:
    """Whether a model is of a type that has an export."""
    inner = getattr(model, "regressor", getattr(model, "estimator", None))
    if type(model).__name__ in ("TransformedTarget", "CodedLabels"):
        return is_known(inner)
    return f"{type(model).__module__}.{type(model).__qualname__}" in {**CLASSIFIERS, **REGRESSORS}


def read_cache(cache: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()] if cache.exists() else []


def agreement(cache: Path) -> list[str]:
    """Lines of the page: one per model and place, over all tables."""
    worst: dict[tuple[str, str], list[float]] = {}
    labels, checks, refused, failed = Counter[Any](), Counter[Any](), Counter[Any](), []
    found = list({(one["table"], one["model"]): one for one in read_cache(cache) if one["model"]}.values())
    for one in found:
        for where in ("duckdb", "sqlite", "postgres", "onnx"):
            here, key = one.get(where, {}), (one["model"], where)
            if "gap" in here:
                worst.setdefault(key, []).append(here["gap"])
                labels[key] += here["wrong"]
                checks[key] += here["check"]
            elif "refused" in here:
                refused[one["model"], "ONNX" if where == "onnx" else "SQL"] += where in ("onnx", "duckdb")
            elif "failed" in here:
                failed.append(f"- {one['table']}, {one['model']}, {where}: {here['failed'].splitlines()[0][:120]}")
    n_tables = len({one["table"] for one in found})
    lines = [f"{n_tables} tables, up to {PREDICTED:,} rows each. Models were fitted on up to {TRAINED} rows.", ""]
    lines += ["| model | in | tables | labels that differ | largest difference |", "|---|---|--:|--:|--:|"]
    for (model, where), gaps in sorted(worst.items()):
        lines.append(f"| {model} | {where} | {len(gaps)} | {labels[model, where]} | {max(gaps):.0e} |")
    lines += ["", f"Rows that the check queries of the SQL exports count: {sum(checks.values())}.", ""]
    others = ", ".join(f"{name} to {to} on {count}" for (name, to), count in sorted(refused.items()) if count)
    lines.append(f"Refused by name (model, format, number of tables): {others or 'none'}.")
    return [*lines, *(["", "Errors of databases:", "", *failed] if failed else [])]


def speed(n_rows: int = 1_000_000) -> list[str]:
    """Lines of the page: seconds of DuckDB (best of two) and of Python for the same rows."""
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
        python = best(lambda m=model: m.predict_proba(rows), 1)
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
        f"Forests of more than {MOST_SPLITS:,} splits are tables of nodes.",
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", action="store_true", help="measure the agreement on all tables")
    parser.add_argument("--speed", action="store_true", help="measure the speed")
    parser.add_argument("--orbital", help="compare with orbital: the Python of an environment with orbital")
    parser.add_argument("--page", action="store_true", help="write the page")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "foldwise-exports.jsonl")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop measuring the agreement after this time")
    given = parser.parse_args()
    every = not (given.tables or given.speed or given.page or given.orbital)
    warnings.simplefilter("ignore")
    times = given.cache.with_suffix(".speed.md")
    if every or given.tables:
        measure(given.cache, given.minutes)
    if every or given.speed:
        times.write_text("\n".join([*speed(), "", *planning(), ""]), encoding="utf-8")
        print(times.read_text(encoding="utf-8"))
    peer = given.cache.with_suffix(".orbital.md")
    if given.orbital:
        peer.write_text("\n".join([*orbital(given.orbital), ""]), encoding="utf-8")
    if every or given.page:
        lines = ["# Benchmarks: models as SQL and ONNX", "", "Made by `benchmarks/exports.py`.", ""]
        lines += ["## Agreement with Python", "", *agreement(given.cache), ""]
        if times.exists():
            lines += ["## Speed", "", times.read_text(encoding="utf-8")]
        if peer.exists():
            lines += ["## Beside orbital", "", peer.read_text(encoding="utf-8")]
        versions = (
            f"DuckDB {duckdb.__version__}, SQLite {sqlite3.sqlite_version}, onnxruntime {onnxruntime.__version__}"
        )
        lines.append(f"{versions}.")
        lines += ["", f"Tables: {', '.join(sorted({one['table'] for one in read_cache(given.cache)}))}."]
        (HERE / "exports.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
