"""The trial store: opened by a path or a URL, created or converted when it is opened, and errors in one sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from foldwise.errors import InputError
from foldwise.tuning.store import schema, statements
from foldwise.tuning.store.databases import PAUSE, WAIT, PostgreSQLServer, SQLiteFile, StoreTransaction

CREATING = 0  # the lock while tables are created; those of studies are their ids, from 1 on
Result = TypeVar("Result")


class StoreError(InputError):
    """A trial store cannot be read or written."""


class TrialStore:
    """A place where searches record their trials, so that they can be resumed, shared and read.

    A store of an older version is converted when it is opened. Nothing that it holds is lost.

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
        self.name, self.database = self._opened(is_url)
        with self.begin([CREATING]) as transaction:
            self._prepare(transaction)

    def _opened(self, is_url: bool) -> tuple[str, SQLiteFile | PostgreSQLServer]:
        """The name without a password, and the database."""
        if not is_url:
            return self.location, SQLiteFile(self.location)
        url = sa.make_url(self.location)
        name = url.render_as_string(hide_password=True)
        if url.get_backend_name() == "sqlite" and url.database:
            return name, SQLiteFile(url.database)
        if url.get_backend_name() != "postgresql":
            raise StoreError(
                f"a store must be a SQLite file or a PostgreSQL database, got {name}.",
                "pass a file, or a URL such as 'postgresql+psycopg://user@host/database'.",
            )
        try:
            return name, PostgreSQLServer(url)
        except ModuleNotFoundError as error:
            raise StoreError(
                f"the store {name} needs the package {error.name}, which is not installed.",
                "run pip install 'foldwise[postgres]', and begin the URL with postgresql+psycopg://.",
            ) from None

    def _prepare(self, transaction: StoreTransaction) -> None:
        """Create the tables, or convert those of an older version."""
        if not transaction.run(statements.HAS_TABLES).value:
            for statement in statements.CREATION:
                transaction.run(statement)
            transaction.run(statements.INSERT_VERSION, {"version": schema.VERSION})
            return
        found = transaction.run(statements.VERSION_FOUND).value
        if found > schema.VERSION:
            raise StoreError(
                f"the store {self.name} has version {found}, but this version of Foldwise reads up to version "
                f"{schema.VERSION}.",
                "upgrade Foldwise. The store was not changed.",
            )
        if found < schema.VERSION:
            for change in statements.changes_since(found):
                transaction.run(change)
            transaction.run(statements.UPDATE_VERSION, {"now": schema.VERSION})

    @contextmanager
    def begin(self, locks: Sequence[int] = ()) -> Iterator[StoreTransaction]:
        """Begin a transaction for statements of the store, which is committed at the end.

        Parameters
        ----------
        locks : sequence of int, default ()
            Transactions that share a number never run at the same time. In SQLite, no transactions do.

        Returns
        -------
        context manager
            The transaction.
        """
        try:
            with self.database.transaction(locks) as transaction:
                yield transaction
        except self.database.errors as error:
            raise self._explained(error) from error

    def access(self, work: Callable[[StoreTransaction], Result], locks: Sequence[int] = ()) -> Result:
        """Do some work in a transaction of its own; if the connection is lost, do it again when it is back.

        Parameters
        ----------
        work : callable
            Called with the transaction. It must be possible to repeat it, even if the lost transaction was committed.
        locks : sequence of int, default ()
            As in `begin`.

        Returns
        -------
        object
            What the work returns.
        """
        until = time.monotonic() + WAIT
        while True:
            try:
                with self.begin(locks) as transaction:
                    return work(transaction)
            except StoreError as error:
                if not self.database.is_lost(error.__cause__) or time.monotonic() > until:
                    raise
                time.sleep(PAUSE)

    def _explained(self, error: BaseException) -> StoreError:
        """The error in one sentence."""
        reason = " ".join(str(getattr(error, "orig", error)).split()).rstrip(".")
        return StoreError(
            f"the store {self.name} must be readable and writable, but the database says: {reason}.",
            "check the file or the connection. What was recorded before is kept.",
        )

    def studies(self) -> list[dict[str, Any]]:
        """Return the id, name, digest of training rows and time of creation of every study.

        Returns
        -------
        list of dict
            One per study, in the order of their creation.
        """
        rows = self.access(lambda transaction: transaction.run(statements.STUDIES)).all
        return [row._asdict() for row in rows]

    def close(self) -> None:
        """Close all connections. The next access opens one again."""
        self.database.close()

    def __del__(self) -> None:
        if hasattr(self, "database"):
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"location": self.location}  # another process opens a connection of its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["location"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"TrialStore({self.name!r})"
