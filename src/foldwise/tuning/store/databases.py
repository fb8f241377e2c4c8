"""The two kinds of databases behind a trial store: a SQLite file, and a PostgreSQL server.

Every access is one short transaction. SQLite's take the lock of the file at once, so that two processes wait for each
other instead of failing. They go through Python's own module, as SQLAlchemy would take longer than a small search.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import sqlalchemy as sa
from sqlalchemy import exc

from foldwise.tuning.store.statements import Statement, StatementRows, StatementValues

WAIT = 60.0  # seconds for the lock of a SQLite file, or for a lost connection to come back
PAUSE = 0.2  # seconds between attempts

ADVISORY_LOCK = sa.select(sa.func.pg_advisory_xact_lock(sa.bindparam("lock")))
CLOCK = sa.text("select extract(epoch from clock_timestamp())")


class StoreTransaction(Protocol):
    """What statements are executed in."""

    def run(
        self, statement: Statement, given: StatementValues | Sequence[StatementValues] | None = None
    ) -> StatementRows:
        """Execute a statement with some values, or once for each of several."""

    def now(self) -> float:
        """The time in seconds since 1970: that of the server, as the clocks of machines differ."""


class SQLiteFile:
    """A SQLite file with a write-ahead log. Threads share one connection, as their transactions take turns anyway."""

    errors = (sqlite3.Error,)

    def __init__(self, file: str) -> None:
        self.file = file
        self._turn = threading.RLock()
        self._opened: dict[int, sqlite3.Connection] = {}  # by process: a connection must not be shared after a fork

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of this process."""
        process = os.getpid()
        if process not in self._opened:
            self._opened[process] = opened(self.file)
        return self._opened[process]

    @contextmanager
    def transaction(self, locks: Sequence[int] = ()) -> Iterator[StoreTransaction]:
        """Begin a transaction, which excludes all others."""
        with self._turn:
            connection = self.connection
            connection.execute("begin immediate")
            try:
                yield SQLiteTransaction(connection)
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise

    def is_lost(self, error: BaseException | None) -> bool:
        """A file is not lost and found again."""
        return False

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            found = self._opened.pop(os.getpid(), None)
            if found is not None:
                found.close()


class SQLiteTransaction:
    """A transaction of a SQLite file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(
        self, statement: Statement, given: StatementValues | Sequence[StatementValues] | None = None
    ) -> StatementRows:
        text, fixed = statement.for_sqlite
        if given is None or isinstance(given, Mapping):
            found = self._connection.execute(text, {**fixed, **(given or {})})
        else:
            found = self._connection.executemany(text, [{**fixed, **one} for one in given])
        names = [] if found.description is None else [column[0] for column in found.description]
        return StatementRows(statement.rows_of(names, found.fetchall()), found.rowcount)

    def now(self) -> float:
        return time.time()


def opened(file: str) -> sqlite3.Connection:
    """Open a SQLite file, which is created if it does not exist."""
    connection = sqlite3.connect(file, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        if not connection.execute("pragma page_count").fetchone()[0]:  # a new file, which has nothing to lose
            connection.execute("pragma synchronous=off")
        until = time.monotonic() + WAIT
        while True:
            try:
                connection.execute("pragma journal_mode=wal")  # this alone does not wait for the lock
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(PAUSE / 10)
        connection.execute("pragma synchronous=normal")
    except BaseException:
        connection.close()
        raise
    return connection


class PostgreSQLServer:
    """A PostgreSQL database, which several machines share."""

    errors = (exc.DBAPIError,)

    def __init__(self, url: sa.URL) -> None:
        self.engine = sa.create_engine(url, pool_pre_ping=True)

    @contextmanager
    def transaction(self, locks: Sequence[int] = ()) -> Iterator[StoreTransaction]:
        """Begin a transaction, which excludes others with one of these locks."""
        with self.engine.begin() as connection:
            for lock in sorted(locks):  # sorted, so that two processes never wait for each other
                connection.execute(ADVISORY_LOCK, {"lock": lock})
            yield PostgreSQLTransaction(connection)

    def is_lost(self, error: BaseException | None) -> bool:
        """Whether the connection was lost or a transaction refused for now, so that it helps to repeat it."""
        if not isinstance(error, exc.DBAPIError):
            return False
        code = getattr(error.orig, "sqlstate", None)  # a lost connection has none, as the server says nothing
        return error.connection_invalidated or (code or "08000")[:2] in ("08", "40") or str(code).startswith("57P0")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


class PostgreSQLTransaction:
    """A transaction of a PostgreSQL database."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def run(
        self, statement: Statement, given: StatementValues | Sequence[StatementValues] | None = None
    ) -> StatementRows:
        found = self._connection.execute(statement.for_postgresql, given)
        if not found.returns_rows:
            return StatementRows([], found.rowcount)
        return StatementRows(statement.rows_of(list(found.keys()), [tuple(row) for row in found]), found.rowcount)

    def now(self) -> float:
        return float(self._connection.execute(CLOCK).scalar_one())
