"""A store of an older version is converted when it is opened, with all that it holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from foldwise import SearchCV
from foldwise.errors import InputError
from foldwise.tuning import Int
from foldwise.tuning.store import TrialStore, open_search
from foldwise.tuning.store.schema import VERSION

X, y = load_iris(return_X_y=True)
VERSION_1 = Path(__file__).with_name("version_1.sql")  # what Foldwise wrote with version 1, as text


def test_a_file_of_version_1_is_read(tmp_path: Path) -> None:
    file = tmp_path / "trials.sqlite"
    with sqlite3.connect(file) as raw:
        raw.executescript(VERSION_1.read_text())
    raw.close()
    frame = open_search(file, "iris").to_frame()
    assert frame["state"].to_list() == ["finished"] * 3
    assert frame["mean_score"].to_list() == pytest.approx([0.94] * 3)
    assert open_search(file, "iris").best is not None
    with sqlite3.connect(file) as raw:
        assert raw.execute("select version from foldwise_store").fetchall() == [(VERSION,)]
        assert raw.execute("select count(*) from blocks where recorded is null").fetchone() == (2,)
    raw.close()


def search(location: str, n_trials: int) -> SearchCV:
    return SearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": Int(1, 9), "min_samples_leaf": Int(1, 20)},
        strategy="random",
        n_trials=n_trials,
        cv=3,
        random_state=0,
        store=location,
        name="trees",
    )


def test_a_search_begun_in_version_1_goes_on(location: str) -> None:
    begun = search(location, 3).fit(X, y)
    engine = sa.create_engine(location if "://" in location else f"sqlite:///{location}")
    with engine.begin() as connection:  # the tables as they were in version 1
        connection.execute(sa.text("alter table blocks drop column recorded"))
        connection.execute(sa.text("update foldwise_store set version = 1"))
    engine.dispose()
    again = search(location, 6).fit(X, y)
    assert again.cv_results_["params"][:3] == begun.cv_results_["params"]
    assert len(TrialStore(location).studies()) == 1
    frame = open_search(location, "trees").to_frame()
    assert frame["state"].to_list() == ["finished"] * 6


def test_a_newer_store_is_refused_and_not_changed(location: str) -> None:
    search(location, 2).fit(X, y)
    engine = sa.create_engine(location if "://" in location else f"sqlite:///{location}")
    with engine.begin() as connection:
        connection.execute(sa.text(f"update foldwise_store set version = {VERSION + 1}"))

    def content() -> list[object]:
        with engine.begin() as connection:
            return [
                [tuple(row) for row in connection.execute(sa.text(f"select * from {table}"))]
                for table in ("foldwise_store", "studies", "proposals", "blocks")
            ]

    before = content()
    with pytest.raises(InputError, match=f"has version {VERSION + 1}.*upgrade Foldwise"):
        search(location, 4).fit(X, y)
    with pytest.raises(InputError, match=f"has version {VERSION + 1}.*upgrade Foldwise"):
        open_search(location, "trees")
    assert content() == before
    engine.dispose()
