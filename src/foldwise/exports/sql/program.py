"""`SqlProgram`: a query as a chain of small steps, each of which computes some columns from those of the step before.

One deep expression would exceed the limits of databases (DuckDB and SQLite stop at a depth of 1,000), and what is used
twice would be computed twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foldwise.errors import InputError
from foldwise.exports.sql.dialects import SqlDialect

TERMS = 50  # added in one expression
OWN_NAME = re.compile(r"\b(?:[xkefs]|leaf)\d+\b")
COLUMNS = 400  # computed in one step: SQLite allows 2,000 columns in a result
ROW = "f0"  # the number of a row, where a step joins what it computes for each row


@dataclass(frozen=True)
class RawColumn:
    """A column of the table, as the first step of the query calls it."""

    name: str
    kind: str  # "number", "truth", "text" or "date"
    expression: str

    def as_feature(self, dialect: SqlDialect) -> Feature:
        """Return the column as a number; NaN becomes NULL."""
        return Feature(as_number(self, dialect))


@dataclass(frozen=True)
class Feature:
    """A number that a model sees: an SQL expression that is NULL where the number is missing.

    An indicator is 1 where `expression` equals `level`, or is missing where `level` is None, and 0 elsewhere. It is
    never computed as a column.
    """

    expression: str
    nullable: bool = True
    indicator: bool = False
    level: Any = None

    def as_feature(self, dialect: SqlDialect) -> Feature:
        return self

    def is_level(self, dialect: SqlDialect) -> str:
        """Return the condition under which an indicator is 1; it is never NULL."""
        if self.level is None:
            return f"{self.expression} IS NULL"
        own = equals(self.expression, self.level, dialect)
        return f"({own} AND {self.expression} IS NOT NULL)" if self.nullable else own

    def as_value(self, dialect: SqlDialect) -> str:
        """Return the expression of the number, also for an indicator."""
        if not self.indicator:
            return self.expression
        one, zero = dialect.double_literal(1.0), dialect.double_literal(0.0)
        return f"CASE WHEN {self.is_level(dialect)} THEN {one} ELSE {zero} END"


Input = RawColumn | Feature


def as_number(column: RawColumn, dialect: SqlDialect) -> str:
    """Return a column of numbers or booleans as a double, with NULL for NaN."""
    if column.kind == "truth":
        one, zero = dialect.double_literal(1.0), dialect.double_literal(0.0)
        return f"CASE WHEN {column.expression} THEN {one} WHEN NOT {column.expression} THEN {zero} END"
    if column.kind != "number":
        raise InputError(
            f"column {column.name!r} is used as a number but does not contain numbers, so it cannot be exported."
        )
    value = dialect.as_double(column.expression)
    return f"CASE WHEN {dialect.nan.format(value)} THEN NULL ELSE {value} END" if dialect.nan else value


def equals(expression: str, level: Any, dialect: SqlDialect) -> str:
    """Compare a cell with a category; text is compared by its bytes."""
    pattern = dialect.equals if isinstance(level, str) else "{} = {}"
    return pattern.format(expression, dialect.literal(level))


class TableStep(Protocol):
    """A step that needs tables of its own."""

    @property
    def names(self) -> Sequence[str]: ...  # the columns that it computes

    @property
    def uses(self) -> set[str]: ...  # the columns that it needs

    def write(self, step: str, before: str, passed: Sequence[str]) -> list[str]: ...  # named subqueries


@dataclass
class SqlProgram:
    """The steps of a query.

    Attributes
    ----------
    dialect : SqlDialect
        How the database spells things.
    steps : list of list of tuple or TableStep
        For each step, pairs of a column and its expression.
    dates : dict of str to str
        The columns of dates, and how they were written where the model was fitted on text.
    """

    dialect: SqlDialect
    steps: list[list[tuple[str, str]] | TableStep] = field(default_factory=list)
    dates: dict[str, str | None] = field(default_factory=dict)
    n_columns: int = 0

    def number(self, value: float) -> str:
        return self.dialect.double_literal(value)

    def new_names(self, n: int, prefix: str) -> list[str]:
        """Return names of columns that are not in use yet."""
        self.n_columns += n
        return [f"{prefix}{self.n_columns - n + i + 1}" for i in range(n)]

    def compute(self, expressions: Iterable[str], prefix: str = "f") -> list[str]:
        """Compute expressions as columns, and return their names."""
        wanted = list(expressions)
        names = self.new_names(len(wanted), prefix)
        pairs = list(zip(names, wanted, strict=True))
        for start in range(0, len(pairs), COLUMNS):
            self.steps.append(pairs[start : start + COLUMNS])
        return names

    def numbers(self, inputs: Sequence[Input]) -> list[Feature]:
        """Compute features as columns, unless they are columns or indicators already."""
        features = [one.as_feature(self.dialect) for one in inputs]
        wanted = [one for one in features if not one.indicator and not one.expression.isalnum()]
        names = iter(self.compute(one.expression for one in wanted) if wanted else [])
        waiting = {id(one) for one in wanted}
        return [Feature(next(names), one.nullable) if id(one) in waiting else one for one in features]

    def add_up(self, terms: Sequence[str], start: str | None = None) -> str:
        """Add terms from left to right, over several steps if there are many; return the column of the sum."""
        total = start
        for first in range(0, len(terms), TERMS):
            some = [*([total] if total is not None else []), *terms[first : first + TERMS]]
            (total,) = self.compute([" + ".join(some)], "s")
        return self.compute([self.number(0.0)], "s")[0] if total is None else total

    def query(self, source: str, given: Sequence[tuple[str, str]], result: Sequence[tuple[str, str]]) -> str:
        """Write the query.

        Parameters
        ----------
        source : str
            The quoted table.
        given : sequence of tuple
            Names and expressions of the columns that are read from the table.
        result : sequence of tuple
            Quoted names and expressions of the columns of the result.
        """
        numbered = [(ROW, "ROW_NUMBER() OVER ()")] if any(map(needs_numbers, self.steps)) else []
        every = [[*given, *numbered], *self.steps]
        where = {name: i for i, own in enumerate(every) for name in names_of(own)}
        wanted, lines = used_in([*result, *((name, name) for name, _ in numbered)]), []
        for i in reversed(range(len(every))):  # a step passes on what later steps need
            own, before = every[i], f"step{i - 1}" if i else source
            if isinstance(own, list):
                own = [pair for pair in own if pair[0] in wanted]
            wanted = (wanted | (used_in(own) if isinstance(own, list) else own.uses)) - set(names_of(own))
            passed = [name for name in sorted(wanted) if where.get(name, i) < i]
            if isinstance(own, list):
                columns = listed([*((name, name) for name in passed), *own]) or "1 AS unused"
                is_shared = i + 1 < len(every) and needs_numbers(every[i + 1])
                fence = "MATERIALIZED " if is_shared else self.dialect.fence
                lines.append(f"step{i} AS {fence}(\n  SELECT {columns}\n  FROM {before}\n)")
            else:
                lines.append(",\n".join(own.write(f"step{i}", before, passed)))
        order = f"\nORDER BY {ROW}" if numbered else ""
        return f"{', '.join(reversed(lines))}\nSELECT {listed(result)}\nFROM step{len(every) - 1}{order}"


def needs_numbers(step: list[tuple[str, str]] | TableStep) -> bool:
    """Whether a step joins what it computes to the rows of the step before."""
    return not isinstance(step, list) and ROW in step.uses


def names_of(step: list[tuple[str, str]] | TableStep) -> Sequence[str]:
    return [name for name, _ in step] if isinstance(step, list) else step.names


def used_in(columns: Iterable[tuple[str, str]]) -> set[str]:
    """Return the columns of steps that expressions name; or that strings look like."""
    return {name for _, expression in columns for name in OWN_NAME.findall(expression)}


def listed(columns: Sequence[tuple[str, str]]) -> str:
    return ",\n    ".join(name if name == expression else f"{expression} AS {name}" for name, expression in columns)
