"""Searches on joblib's backends and on a Dask cluster of processes: the same results, and the data sent once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from foldwise import SearchCV
from foldwise.tuning import Int
from foldwise.tuning.store import open_search

X, y = load_iris(return_X_y=True)
N_TRIALS, N_SPLITS = 12, 4


class CountedArray(np.ndarray):  # type: ignore[type-arg]
    """An array that appends a line to a file whenever it is pickled."""

    def __reduce__(self) -> Any:
        with open(os.environ["FOLDWISE_TEST_LOG"], "a") as file:
            file.write("pickled\n")
        return np.asarray(self).__reduce__()


class WorkerTree(DecisionTreeClassifier):
    """A tree that appends the number of its process to a file."""

    def __init__(self, log: str = "", max_depth: int | None = None, random_state: int | None = None) -> None:
        super().__init__(max_depth=max_depth, random_state=random_state)
        self.log = log

    def fit(self, X: Any, y: Any) -> Any:
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()}\n")
        return super().fit(X, y)


def search(log: Path, **options: Any) -> SearchCV:
    given: dict[str, Any] = {"strategy": "evolutionary", "n_trials": N_TRIALS, "random_state": 0}
    model = WorkerTree(str(log), random_state=0)
    return SearchCV(model, {"max_depth": Int(1, 30)}, cv=N_SPLITS, audit=False, refit=False, **given, **options)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes that only this machine can reach."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as opened,
    ):
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_dask_cluster(client: Any, stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDWISE_TEST_LOG", str(tmp_path / "pickled.txt"))
    log = tmp_path / "log.txt"
    options = {"store": tmp_path / "trials.sqlite", "name": "trees"} if stored else {}
    with parallel_config(backend="dask"):
        found = search(log, **options).fit(X.view(CountedArray), y)
    workers = log.read_text().split()
    assert len(workers) == N_TRIALS * N_SPLITS
    assert str(os.getpid()) not in workers
    assert len(set(workers)) == 2
    assert (tmp_path / "pickled.txt").read_text().split() == ["pickled"]
    plain = search(log).fit(X, y)
    assert found.cv_results_["params"] == plain.cv_results_["params"]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    if stored:
        states = open_search(tmp_path / "trials.sqlite", "trees").to_frame()["state"]
        assert states.to_list() == ["finished"] * N_TRIALS


def test_workers_forget_the_data_of_a_search_that_is_over(client: Any, tmp_path: Path) -> None:
    with parallel_config(backend="dask") as config:
        search(tmp_path / "log.txt").fit(X, y)
        assert not config["backend"].data_futures


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_backends_of_joblib(backend: str, tmp_path: Path) -> None:
    with parallel_config(backend=backend, n_jobs=2):
        found = search(tmp_path / "log.txt").fit(X, y)
    plain = search(tmp_path / "log.txt").fit(X, y)
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
