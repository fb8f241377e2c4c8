"""Several processes on one search, and searches that are killed: nothing is lost, nothing is recorded twice."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from foldwise.tuning.store import TrialStore, open_search
from tests.slow import slow
from tests.tuning.store.stored_searches import N_SPLITS, N_TRIALS, X, fits, same_scores, search, start, y

ALL = N_TRIALS * N_SPLITS
IN_FLIGHT = 1 + 60  # one fold, and at most a second of results that are not written yet: 1 / 0.02 s, with some slack


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return search(None, tmp_path_factory.mktemp("plain") / "log.txt", 0.0).fit(X, y)


def test_a_store_of_each_kind_gives_the_same_search(location: str, tmp_path: Path, plain: Any) -> None:
    found = search(location, tmp_path / "log.txt", 0.0).fit(X, y)
    same_scores(found, plain)
    same_scores(search(location, tmp_path / "log.txt", 0.0).fit(X, y), plain)
    assert len(fits(tmp_path / "log.txt")) == ALL
    assert open_search(location, "trees").to_frame()["state"].to_list() == ["finished"] * N_TRIALS


@pytest.mark.slow
def test_processes_that_start_at_once_share_a_search(location: str, tmp_path: Path, plain: Any) -> None:
    log = tmp_path / "log.txt"
    workers = [start(location, log) for _ in range(8)]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 8
    assert len(fits(log)) == ALL  # no fold was computed twice
    same_scores(search(location, log).fit(X, y), plain)
    assert len(fits(log)) == ALL
    assert len(TrialStore(location).studies()) == 1


def kill_and_resume(location: str, log: Path, n_kills: int) -> int:
    """Run a search, kill it again and again at random moments, and return the number of kills that hit it."""
    rng, hits = random.Random(0), 0
    for _ in range(n_kills):
        worker = start(location, log)
        worker.join(rng.uniform(0.05, 0.8))
        if worker.is_alive():
            worker.kill()
            hits += 1
        worker.join()
    return hits


@pytest.mark.parametrize("location", ["sqlite", *slow("postgresql")], indirect=True)
def test_a_search_that_is_killed_goes_on(location: str, tmp_path: Path, plain: Any) -> None:
    log = tmp_path / "log.txt"
    hits = kill_and_resume(location, log, 4)
    assert hits
    start_time = time.monotonic()
    found = search(location, log).fit(X, y)
    assert time.monotonic() - start_time < 20  # it does not wait for the leases of processes that were killed
    same_scores(found, plain)
    assert ALL <= len(fits(log)) <= ALL + hits * IN_FLIGHT


@pytest.mark.slow
def test_a_search_killed_at_random_moments(location: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    options: dict[str, Any] = {"n_trials": 200, "strategy": "random"}
    rng, hits = random.Random(1), 0
    while hits < 15:
        worker = start(location, log, 0.01, **options)
        worker.join(rng.uniform(0.1, 1.0))
        if not worker.is_alive():
            break
        worker.kill()
        worker.join()
        hits += 1
    assert hits > 5
    found = search(location, log, 0.01, **options).fit(X, y)
    same_scores(found, search(None, tmp_path / "plain.txt", 0.0, **options).fit(X, y))
    assert len(fits(log)) <= 200 * N_SPLITS + hits * 121


@pytest.mark.slow
def test_workers_that_are_killed_and_replaced(location: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    options: dict[str, Any] = {"n_trials": 100, "strategy": "random"}
    rng = random.Random(2)
    workers = [start(location, log, 0.02, **options) for _ in range(4)]
    until = time.monotonic() + 20
    while time.monotonic() < until and any(worker.is_alive() for worker in workers):
        time.sleep(rng.uniform(0.1, 0.6))
        k = rng.randrange(4)
        workers[k].kill()
        workers[k].join()
        workers[k] = start(location, log, 0.02, **options)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    found = search(location, log, 0.02, **options).fit(X, y)
    same_scores(found, search(None, tmp_path / "plain.txt", 0.0, **options).fit(X, y))
    states = open_search(location, "trees").to_frame()["state"]
    assert states.to_list() == ["finished"] * 100
