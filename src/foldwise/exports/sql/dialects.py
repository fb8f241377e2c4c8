"""How databases spell the few things that the exported SQL needs: names, literals, and functions of doubles.

Names and strings are quoted by sqlglot, so that whatever a table contains stays a name or a string.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np

from foldwise.data.arguments import one_of
from foldwise.errors import InputError

LARGEST = float(np.finfo(np.float64).max)
LOWEST_EXPONENT = -700.0  # PostgreSQL raises an error if exp() underflows


@dataclass(frozen=True)
class SqlDialect:
    """The SQL of one database.

    Attributes
    ----------
    name : str
        The name of the dialect in sqlglot.
    double : str
        The type of double-precision numbers.
    text : str
        The type of strings.
    tested : bool
        Whether exports are run on this database in the tests. Otherwise they are only parsed.
    nan : str
        The test of a number for NaN, with `{}` for the number. Empty if the database has no NaN.
    number : str
        How a double is written, with `{}` for its digits.
    fence : str
        What keeps the database from copying the expressions of a step into the next one.
    equals : str
        The comparison of a text column with a string by its bytes.
    largest, smallest : str
        The functions for the largest and the smallest of several numbers.
    deepest : int
        How many levels of a tree one expression may have. DuckDB stops at a depth of 1,000. The parser of SQLite has a
        stack of 100 symbols, and a level takes five.
    error : str
        What stops the query, with `{}` for a text that says why.
    date, timestamp, time : str
        The types of dates and times.
    walk : str
        How rows walk through the node table of a large forest. Without it, every forest is written as expressions.
    """

    name: str
    double: str
    text: str
    tested: bool
    nan: str = "isnan({})"
    number: str = "{}"
    fence: str = ""
    equals: str = "{} = {}"
    largest: str = "GREATEST"
    smallest: str = "LEAST"
    deepest: int = 200
    error: str = "ERROR({})"
    date: str = "DATE"
    timestamp: str = "TIMESTAMP"
    time: str = "TIME"
    walk: Literal["lists", "levels", "queue", ""] = ""

    @property
    def materializes(self) -> bool:
        """Whether the database has MATERIALIZED subqueries."""
        return self.name in ("duckdb", "postgres", "sqlite")

    def quote_name(self, name: str) -> str:
        """Quote the name of a table or a column."""
        return quoted_name(name, self.name)

    def quote_table(self, table: str | Sequence[str]) -> str:
        """Quote the name of a table, or its parts such as schema and table."""
        parts = (table,) if isinstance(table, str) else tuple(table)
        return ".".join(map(self.quote_name, parts))

    def literal(self, value: Any) -> str:
        """Write a string, a boolean or a number of a table."""
        value = value.item() if isinstance(value, np.generic) else value
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value) if value >= 0 else f"({value})"
        return self.double_literal(value) if isinstance(value, float) else quoted_string(str(value), self.name)

    def double_literal(self, value: float) -> str:
        """Write a finite double so that the database reads the same double."""
        value = float(value)
        if not math.isfinite(value):
            raise InputError(f"a number of the model is {value}, which SQL cannot express.")
        digits = repr(abs(value))
        digits = digits if "e" in digits else f"{digits}e0"
        if self.name == "sqlite" and not read_by_sqlite(digits):
            digits = as_fraction(abs(value))
        written = self.number.format(digits)
        return f"(-{written})" if value < 0 or (value == 0 and math.copysign(1, value) < 0) else written

    def infinity(self, negative: bool = False) -> str:
        """Write the infinite number."""
        sign = "-" if negative else ""
        return f"{sign}9e999" if self.name == "sqlite" else self.as_double(f"'{sign}Infinity'")

    def as_double(self, expression: str) -> str:
        """Convert an expression to a double."""
        return f"CAST({expression} AS {self.double})"

    def exp(self, expression: str) -> str:
        """Write the exponential of a number of at most 0, which is 0 where it would underflow."""
        lowest, zero = self.double_literal(LOWEST_EXPONENT), self.double_literal(0.0)
        return f"CASE WHEN {expression} < {lowest} THEN {zero} ELSE EXP({expression}) END"

    def concatenated(self, texts: Sequence[str]) -> str:
        """Write texts one after the other."""
        return f"CONCAT({', '.join(texts)})" if self.name == "mysql" else " || ".join(texts)

    def extreme(self, function: str, expressions: Sequence[str]) -> str:
        return expressions[0] if len(expressions) == 1 else f"{function}({', '.join(expressions)})"


DIALECTS = {
    one.name: one
    for one in (
        SqlDialect("duckdb", "DOUBLE", "VARCHAR", True, walk="lists"),
        SqlDialect(
            "postgres",
            "DOUBLE PRECISION",
            "TEXT",
            True,
            nan="{} = 'NaN'::float8",
            number="'{}'::float8",
            fence="MATERIALIZED ",
            error="CAST(CAST({} AS DOUBLE PRECISION) AS TEXT)",  # fails, because the text is not a number
            walk="levels",
        ),
        SqlDialect(
            "sqlite",
            "REAL",
            "TEXT",
            True,
            nan="",
            fence="MATERIALIZED ",
            largest="MAX",
            smallest="MIN",
            deepest=10,
            error="JSON({})",  # fails, because the text is not JSON
            date="TEXT",
            timestamp="TEXT",
            time="TEXT",
            walk="queue",
        ),
        SqlDialect("spark", "DOUBLE", "STRING", True, error="RAISE_ERROR({})", time="STRING", walk="lists"),
        SqlDialect("bigquery", "FLOAT64", "STRING", False, nan="IS_NAN({})", timestamp="DATETIME"),
        SqlDialect(
            "snowflake",
            "DOUBLE",
            "VARCHAR",
            False,
            nan="{} = 'NaN'::DOUBLE",
            error="CAST(CAST({} AS DOUBLE) AS VARCHAR)",
            timestamp="TIMESTAMP_NTZ",
        ),
        SqlDialect(
            "mysql",
            "DOUBLE",
            "CHAR",
            False,
            nan="",
            equals="CAST({} AS BINARY) = {}",
            error="JSON_UNQUOTE(JSON_EXTRACT({}, '$'))",
            timestamp="DATETIME",
        ),
    )
}


def dialect_of(name: str) -> SqlDialect:
    """Look up a dialect by its name."""
    one_of("dialect", name, tuple(DIALECTS))
    return DIALECTS[name]


@lru_cache(maxsize=10_000)
def quoted_name(name: str, dialect: str) -> str:
    if not name or "\0" in name:
        raise InputError(f"{name!r} is not a valid name of a table or column.", "rename it.")
    return str(sqlglot_expressions().to_identifier(name, quoted=True).sql(dialect=dialect))


@lru_cache(maxsize=100_000)
def quoted_string(text: str, dialect: str) -> str:
    if "\0" in text:
        raise InputError(f"the category {text!r} contains a NUL character, which SQL cannot express.", "remove it.")
    return str(sqlglot_expressions().Literal.string(text).sql(dialect=dialect))


@cache
def sqlglot_expressions() -> Any:
    """Import sqlglot, which comes with an extra."""
    try:
        from sqlglot import exp
    except ImportError:
        raise InputError(
            "exports to SQL need sqlglot, which is not installed.", "run pip install 'foldwise[sql]'."
        ) from None
    return exp


@lru_cache(maxsize=100_000)
def read_by_sqlite(digits: str) -> bool:
    """Whether SQLite reads these digits as the nearest double; it is sometimes one double off."""
    return bool(connection().execute(f"SELECT {digits}").fetchone()[0] == float(digits))


@cache
def connection() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", check_same_thread=False)


def as_fraction(value: float) -> str:
    """Write a positive double as a whole number divided, exactly, by powers of two."""
    mantissa, exponent = math.frexp(value)
    whole, exponent = int(mantissa * 2**53), exponent - 53
    parts = [f"{whole}.0"]
    while exponent:
        step = min(abs(exponent), 62)
        parts.append(f"{'*' if exponent > 0 else '/'} {2**step}.0")
        exponent += -step if exponent > 0 else step
    return f"({' '.join(parts)})"
