"""Asks an engine: runs statements, keeps their SQL, and turns errors of its driver into errors of Foldwise."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import polars as pl

from foldwise.addresses import masked
from foldwise.data.reading.protocol import first_line
from foldwise.engines.connecting import import_ibis
from foldwise.engines.csv_errors import csv_problem
from foldwise.engines.engine_kinds import EngineKind, kind_of
from foldwise.errors import EngineError, FoldwiseError, FoldwiseTypeError


class Asker:
    """A connection that is asked several statements about one table.

    Attributes
    ----------
    table : ibis.Table
        The table.
    kind : EngineKind
        What the engine can do.
    statements : list of str
        The SQL of all statements so far.
    known : dict of int or None to str
        Columns of the table with the index of the outer or inner fold of each row, and whether it is in the sample
        (None), if they were added to it.
    temporary : str or None
        Name of a temporary table that was made.
    is_prepared : bool
        Whether statements see the same rows, because `prepared` was entered.
    """

    def __init__(self, table: Any) -> None:
        ibis = import_ibis()
        if not isinstance(table, ibis.expr.types.Table):
            raise FoldwiseTypeError(
                f"the table must be an Ibis table expression, got {type(table).__name__}.",
                "open it with foldwise.engines.table_of, or with Ibis.",
            )
        self.ibis: Any = ibis
        self.table = table
        with engine_errors("the table expression is not connected to a database"):
            self.connection: Any = table.get_backend()
            if table.op().find(ibis.expr.operations.InMemoryTable):  # Ibis makes it known when it runs an expression
                self.connection.to_pyarrow(table.limit(0))
        self.kind: EngineKind = kind_of(self.connection)
        self.statements: list[str] = []
        self.known: dict[int | None, str] = {}
        self.temporary: str | None = None
        self.is_prepared = False

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Prepare the connection, and restore its settings afterwards, unless it is prepared already."""
        if self.is_prepared:
            yield
            return
        self.is_prepared = True
        try:
            with ExitStack() as stack:
                with engine_errors(f"{self.kind.label} could not run a statement"):
                    stack.enter_context(self.kind.prepared(self.connection, self.table))
                yield
        finally:
            self.is_prepared = False

    def ask(self, expression: Any) -> pl.DataFrame:
        """Run an expression and return its rows."""
        with engine_errors(f"{self.kind.label} could not run a statement"):
            text = str(self.connection.compile(expression, pretty=True))
            self.statements.append(text)
            if self.kind.name == "duckdb":
                # Ibis would compile again, which takes seconds for 1,000 columns
                return frame_of_arrow(self.connection.con.sql(text).to_arrow_table())
            return frame_of_arrow(self.connection.to_pyarrow(expression))

    def ask_sql(self, text: str, schema: Mapping[str, str], most: int) -> pl.DataFrame:
        """Run SQL in the dialect of the engine and return at most so many rows; the schema has types of Ibis."""
        with engine_errors(f"{self.kind.label} could not run a statement"):
            self.statements.append(text)
            found = self.connection.sql(text, schema=self.ibis.schema(dict(schema)))
            return frame_of_arrow(self.connection.to_pyarrow(found.limit(most)))

    def over(self, table: Any) -> Asker:
        """Return an asker about another table of the same connection; both share the list of statements."""
        found = Asker(table)
        found.statements, found.known = self.statements, self.known
        return found

    def query(self, name: str, schema: Mapping[str, str]) -> Any:
        """Return a table that need not exist, for queries of which a part is written by hand."""
        return self.connection.sql(f"SELECT * FROM {name}", schema=self.ibis.schema(dict(schema)))

    def ask_text(self, text: str, names: Sequence[str]) -> pl.DataFrame:
        """Run SQL in the dialect of the engine, which Ibis does not read, and return its few rows."""
        with engine_errors(f"{self.kind.label} could not run a statement"):
            self.statements.append(text)
            found = self.connection.raw_sql(text)
            rows = found.collect() if hasattr(found, "collect") else found.fetchall()
            return pl.DataFrame([tuple(row) for row in rows], schema=list(names), orient="row")

    def compile(self, expression: Any) -> str:
        """Return the SQL of an expression in the dialect of the engine."""
        with engine_errors(f"{self.kind.label} could not run a statement"):
            return str(self.connection.compile(expression))


def frame_of_arrow(table: Any) -> pl.DataFrame:
    """Return an Arrow table as a frame."""
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


@contextmanager
def engine_errors(message: str) -> Iterator[None]:
    """Raise `EngineError` for any error of a driver: the message, then the first line of the driver's message."""
    try:
        with warnings.catch_warnings():
            # drivers warn of each other's versions, which nobody can act on
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    except FoldwiseError:
        raise
    except Exception as error:  # each driver has its own kinds
        first = first_of(error)
        if problem := csv_problem(first):
            raise EngineError(*problem) from error
        text = masked(first_line(first)) or type(error).__name__
        raise EngineError(
            f"{message}: {text.rstrip('.!')}.",
            "check that the connection is open, that the table and its columns still exist, and that you may read it.",
        ) from error


def first_of(error: BaseException) -> BaseException:
    """Return the error that came first, if what came after it is that cleaning up failed, too."""
    while error.__context__ is not None and not error.__suppress_context__:
        error = error.__context__
    return error
