"""The connection to a trial store: a SQLite file, or a PostgreSQL database for several machines.

Every access is one short transaction. SQLite's take the lock of the file at once, so that two processes wait for each
other instead of failing.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc

from foldwise.errors import InputError
from foldwise.tuning.store import schema

WAIT = 60.0  # seconds for the lock of a SQLite file, or for a lost connection to come back
CREATING = 0  # the lock while tables are created; those of studies are their ids, from 1 on
PAUSE = 0.2  # seconds between attempts


class StoreError(InputError):
    """A trial store cannot be read or written."""


class TrialStore:
    """A place where searches record their trials, so that they can be resumed, shared and read.

    Parameters
    ----------
    location : str or path
        A file, which is created if it does not exist, or the URL of a database such as
        `"postgresql+psycopg://user@host/database"`.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise.tuning.store import TrialStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     TrialStore(f"{folder}/trials.sqlite").studies()
    []
    """

    def __init__(self, location: str | Path) -> None:
        self.location = str(location)
        is_url = "://" in self.location
        if not is_url and not Path(self.location).parent.is_dir():
            raise StoreError(
                f"the folder of a store must exist, but {Path(self.location).parent} does not.", "create the folder."
            )
        url = sa.make_url(self.location) if is_url else sa.URL.create("sqlite", database=self.location)
        self.name = url.render_as_string(hide_password=True) if is_url else self.location
        self.is_sqlite = url.get_backend_name() == "sqlite"
        try:
            self.engine = sqlite_engine(url) if self.is_sqlite else sa.create_engine(url, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            raise StoreError(
                f"the store {self.name} needs the package {error.name}, which is not installed.",
                "pip install 'foldwise[postgresql]'.",
            ) from None
        self._check_version()

    def _check_version(self) -> None:
        with self.transaction(CREATING) as connection:
            schema.metadata.create_all(connection)
            found = connection.execute(sa.select(schema.versions.c.version)).scalar()
            if found is None:
                connection.execute(sa.insert(schema.versions).values(version=schema.VERSION))
            elif found > schema.VERSION:
                raise StoreError(
                    f"the store {self.name} has version {found}, but this version of Foldwise reads up to version "
                    f"{schema.VERSION}.",
                    "upgrade Foldwise. The store was not changed.",
                )

    @contextmanager
    def transaction(self, lock: int | None = None) -> Iterator[sa.Connection]:
        """Begin a transaction, which is committed at the end; waits for a lock or a lost connection.

        Parameters
        ----------
        lock : int, default None
            Transactions with the same number never run at the same time. In SQLite, no transactions do.

        Returns
        -------
        context manager
            The connection within the transaction.
        """
        connection = self._connected()
        try:
            with connection, connection.begin():
                if lock is not None and not self.is_sqlite:
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(lock)))
                yield connection
        except exc.DBAPIError as error:
            raise self._explained(error) from error

    def _connected(self) -> sa.Connection:
        """Connect; a server that does not answer is asked again for a while."""
        until = time.monotonic() + WAIT
        while True:
            try:
                return self.engine.connect()
            except (exc.DBAPIError, sqlite3.Error) as error:
                if self.is_sqlite or time.monotonic() > until:
                    raise self._explained(error) from error
                time.sleep(PAUSE)

    def _explained(self, error: Exception) -> StoreError:
        """The error in one sentence."""
        reason = " ".join(str(getattr(error, "orig", error)).split())
        return StoreError(
            f"the store {self.name} must be readable and writable, but the database says: {reason}.",
            "check the file or the connection. What was recorded before is kept.",
        )

    @property
    def now(self) -> float:
        """The time in seconds since 1970; that of the server, as the clocks of machines differ."""
        if self.is_sqlite:
            return time.time()
        with self.transaction() as connection:
            return float(connection.execute(sa.text("select extract(epoch from clock_timestamp())")).scalar_one())

    def studies(self) -> list[dict[str, Any]]:
        """Return the id, name, digest of training rows and time of creation of every study.

        Returns
        -------
        list of dict
            One per study, in the order of their creation.
        """
        columns = [schema.studies.c[name] for name in ("id", "name", "training_rows", "created")]
        with self.transaction() as connection:
            return [dict(row._mapping) for row in connection.execute(sa.select(*columns).order_by(columns[0]))]

    def close(self) -> None:
        """Close all connections. The next access opens one again."""
        self.engine.dispose()

    def __del__(self) -> None:
        if hasattr(self, "engine"):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"location": self.location}  # another process opens a connection of its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["location"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"TrialStore({self.name!r})"


def sqlite_engine(url: sa.URL) -> sa.Engine:
    """An engine whose transactions take the lock at once and are written ahead to a log."""
    engine = sa.create_engine(url, connect_args={"timeout": WAIT, "isolation_level": None})

    @event.listens_for(engine, "connect")
    def prepare(raw: Any, _: Any) -> None:
        until = time.monotonic() + WAIT
        while True:
            try:
                raw.execute("pragma journal_mode=wal")  # this alone does not wait for the lock
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(PAUSE / 10)
        raw.execute("pragma synchronous=normal")

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("begin immediate")

    return engine
