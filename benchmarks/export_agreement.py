"""The part of benchmarks/exports.py that compares predictions of exported models with those of Python."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.exports.databases import in_duckdb, in_postgres, in_spark, in_sqlite  # noqa: E402
from tests.postgresql import program, running_server  # noqa: E402
from tests.spark import running_spark  # noqa: E402
from tests.tables import catalogue  # noqa: E402

from foldwise import StoredModel, models_for, read_table, to_onnx, to_sql  # noqa: E402
from foldwise.errors import FoldwiseError  # noqa: E402
from foldwise.exports.registry import ONNX, type_name  # noqa: E402
from foldwise.exports.trees.readers import READERS, read_boosted  # noqa: E402
from foldwise.exports.trees.splits import sklearn_tree  # noqa: E402
from foldwise.models import TransformedTarget, outline  # noqa: E402
from foldwise.models import catalogue as models  # noqa: E402
from foldwise.storage.table_check import kinds_of  # noqa: E402

TRAINED, PREDICTED, BOUNDARY, TREES = 300, 500, 100, 10
SIZES = ("n_estimators", "max_iter")
DATABASES = {"duckdb": in_duckdb, "sqlite": in_sqlite, "postgres": in_postgres, "spark": in_spark}
PLACES = (*DATABASES, "onnx")
SPARK_TABLES = ("contact_lenses", "hepatitis", "penguins")
NO_EXPORT = "There is no export of this kind of model:"
LEAVES = "leaves"  # the case of a forest whose sums name its leaves
KEY = "number of the row"
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


def with_named_leaves(model: Any) -> Any:
    """A random forest of three trees, whose leaves predict their own number times 1, 1,000 or 1,000,000."""
    forest = model[-1]
    for k, tree in enumerate(forest.estimators_):
        tree.tree_.value[:, 0, 0] = np.arange(tree.tree_.node_count) * 1000.0**k
    return model


def inner_model(model: Any) -> Any:
    """The model at the end of a pipeline, without wrappers."""
    inner = model[-1]
    for name in ("regressor_", "estimator_"):
        if type(inner).__name__ in ("TransformedTarget", "CodedLabels") and hasattr(inner, name):
            inner = getattr(inner, name)
    return inner


def thresholds(model: Any) -> Any:
    """The thresholds of all trees of a model; empty if it has none."""
    inner = inner_model(model)
    if type(inner).__module__ in READERS:
        trees = [tree for forest in read_boosted(inner).forests for tree in forest]
    else:
        own = [inner] if hasattr(inner, "tree_") else getattr(inner, "estimators_", [])
        trees = [sklearn_tree(one.tree_, one.tree_.value[:, 0]) for one in np.ravel(own)]
    found = [t for tree in trees for t, child in zip(tree.threshold, tree.left, strict=True) if child >= 0]
    cuts = np.unique(np.array(found, dtype=float))
    return cuts[np.isfinite(cuts)]


def boundary_rows(model: Any, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose numbers lie at thresholds of the model, and one double or one float32 beside them."""
    rng = np.random.default_rng(1)
    try:
        cuts = thresholds(model)
    except FoldwiseError:  # refused by name below
        return rows[:0]
    if not len(cuts):
        return rows[:0]
    found = rows[rng.integers(0, rows.height, BOUNDARY)]
    for column in rows.select(pl.col(pl.Float64)).iter_columns():
        least, greatest = column.min(), column.max()
        own = cuts[(cuts >= least) & (cuts <= greatest)] if least is not None else cuts[:0]
        if len(own):
            at = rng.choice(own, found.height)
            single = at.astype(np.float32)
            sides = [at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf), single]
            sides += [np.nextafter(single, np.float32(side)) for side in (np.inf, -np.inf)]
            near = np.array(sides, dtype=float)[rng.integers(0, len(sides), found.height), np.arange(found.height)]
            found = found.with_columns(pl.Series(column.name, near))
    return found


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


def by_sql(stored: StoredModel, name: str, rows: pl.DataFrame, server: Any) -> dict[str, Any]:
    """Labels and numbers that differ in one database."""
    export = to_sql(stored, dialect=name, keep=[KEY], rows=rows)
    keyed, check = DATABASES[name](export, rows.with_row_index(KEY).cast({KEY: pl.Int64}), "rows", server)
    answers = [row[1:] for row in sorted(keyed, key=lambda row: row[0])]  # PostgreSQL may return rows in another order
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


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError after some seconds. DuckDB reports it as an interrupted query."""

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measure(cache: Path, minutes: float, seconds: float, only: Sequence[str]) -> None:
    """Append one line per table and model to the cache, until all are there or the time is over."""
    end = time.monotonic() + 60 * minutes
    done = {(one["table"], one["model"]) for one in read_cache(cache)}
    with ExitStack() as stack, cache.open("a", encoding="utf-8") as file:
        servers: dict[str, Any] = {"duckdb": None, "sqlite": None}
        if program("postgres"):
            servers["postgres"] = stack.enter_context(running_server())
        for name, entry in sorted(catalogue().items(), key=lambda one: Path(one[1]["path"]).stat().st_size):
            try:
                table = read_table(entry["path"], target=entry["target"] or None)
                specs = {spec.name: spec for spec in models_for(outline(table))} if table.y is not None else {}
            except FoldwiseError as error:
                print(f"{name}: {error}", flush=True)
                continue
            if name in SPARK_TABLES and "spark" not in servers:
                servers["spark"] = stack.enter_context(running_spark())
            here = {place: given for place, given in servers.items() if place != "spark" or name in SPARK_TABLES}
            for model in [*specs, *([LEAVES] if specs else [])]:
                if time.monotonic() > end:
                    return
                if (name, model) not in done and (not only or model in only):
                    start = time.monotonic()
                    line = compared(name, specs.get(model), table, here, seconds)
                    line["seconds"] = round(time.monotonic() - start, 2)
                    file.write(json.dumps(line) + "\n")
                    file.flush()
            print(time.strftime("%H:%M:%S"), name, flush=True)


def compared(name: str, spec: Any, table: Any, servers: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What one model, or the forest of named leaves, predicts for one table in all places."""
    line: dict[str, Any] = {"table": name, "model": LEAVES if spec is None else spec.name}
    order = np.random.default_rng(0).permutation(table.X.height)
    X, y, rows = table.X[order[:TRAINED]], np.asarray(table.y)[order[:TRAINED]], table.X[order[:PREDICTED]]
    try:
        with limited(10 * seconds):
            model = fitted_case(spec, table, X, y)
    except (FoldwiseError, ValueError, TimeoutError) as error:  # too few rows of a class for this model
        return {**line, "unfitted": str(error)[:200]}
    if model is None:
        return {**line, "duckdb": {"refused": line["model"]}, "onnx": {"refused": line["model"]}}
    stored = StoredModel(model, kinds_of(table.X), getattr(model, "classes_", np.empty(0)), "y", {}, {})
    boundary = boundary_rows(model, rows)
    rows = pl.concat([rows, boundary])
    line |= {"rows": rows.height, "boundary": boundary.height}
    for where in (*servers, "onnx"):
        start = time.monotonic()
        try:
            with limited(seconds):
                found = by_onnx(stored, rows) if where == "onnx" else by_sql(stored, where, rows, servers[where])
        except FoldwiseError as error:
            found = {"refused": str(error)[:300]}
        except Exception as error:  # a limit of the database
            found = {"failed": f"{type(error).__name__}: {error}"[:300]}
        line[where] = found | {"seconds": round(time.monotonic() - start, 2)}
        if (
            "failed" in found
            or found.get("wrong")
            or found.get("check")
            or found.get("gap", 0.0) > most_of(line, where)
        ):
            print(f"{name}, {line['model']}, {where}: {found}", flush=True)
    return line


def fitted_case(spec: Any, table: Any, X: pl.DataFrame, y: Any) -> Any:
    """The model of a case; None if it is of a type that has no export."""
    if spec is None:
        return with_named_leaves(fitted_forest(table, X, np.unique(y, return_inverse=True)[1].astype(float)))
    if not is_known(spec.pipeline(outline(table))[-1]):  # do not fit what is refused anyway
        return None
    return fitted(spec, table, X, y, TREES)


def fitted_forest(table: Any, X: pl.DataFrame, values: Any) -> Any:
    """A random forest of three trees that predicts numbers, on the columns of a table."""
    spec = models()["random_forest"].suited("regression")
    numbered = replace(table, y=np.zeros(table.X.height))
    return spec.pipeline(outline(numbered, "regression")).set_params(model__n_estimators=3).fit(X, values)


def most_of(line: dict[str, Any], where: str) -> float:
    """The largest difference that is allowed."""
    if line["model"] == LEAVES:
        return 0.0
    return 1e-6 if where == "onnx" or line["model"] == "xgboost" else 1e-9


def is_known(model: Any) -> bool:
    """Whether a model is of a type that has an export."""
    inner = getattr(model, "regressor", getattr(model, "estimator", None))
    if type(model).__name__ in ("TransformedTarget", "CodedLabels"):
        return is_known(inner)
    return ONNX.knows(type_name(model))


def read_cache(cache: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()] if cache.exists() else []


def agreement(cache: Path) -> list[str]:
    """Lines of the page: one per model and place, over all tables."""
    found = list({(one["table"], one["model"]): one for one in read_cache(cache)}.values())
    compared_in: dict[tuple[str, str], list[dict[str, Any]]] = {}
    refused: dict[tuple[str, str], dict[str, list[str]]] = {}  # tables by model, by format and reason
    failed, unfitted, n_compared = [], [], Counter[str]()
    for one in found:
        if "unfitted" in one:
            unfitted.append(f"- {one['table']}, {one['model']}: {one['unfitted']}")
        for where in PLACES:
            here = one.get(where, {})
            if "gap" in here:
                compared_in.setdefault((one["model"], where), []).append(here | {"table": one["table"]})
                n_compared[where] += one["rows"]
                n_compared[f"{where} boundary"] += one["boundary"]
            elif "refused" in here and where in ("duckdb", "onnx"):
                to, reason = "ONNX" if where == "onnx" else "SQL", here["refused"].split(" Hint: ")[0]
                if reason == one["model"] or (reason.endswith(f"{to}.") and not reason.startswith("column")):
                    reason = NO_EXPORT
                refused.setdefault((to, reason), {}).setdefault(one["model"], []).append(one["table"])
            elif "failed" in here:
                failed.append(f"- {one['table']}, {one['model']}, {where}: {here['failed'].splitlines()[0][:120]}")
    tables = sorted({one["table"] for one in found})
    lines = [
        f"{len(tables)} tables. Models were fitted on up to {TRAINED} rows of each, with {TREES} trees where they have "
        f"trees. Up to {PREDICTED} rows of the table were predicted, and, by models with trees, {BOUNDARY} boundary "
        "rows, in which numbers with fractions lie at thresholds of the trees or one double or float32 beside them.",
        "",
        "| in | tables | predictions compared | of these, boundary rows |",
        "|---|--:|--:|--:|",
    ]
    for where in PLACES:
        own = {one["table"] for (_, place), ones in compared_in.items() if place == where for one in ones}
        lines.append(f"| {where} | {len(own)} | {n_compared[where]:,} | {n_compared[f'{where} boundary']:,} |")
    lines += ["", "| model | in | tables | labels that differ | largest difference |", "|---|---|--:|--:|--:|"]
    for (model, where), ones in sorted(compared_in.items()):
        labels, gap = sum(one["wrong"] for one in ones), max(one["gap"] for one in ones)
        lines.append(f"| {model} | {where} | {len(ones)} | {labels} | {gap:.0e} |")
    checks = sum(one["check"] for ones in compared_in.values() for one in ones)
    lines += [
        "",
        f"The case {LEAVES!r} is a random forest of three trees whose prediction names the leaves that were reached. "
        "Differences of quantities are relative. In onnxruntime, labels are compared where the two largest "
        f"probabilities differ by more than {TIE:.0e}.",
        "",
        f"Rows that the check queries of the SQL exports count: {checks}.",
        "",
        "Refused by name:",
        "",
        *(f"- {to}: {reason} {listed(by_model)}." for (to, reason), by_model in sorted(refused.items())),
    ]
    if unfitted:
        lines += ["", "Not fitted in Python:", "", *unfitted]
    if failed:
        lines += ["", "Not compared (errors of databases, and queries that the time limit stopped):", "", *failed]
    return [*lines, "", f"Tables: {', '.join(tables)}."]


def listed(by_model: dict[str, list[str]]) -> str:
    """The models that were refused, with the tables if all have the same."""
    models, tables = ", ".join(sorted(by_model)), {tuple(sorted(own)) for own in by_model.values()}
    few = len(tables) == 1 and len(next(iter(tables))) < 4
    return f"Table {', '.join(next(iter(tables)))}; {models}" if few else models
