"""`to_sql`: a fitted model as a query that predicts the rows of a table in a database, and its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.data.frames import as_polars
from foldwise.errors import InputError
from foldwise.exports.costs import CostDecision
from foldwise.exports.coverage import coverage_quantile, intervals, set_texts, tolerance_scales
from foldwise.exports.model_columns import kinds_given, kinds_seen, module_names, rows_as_fitted
from foldwise.exports.registry import SQL
from foldwise.exports.sql.coverage import interval_columns, set_column
from foldwise.exports.sql.dates import native_dates
from foldwise.exports.sql.decision import decision_columns
from foldwise.exports.sql.dialects import SqlDialect, dialect_of
from foldwise.exports.sql.program import RawColumn, SqlProgram
from foldwise.exports.sql.run_models import classify, regress
from foldwise.storage import StoredModel
from foldwise.storage.stored_model import stored
from foldwise.storage.table_check import match_columns

TOLERANCE = 1e-9
XGBOOST_TOLERANCE = 1e-6  # it adds in single precision
MOST_CHECKED = 100  # rows of a check


@dataclass(frozen=True)
class SqlExport:
    """A model as SQL.

    Attributes
    ----------
    query : str
        The query, which returns the kept columns and the predictions of every row of the table.
    check : str
        A query that predicts stored rows and returns how many of them differ from Python's predictions: 0 if the
        database predicts the same. Empty if no rows were given.
    dialect : str
        The dialect of SQL.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["low", "high"])
    >>> export = to_sql(tree, columns=["size"], table="parts", keep=[])
    >>> import duckdb
    >>> parts = duckdb.sql("SELECT 1.7 AS size")
    >>> duckdb.sql(export.query).fetchall()
    [('high', 1.0, 0.0)]
    """

    query: str
    check: str
    dialect: str

    def write(self, path: str | Path) -> list[Path]:
        """Write the query to a file, and the check beside it.

        Parameters
        ----------
        path : path
            The file of the query, for example `model.sql`. The check becomes `model.check.sql`.

        Returns
        -------
        list of Path
            The files that were written.
        """
        path = Path(path)
        files = {path: self.query}
        if self.check:
            files[path.with_suffix(f".check{path.suffix}")] = self.check
        for file, text in files.items():
            file.write_text(text + ";\n", encoding="utf-8")
        return list(files)

    def __str__(self) -> str:
        return self.query


def to_sql(
    model: Any,
    *,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    keep: Sequence[str] | None = None,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    rows: Any = None,
) -> SqlExport:
    """Write a fitted model as an SQL query.

    Parameters
    ----------
    model : StoredModel, Run or estimator
        A model opened by `open_model`, the result of `fit`, or a fitted estimator or pipeline.
    dialect : str, default="duckdb"
        "duckdb", "postgres", "sqlite" or "spark". Queries for "bigquery", "snowflake" and "mysql" are written, too, but
        were never run there.
    table : str or sequence of str, default="rows"
        The table to predict; a sequence names its schema first.
    keep : sequence of str, optional
        Columns of the table to return beside the predictions. By default the columns of the model.
    columns : mapping or sequence of str, optional
        The columns of the table that the model sees, in its order, for an estimator that was fitted on an array. A
        mapping also says what they contain: "number", "truth" (booleans) or "text". By default, encoders of categories
        say which columns contain text, and all others contain numbers.
    rows : frame, optional
        Rows for the check. At most 100 are used. They also show which columns of an estimator contain booleans.

    Returns
    -------
    SqlExport
        The query and its check.

    Examples
    --------
    >>> from foldwise import NaiveBayes, read_table, to_sql
    >>> table = read_table("examples/weather.csv", target="play")
    >>> export = to_sql(NaiveBayes().fit(table.X, table.y), table="weather", rows=table.X)
    >>> import duckdb
    >>> duckdb.sql(export.check).fetchall()
    [(0,)]
    """
    return SqlWriter.of(stored(model), dialect_of(dialect), columns, rows).export(table, keep, rows)


class SqlWriter:
    """Writes the query of one model."""

    def __init__(
        self,
        model: Any,
        dialect: SqlDialect,
        kinds: Mapping[str, str],
        framed: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.dialect, self.kinds, self.framed = model, dialect, kinds, framed
        self.is_stored = metadata is not None
        self.costs = CostDecision.of((metadata or {}).get("costs"), getattr(model, "classes_", ()))
        self.quantile = coverage_quantile(metadata or {})
        self.program = SqlProgram(dialect)
        inputs = [RawColumn(name, kind, f"x{i}") for i, (name, kind) in enumerate(kinds.items())]
        self.predicted = self._predicted(inputs)

    @classmethod
    def of(cls, model: Any, dialect: SqlDialect, columns: Any, rows: Any = None) -> SqlWriter:
        """Find out which columns a model needs, and what they contain."""
        if isinstance(model, StoredModel):
            return cls(model.model, dialect, dict(model.kinds), model.framed, model.metadata)
        SQL.refuse_unknown(model)
        if columns is None:
            return cls(model, dialect, kinds_seen(model, None if rows is None else as_polars(rows)))
        return cls(model, dialect, kinds_given(columns, model), framed=hasattr(model, "feature_names_in_"))

    def _predicted(self, inputs: Sequence[RawColumn]) -> list[tuple[str, str]]:
        """Return names and expressions of the predictions."""
        if not hasattr(self.model, "classes_") or not len(self.model.classes_):
            value = regress(self.model, inputs, self.program)
            ends = [] if self.quantile is None else interval_columns(value, self.quantile, self.program)
            return [("predicted_value", value), *ends]
        found = classify(self.model, inputs, self.program)
        program, labels = self.program, np.asarray(found.classes).tolist()
        dialect = program.dialect
        (top,) = program.compute([dialect.extreme(dialect.largest, list(found.columns))])
        whens = " ".join(
            f"WHEN {p} >= {top} THEN {dialect.literal(label)}" for p, label in zip(found.columns, labels, strict=True)
        )
        answers = [("predicted_class", f"CASE {whens} END")]
        if found.kind == "decision":
            return answers
        answers += [(f"predicted_p_{label}", p) for p, label in zip(found.columns, labels, strict=True)]
        answers += [] if self.costs is None else decision_columns(self.costs, found.columns, program)
        if self.quantile is not None:
            answers.append(set_column(found.columns, labels, self.quantile, program))
        return answers

    def export(self, table: str | Sequence[str], keep: Sequence[str] | None, rows: Any) -> SqlExport:
        kept = list(self.kinds) if keep is None else list(keep)
        names = [name for name, _ in self.predicted]
        taken = sorted(set(names) & set(kept))
        if taken:
            raise InputError(f"keep= names {taken[0]!r}, which the result already contains.", "leave it out of keep=.")
        quote = self.dialect.quote_name
        given = [(f"x{i}", quote(name)) for i, name in enumerate(self.kinds)]
        given += [(f"k{i}", quote(name)) for i, name in enumerate(kept)]
        result = [(quote(name), f"k{i}") for i, name in enumerate(kept)]
        result += [(quote(name), expression) for name, expression in self.predicted]
        query = f"WITH {self.program.query(self.dialect.quote_table(table), given, result)}"
        return SqlExport(query, "" if rows is None else self.check(rows), self.dialect.name)

    def check(self, rows: Any) -> str:
        """Write the query that counts the rows whose predictions differ from Python's."""
        frame = as_polars(rows)[:MOST_CHECKED]
        X = match_columns(frame, self.kinds).X
        expected = self._expected(X if self.is_stored else rows_as_fitted(self.model, rows, X))
        names = [f"e{i}" for i in range(len(expected))]
        answers = [pl.Series(name, values) for name, values in zip(names, expected, strict=True)]
        source = rows_as_select([*native_dates(X, self.program.dates), *answers], self.dialect)
        given = [(f"x{i}", self.dialect.quote_name(name)) for i, name in enumerate(self.kinds)]
        given += [(name, name) for name in names]
        found = [(f"p{i}", expression) for i, (_, expression) in enumerate(self.predicted)]
        body = self.program.query("given", given, [*found, *((name, name) for name in names)])
        inner, _, outer = body.rpartition("\nSELECT ")
        scales = [1.0] * len(expected)
        if self.predicted[0][0] == "predicted_value":
            of_values, of_ends = tolerance_scales(np.array(expected[0]), self.quantile)
            scales = [of_values, of_ends, of_ends][: len(expected)]
        tests = [
            self._equal(f"p{i}", f"e{i}", values[0], scale)
            for i, (values, scale) in enumerate(zip(expected, scales, strict=True))
        ]
        tested = ", ".join(f"CASE WHEN {test} THEN 0 ELSE 1 END AS d{i}" for i, test in enumerate(tests))
        differs = " + ".join(f"d{i}" for i in range(len(tests)))
        # small steps, and rows that are read once: otherwise DuckDB may take minutes and all memory to plan it
        fence = "MATERIALIZED " if self.dialect.materializes else ""
        steps = [
            f"given AS {fence}(\n{source}\n)",
            inner,
            f"answered AS {fence}(\nSELECT {outer}\n)",
            f"tested AS (SELECT {tested} FROM answered)",
        ]
        total = f"SELECT COALESCE(SUM(CASE WHEN {differs} > 0 THEN 1 ELSE 0 END), 0) AS differences FROM tested"
        return f"WITH {', '.join(steps)}\n{total}"

    def _equal(self, found: str, expected: str, value: Any, least: float) -> str:
        """Return the condition under which a prediction equals that of Python, of which one value is given.

        The tolerance is relative to the predicted value, or to `least` if that is larger.
        """
        if not isinstance(value, float):
            return f"{found} = {expected}"
        if np.isinf(value):
            return f"{found} IS NULL"
        tolerance = self.program.number(XGBOOST_TOLERANCE if "xgboost" in module_names(self.model) else TOLERANCE)
        scale = f"{tolerance} * {self.dialect.largest}({self.program.number(least)}, ABS({expected}))"
        return f"ABS({found} - {expected}) <= {scale}"

    def _expected(self, X: Any) -> list[list[Any]]:
        """Predict in Python, in the order of the columns of the query."""
        given = X if self.framed else X.to_numpy()
        if self.predicted[0][0] == "predicted_value":
            values = np.asarray(self.model.predict(given), dtype=np.float64)
            ends = [] if self.quantile is None else intervals(values, self.quantile).T.tolist()
            return [values.tolist(), *ends]
        answers: list[list[Any]] = [np.ravel(self.model.predict(given)).tolist()]  # a column in CatBoost
        if len(self.predicted) == 1:
            return answers
        proba = np.asarray(self.model.predict_proba(given), dtype=np.float64)
        answers += proba.T.tolist()
        answers += [] if self.costs is None else self.costs.expected(proba)
        if self.quantile is not None:
            answers.append(set_texts(proba, self.quantile, np.asarray(self.model.classes_).tolist()))
        return answers


def rows_as_select(cells: Sequence[pl.Series], dialect: SqlDialect) -> str:
    """Write rows as SELECTs that are joined by UNION ALL, which every database accepts."""
    types = [sql_type(column, dialect) for column in cells]
    lines = []
    for i in range(len(cells[0])):
        values = []
        for column, kind in zip(cells, types, strict=True):
            value = column[i]
            if isinstance(value, float) and not np.isfinite(value):
                value = None
            name = f" AS {dialect.quote_name(column.name)}" if not i else ""
            written = dialect.literal(value)
            values.append((f"CAST({written} AS {kind})" if kind else written) + name)
        lines.append(f"SELECT {', '.join(values)}")
    return "\nUNION ALL ".join(lines)


def sql_type(column: pl.Series, dialect: SqlDialect) -> str:
    """Return the type to which the cells of a column are cast; empty for booleans in databases that have none."""
    if column.dtype == pl.Boolean:
        return "" if dialect.name in ("sqlite", "mysql") else "BOOLEAN"
    if column.dtype.is_integer():
        return {"bigquery": "INT64", "mysql": "SIGNED", "sqlite": "INTEGER"}.get(dialect.name, "BIGINT")
    if column.dtype.is_numeric():
        return dialect.double
    types = {pl.Date: dialect.date, pl.Datetime: dialect.timestamp, pl.Time: dialect.time}
    return types.get(type(column.dtype), dialect.text)
