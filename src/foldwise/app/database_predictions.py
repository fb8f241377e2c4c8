"""Write predictions to a new table of PostgreSQL, in one transaction: the table appears complete, or not at all."""

from __future__ import annotations

from typing import Any

import polars as pl

from foldwise.addresses import check_address, masked
from foldwise.data.reading.protocol import first_line
from foldwise.engines.connecting import missing_package
from foldwise.errors import EngineError


class DatabaseWriter:
    """Writes predictions to a table, with the interface of `PredictionWriter`.

    Parameters
    ----------
    address : str
        The address of the database, postgresql://user@host/database.
    table : str
        Name of the table, which must not exist; its schema and a dot may precede it.
    """

    def __init__(self, address: str, table: str) -> None:
        self._address, self._table = address, table
        self.n_rows = 0
        self._columns: list[str] | None = None

    def __enter__(self) -> DatabaseWriter:
        try:
            import psycopg
        except ImportError as error:
            raise missing_package("PostgreSQL", "psycopg", "postgres") from error
        self._psycopg: Any = psycopg
        check_address(self._address)
        with self._errors():
            self._connection = psycopg.connect(self._address)
        return self

    def __exit__(self, *raised: Any) -> None:
        self._connection.close()  # without a commit, nothing remains

    def _errors(self) -> Any:
        return _PostgresErrors(self._psycopg, self._table)

    def write(self, frame: pl.DataFrame) -> None:
        """Append rows; the first ones create the table."""
        sql = self._psycopg.sql
        name = sql.Identifier(*self._table.split(".", 1))
        with self._errors(), self._connection.cursor() as cursor:
            if self._columns is None:
                self._columns = frame.columns
                types = [sql.SQL(sql_type(kind)) for kind in frame.dtypes]
                pairs = zip(map(sql.Identifier, frame.columns), types, strict=True)
                columns = sql.SQL(", ").join(sql.SQL("{} {}").format(*pair) for pair in pairs)
                cursor.execute(sql.SQL("create table {} ({})").format(name, columns))
            with cursor.copy(sql.SQL("copy {} from stdin").format(name)) as copy:
                for row in frame.iter_rows():
                    copy.write_row(row)
        self.n_rows += frame.height

    def finish(self) -> None:
        """Make the table visible."""
        with self._errors():
            self._connection.commit()


class _PostgresErrors:
    """Turns errors of the driver into errors of Foldwise."""

    def __init__(self, psycopg: Any, table: str) -> None:
        self._psycopg, self._table = psycopg, table

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, self._psycopg.Error):
            raise EngineError(
                f"table {self._table!r} could not be written: {masked(first_line(error))}.",
                "choose a name that is not in use, and a database role that may create tables. Nothing was written.",
            ) from error


def sql_type(kind: pl.DataType) -> str:
    """Return the type of a column in PostgreSQL."""
    if kind.is_integer():
        return "bigint"
    if kind.is_float():
        return "double precision"
    if isinstance(kind, pl.Datetime):
        return "timestamp with time zone" if kind.time_zone else "timestamp"
    return {pl.Boolean: "boolean", pl.Date: "date", pl.Time: "time"}.get(kind.base_type(), "text")
