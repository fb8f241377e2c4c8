"""From a path, a glob, a folder or an address to a table expression. Passwords never appear in messages."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foldwise.addresses import check_address, masked
from foldwise.data.reading.protocol import first_line
from foldwise.data.schema import choose_among, listing
from foldwise.engines.csv_errors import csv_problem
from foldwise.engines.engine_kinds import FILES_READ
from foldwise.errors import EngineError, InputError

FILES = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}
LONGEST_HEADER = 1 << 20  # bytes
POSTGRES = ("postgresql://", "postgres://")
FORBIDDEN = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}


def import_ibis(extra: str = "duckdb") -> Any:
    """Import Ibis, or say which extra installs it."""
    try:
        import ibis
    except ImportError as error:
        raise missing_package("reading from a database", "ibis-framework", extra) from error
    return ibis


def missing_package(what: str, package: str, extra: str) -> InputError:
    """Return the error for a package that is not installed."""
    return InputError(
        f"{what} needs the package {package!r}, which is not installed.", f"run pip install 'foldwise[{extra}]'."
    )


def is_address(source: str | Path) -> bool:
    """Whether a source is the address of a database."""
    return str(source).lower().startswith(POSTGRES)


def table_of(
    source: str | Path | Sequence[str | Path],
    *,
    table: str | None = None,
    query: str | None = None,
    memory: str | None = None,
) -> Any:
    """Open a table where it is, as an Ibis expression. No row is read.

    Parameters
    ----------
    source : str, path or list of paths
        A Parquet or CSV file, a folder or a glob of such files, a DuckDB or SQLite file, or the address
        `postgresql://user@host/database`. Passwords come from the environment variable PGPASSWORD or the file .pgpass.
    table : str, optional
        Name of the table in a database, which may be preceded by its schema and a dot.
    query : str, optional
        A query whose result is the table, instead of `table`.
    memory : str, optional
        How much memory DuckDB may use, such as "1GB".

    Returns
    -------
    ibis.Table
        The table, for `facts_of`.

    Examples
    --------
    >>> from foldwise.engines import table_of
    >>> table_of("examples/weather.csv").columns
    ('outlook', 'temperature', 'humidity', 'windy', 'play')
    """
    if table is not None and query is not None:
        raise InputError("table= and query= cannot be combined.", "pass one of them.")
    if isinstance(source, str) and "://" in source:
        return named(connect_postgres(source), table, query)
    paths = [source] if isinstance(source, str | Path) else list(source)
    if len(paths) == 1:
        suffix = Path(paths[0]).suffix.lower()
        if suffix in (".duckdb", ".ddb"):
            return named(connect_duckdb(memory, Path(paths[0])), table, query)
        if suffix in (".sqlite", ".sqlite3", ".db"):
            return named(connect_sqlite(Path(paths[0])), table, query)
    if table is not None or query is not None:
        raise InputError("table= and query= are for databases, but the source is a file.", "leave them out.")
    return read_files(connect_duckdb(memory), [found for path in paths for found in files_of(path)])


def files_of(path: str | Path) -> list[Path]:
    """Return the files that a path stands for: itself, the files of a folder, or the matches of a glob."""
    given = Path(path)
    if given.is_dir():
        found = sorted(one for one in given.rglob("*") if one.suffix.lower() in FILES and one.is_file())
    elif given.exists():
        found = [given]
    else:
        root = Path(given.anchor) if given.is_absolute() else Path()
        pattern = str(given.relative_to(given.anchor)) if given.is_absolute() else str(given)
        found = sorted(one for one in root.glob(pattern) if one.is_file()) if any(c in pattern for c in "*?[") else []
    if not found:
        raise InputError(f"there are no Parquet or CSV files at {str(path)!r}.", "check the path.")
    return found


def read_files(connection: Any, paths: Sequence[Path]) -> Any:
    """Return the rows of files of one format as one table."""
    readers = {FILES.get(path.suffix.lower()) for path in paths}
    if len(readers) > 1 or None in readers:
        raise InputError(
            f"the files must all be Parquet or all be CSV, but are {listing(path.name for path in paths)}.",
            "pass a glob such as 'folder/*.parquet'.",
        )
    check_same_columns(connection, paths)
    FILES_READ[connection] = tuple(paths)
    read = getattr(connection, str(readers.pop()))
    try:
        # DuckDB would read a name with * or ? as a pattern
        return read([escaped(path) for path in paths])
    except Exception as error:
        raise InputError(*(csv_problem(error) or (f"{paths[0].name} cannot be read: {first_line(error)}.",))) from error


def check_same_columns(connection: Any, paths: Sequence[Path]) -> None:
    """Raise if files that are read as one table have different columns."""
    first = paths[0]
    is_csv = FILES.get(first.suffix.lower()) == "read_csv"
    for other in paths[1:]:
        if is_csv and first_bytes_of(first) == first_bytes_of(other):
            continue
        known, found = (columns_of(connection, path, is_csv) for path in (first, other))
        if not known or not found:
            continue
        for one, another, lacks in ((first, other, known - found), (other, first, found - known)):
            if lacks:
                raise InputError(
                    f"files of one table must have the same columns, but {one.name} has {named_first(lacks)!r}, which "
                    f"{another.name} does not have.",
                    "pass one file, or a glob that matches the files of one table, such as 'folder/2026-*.csv'.",
                )


def named_first(names: set[str]) -> str:
    """One of some names, if possible not one that DuckDB made for a column without a name.

    >>> named_first({"column0", "wage"})
    'wage'
    """
    return min(names, key=lambda name: (name.startswith("column0"), name))


def first_bytes_of(path: Path) -> bytes:
    """The first line of a text file."""
    with path.open("rb") as file:
        return file.readline(LONGEST_HEADER).strip()


def columns_of(connection: Any, path: Path, is_csv: bool) -> set[str]:
    """The names of the columns of a file, as DuckDB reads them. Empty if it cannot read the file."""
    reader, name = "read_csv" if is_csv else "read_parquet", escaped(path).replace("'", "''")
    try:
        return set(connection.con.sql(f"SELECT * FROM {reader}('{name}')").columns)
    except Exception:  # reported where the table is read
        return set()


def escaped(path: Path) -> str:
    """Write a path so that DuckDB takes no character of it for a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


class SpillFolder:
    """A temporary folder for what exceeds the memory of DuckDB, deleted with the last connection that uses it.

    Connections to the same file share it, because within a process, DuckDB opens a file again only with the same
    settings.
    """

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="foldwise-duckdb-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def release(self) -> None:
        """Do nothing: the last reference to the folder deletes it."""

    @classmethod
    def of(cls, path: Path | None) -> SpillFolder:
        """Return the folder for a file, or a new one for a database in memory."""
        found = None if path is None else FILE_FOLDERS.get(path.resolve())
        if found is None:
            found = cls()
            if path is not None:
                FILE_FOLDERS[path.resolve()] = found
        return found


FILE_FOLDERS: weakref.WeakValueDictionary[Path, SpillFolder] = weakref.WeakValueDictionary()


def connect_duckdb(memory: str | None = None, path: Path | None = None) -> Any:
    """Open DuckDB, in memory or on a file that is only read."""
    ibis = import_ibis()
    if path is not None and not path.exists():
        raise InputError(f"file {str(path)!r} does not exist.", "check the path.")
    # by default DuckDB writes what exceeds its memory to the current folder, or beside the file
    spilled = SpillFolder.of(path)
    options: dict[str, Any] = {**FORBIDDEN, "temp_directory": spilled.path}
    if memory is not None:
        options["memory_limit"] = memory
    try:
        source = [] if path is None else [str(path)]
        connection = ibis.duckdb.connect(*source, read_only=path is not None, **options)
    except ImportError as error:
        raise missing_package("reading files or a DuckDB database", "duckdb", "duckdb") from error
    except Exception as error:
        what = "DuckDB cannot be opened" if path is None else f"{path.name} cannot be opened as a DuckDB file"
        raise InputError(f"{what}: {first_line(error)}.") from error
    weakref.finalize(connection, spilled.release)  # which keeps it until then
    return connection


def connect_sqlite(path: Path) -> Any:
    """Open a SQLite file."""
    if not path.exists():
        raise InputError(f"file {str(path)!r} does not exist.", "check the path.")
    ibis = import_ibis()
    try:
        return ibis.sqlite.connect(path)
    except ImportError as error:
        raise missing_package("SQLite", "ibis-framework[sqlite]", "duckdb") from error
    except Exception as error:
        raise InputError(f"{path.name} cannot be opened as a SQLite file: {first_line(error)}.") from error


def connect_postgres(address: str) -> Any:
    """Connect to PostgreSQL."""
    if not is_address(address):
        raise InputError(
            f"the address of a database must start with postgresql://, got {masked(address)!r}.",
            "pass such an address, a file or a folder, or open the table with Ibis.",
        )
    ibis = import_ibis("postgres")
    try:
        import psycopg
    except ImportError as error:
        raise missing_package("PostgreSQL", "psycopg", "postgres") from error
    check_address(address)
    scheme, _, rest = address.partition("://")
    address = f"{scheme.lower()}://{rest}"  # as the driver knows it
    try:
        return ibis.postgres.from_connection(psycopg.connect(address, autocommit=True))
    except psycopg.Error as error:
        raise EngineError(
            f"cannot connect to {masked(address)}: {masked(first_line(error))}.",
            "check host, user and database; the password comes from PGPASSWORD or .pgpass.",
        ) from error


def named(connection: Any, table: str | None, query: str | None) -> Any:
    """Return a table of a database, or the result of a query. The connection is closed if there is none."""
    try:
        if query is not None:
            return result_of(connection, query)
        names = table_names(connection)
        if table is None:
            if len(names) == 1:
                return plain_table(connection, connection.table(names[0]))
            raise InputError(f"the database contains {len(names)} tables: {listing(names)}.", "pass table=.")
        if table in names:
            return plain_table(connection, connection.table(table))
        schema, dot, name = table.partition(".")
        try:
            found = connection.table(name, database=schema) if dot else connection.table(table)
        except import_ibis().common.exceptions.TableNotFound as error:
            raise InputError(f"the database has no table {table!r}.", table_hint(names, table)) from error
        return plain_table(connection, found)
    except InputError:
        connection.disconnect()
        raise
    except Exception as error:
        connection.disconnect()
        what = "the query" if query is not None else "the database" if table is None else f"table {table!r}"
        raise InputError(f"{what} cannot be read: {masked(first_line(error))}.") from error


def table_hint(names: Sequence[str], wanted: str) -> str:
    """Say which tables there are."""
    if not names:
        return "no table of its current schema can be seen. Write schema.table for another schema."
    return choose_among(names, wanted)


def table_names(connection: Any) -> list[str]:
    """Return the names of the tables of the current schema, and of temporary ones."""
    if connection.name != "duckdb":
        found: list[str] = connection.list_tables()
        return found
    # Ibis 12 calls a method that DuckDB 2 no longer has
    where = "table_catalog = 'temp' or (table_catalog = current_database() and table_schema = current_schema())"
    query = f"select distinct table_name from information_schema.tables where {where} order by table_name"
    return [name for (name,) in connection.con.execute(query).fetchall()]


def result_of(connection: Any, query: str) -> Any:
    """Return the result of a query as a table.

    Ibis cannot ask for its types: of PostgreSQL it would create a view, which a read-only role may not do, and of
    DuckDB 2 it calls a method that is gone.
    """
    query = query.strip().rstrip(";")
    if connection.name == "postgres":
        query, schema = plain_query(connection, query)
        return connection.sql(query, schema=schema)
    if connection.name != "duckdb":
        return connection.sql(query)
    from ibis.backends.sql.datatypes import DuckDBType

    described = connection.con.execute(f"describe select * from ({query}\n) as q").fetchall()
    schema = import_ibis().schema({name: DuckDBType.from_string(kind) for name, kind, *_ in described})
    return connection.sql(query, schema=schema)


def plain_table(connection: Any, table: Any) -> Any:
    """Return a table. Columns of PostgreSQL whose types Ibis does not know are converted to simple ones."""
    if connection.name != "postgres":
        return table
    query = connection.compile(table)
    plain, schema = plain_query(connection, query)
    is_known = plain == query and not any(kind.is_unknown() for kind in table.schema().types)
    return table if is_known else connection.sql(plain, schema=schema)


def plain_query(connection: Any, query: str) -> tuple[str, Any]:
    """Return a query of PostgreSQL whose enumerations are converted to text and whose money to numbers, and its types.

    Texts cannot be compared with enumerations. Domains are types that Ibis does not know, but drivers do.
    """
    from ibis.backends.sql.datatypes import PostgresType
    from psycopg import sql

    wanted, types, is_converted = [], {}, False
    with connection.con.cursor() as cursor:
        cursor.execute(f"select * from ({query}\n) as q limit 0")  # the query may end with a comment
        columns = [(column.name, column.type_code) for column in cursor.description]
        refuse_repeated([name for name, _ in columns])
        for name, code in columns:
            text = "select typtype = 'e', format_type(oid, null) from pg_type where oid = %s"
            is_enumeration, kind = cursor.execute(text, [code]).fetchone()
            cast = "text" if is_enumeration else "numeric" if kind == "money" else ""
            is_converted = is_converted or bool(cast)
            column = sql.Identifier(name).as_string(cursor)
            wanted.append(f"{column}::{cast} as {column}" if cast else column)
            types[name] = PostgresType.from_string(cast or kind)
    if is_converted:
        query = f"select {', '.join(wanted)} from ({query}\n) as q"
    return query, import_ibis().schema(types)


def refuse_repeated(names: Sequence[str]) -> None:
    """Raise if two columns of a query have the same name."""
    for j, name in enumerate(names):
        if name in names[:j]:
            raise InputError(
                f"the query returns two columns with the name {name!r}.", "give each of them a name of its own with AS."
            )
