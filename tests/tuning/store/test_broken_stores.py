"""A full disk, a read-only file, a lost connection: one sentence, and nothing that was recorded is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from foldwise import SearchCV
from foldwise.tuning import Int
from foldwise.tuning.store import StoreError, TrialStore, open_search
from foldwise.tuning.store.databases import SQLiteFile

X, y = load_iris(return_X_y=True)


class LoggedTree(DecisionTreeClassifier):
    """A tree that counts its fits, and lets something happen at one of them."""

    fits = 0
    events: dict[int, Any] = {}  # noqa: RUF012

    def fit(self, X: Any, y: Any) -> Any:
        LoggedTree.fits += 1
        LoggedTree.events.pop(LoggedTree.fits, lambda: None)()
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def _no_fits() -> None:
    LoggedTree.fits, LoggedTree.events = 0, {}


def search(store: Any, n_trials: int = 6, **options: Any) -> SearchCV:
    space = {"max_depth": Int(1, 9), "min_samples_leaf": Int(1, 20)}
    given: dict[str, Any] = {"strategy": "random", "cv": 4, "random_state": 0, "audit": False, "refit": False}
    model = LoggedTree(random_state=0)
    return SearchCV(model, space, n_trials=n_trials, store=store, name="trees", **{**given, **options})


def check_sentence(error: BaseException, *words: str) -> None:
    text = str(error)
    assert "\n" not in text
    assert all(word in text for word in words), text


def test_a_full_disk(tmp_path: Path) -> None:
    store = TrialStore(tmp_path / "trials.sqlite")
    search(store, 2).fit(X, y)
    assert isinstance(store.database, SQLiteFile)
    connection = store.database.connection
    connection.execute("pragma wal_checkpoint(truncate)")
    [size] = connection.execute("pragma page_count").fetchone()
    connection.execute(f"pragma max_page_count={size}")  # SQLite reports a full disk beyond
    with pytest.raises(StoreError) as caught:
        search(store, 400, keep="all").fit(X, y)
    check_sentence(caught.value, "database or disk is full", "What was recorded before is kept")
    assert open_search(store, "trees").to_frame()["state"].to_list()[:2] == ["finished"] * 2
    connection.execute("pragma max_page_count=1073741823")
    done = LoggedTree.fits
    search(store, 4).fit(X, y)
    assert LoggedTree.fits <= done + 2 * 4
    assert open_search(store, "trees").to_frame()["state"].to_list()[:4] == ["finished"] * 4


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_a_read_only_file() -> None:
    folder = Path(tempfile.mkdtemp(prefix="fw-store-"))
    try:
        file = folder / "trials.sqlite"
        search(str(file), 2).fit(X, y)
        before = file.read_bytes()
        file.chmod(0o444)
        folder.chmod(0o555)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # root may write everything
            try:
                if os.getuid() == 0:
                    os.setuid(65534)
                search(str(file), 4).fit(X, y)
                os.write(writing, b"no error")
            except BaseException as error:
                os.write(writing, f"{type(error).__name__}: {error}".encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        assert text.startswith("StoreError: ")
        assert "must be readable and writable, but the database says: attempt to write a readonly database." in text
        assert "\n" not in text
        assert file.read_bytes() == before
        assert [one.name for one in folder.iterdir()] == ["trials.sqlite"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_other_databases_and_servers_that_do_not_answer() -> None:
    with pytest.raises(StoreError, match="must be a SQLite file or a PostgreSQL database, got mysql://"):
        TrialStore("mysql://user@host/trials")
    with pytest.raises(StoreError) as caught:
        TrialStore("postgresql+psycopg://user:secret@localhost:1/trials")
    check_sentence(caught.value, "Connection refused")
    assert "secret" not in str(caught.value)


def drop_connections(url: str) -> None:
    """End all connections to a database, as a server that restarts does."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        others = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
        connection.execute(sa.text(f"{others} and pid <> pg_backend_pid()"))


@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_connection_that_drops_and_comes_back(location: str) -> None:
    LoggedTree.events = {n: lambda: drop_connections(location) for n in (3, 11, 19)}
    found = search(location).fit(X, y)
    assert not LoggedTree.events
    assert LoggedTree.fits == 6 * 4
    plain = SearchCV(
        DecisionTreeClassifier(random_state=0),
        found.space, strategy="random", cv=4, random_state=0, n_trials=6, refit=False,
    ).fit(X, y)  # fmt: skip
    assert found.cv_results_["params"] == plain.cv_results_["params"]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


@pytest.mark.slow
@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_database_that_is_gone(location: str, postgresql_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foldwise.tuning.store.connection.WAIT", 2.0)  # a minute otherwise
    monkeypatch.setattr("foldwise.tuning.store.study.LEASE", 5.0)  # which the next search waits for
    name = str(sa.make_url(location).database)

    def rename(old: str, new: str) -> None:
        engine = sa.create_engine(postgresql_server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        drop_connections(location.replace(name, old))
        with engine.connect() as connection:
            connection.execute(sa.text(f'alter database "{old}" rename to "{new}"'))

    search(location, 2).fit(X, y)
    LoggedTree.events = {10: lambda: rename(name, "elsewhere")}
    with pytest.raises(StoreError) as caught:
        search(location, 6).fit(X, y)
    check_sentence(caught.value, "does not exist", "What was recorded before is kept")
    rename("elsewhere", name)
    assert open_search(location, "trees").to_frame()["state"].to_list()[:2] == ["finished"] * 2
    again = search(location, 6).fit(X, y)
    assert len(again.cv_results_["params"]) == 6
