"""Run folders and an empty working folder, shared by the tests of the command line."""

from __future__ import annotations

import pytest

from tests.app.runs import COSTS, TABLE, folder_of, pipeline


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to work in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture(scope="session")
def tree_run(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("runs") / "tree", pipeline("decision_tree"), TABLE.X, costs=COSTS)


@pytest.fixture(scope="session")
def bayes_run(tmp_path_factory):
    return folder_of(tmp_path_factory.mktemp("runs") / "bayes", pipeline("naive_bayes"), TABLE.X, background=False)


@pytest.fixture
def new(here):
    TABLE.X.write_csv(here / "new.csv")
    return here / "new.csv"
