"""Searches with a store that are killed again and again. Writes benchmarks/store_kills.md.

    python benchmarks/store_kills.py [--kills 50] [--minutes 10] [--postgresql URL]

*Kills*: one search is killed with SIGKILL at random moments, and resumed until it is done. *Workers*: four processes
share one search after another; every few moments a random one is killed and replaced. Without a URL, the parts on
PostgreSQL are left out.

Triggers in the database count how often each block of folds was recorded, and every change of a recorded block. So
"nothing twice" and "nothing lost" are counted by the database, not by the code under test.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from foldwise import SearchCV
from foldwise.tuning import Int
from foldwise.tuning.store import TrialStore, open_search
from foldwise.tuning.store.schema import metadata

HERE = Path(__file__).parent
PAUSE = 0.02  # seconds that a fit takes at least
N_WORKERS = 4
X, y = make_classification(300, 6, flip_y=0.2, random_state=0)
TEXT = """# Benchmarks: searches that are killed

Made by `benchmarks/store_kills.py`. Triggers in the database count every recording of a block of folds and every change
of a recorded block. "Same results" compares all settings and scores with a search that was not interrupted.

## One search, killed with SIGKILL and resumed

| store | kills | fits of the search | fits done | again per kill: mean, most | same results |
|---|---|---|---|---|---|
{kills}

## {n_workers} workers, of which a random one is killed and replaced every few moments

| store | minutes | searches | kills | blocks | recorded twice | changed later | fits done again | same results |
|---|---|---|---|---|---|---|---|---|
{workers}
"""
SQLITE_TRIGGERS = [
    "create table recordings (block integer)",
    "create table changes (block integer)",
    """create trigger recorded after update on blocks when old.state <> 'done' and new.state = 'done'
    begin insert into recordings values (new.id); end""",
    """create trigger changed after update on blocks when old.state = 'done'
    begin insert into changes values (new.id); end""",
    "create trigger deleted after delete on blocks begin insert into changes values (old.id); end",
]
POSTGRESQL_TRIGGERS = [
    "create table recordings (block integer)",
    "create table changes (block integer)",
    """create function note() returns trigger language plpgsql as $$ begin
    if tg_op = 'DELETE' or old.state = 'done' then insert into changes values (old.id);
    elsif new.state = 'done' then insert into recordings values (new.id); end if; return null; end $$""",
    "create trigger noted after update or delete on blocks for each row execute function note()",
]

children = multiprocessing.get_context("forkserver")
children.set_forkserver_preload([__name__, "foldwise.tuning.store.opening"])


class SlowTree(DecisionTreeClassifier):
    """A tree that takes its time, and appends a line to a log when a fit begins."""

    def __init__(self, log: str = "", max_depth: int | None = None, min_samples_leaf: int = 1) -> None:
        super().__init__(max_depth=max_depth, min_samples_leaf=min_samples_leaf, random_state=0)
        self.log = log

    def fit(self, X: Any, y: Any) -> Any:
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{self.max_depth} {self.min_samples_leaf} {float(X.sum()):.6f}\n")
            time.sleep(PAUSE)
        return super().fit(X, y)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("log", "max_depth", "min_samples_leaf")}


def search(log: str, n_trials: int, seed: int, **options: Any) -> SearchCV:
    space = {"max_depth": Int(1, 200), "min_samples_leaf": Int(1, 100)}
    given: dict[str, Any] = {"strategy": "evolutionary", "cv": 5, "audit": False, "refit": False, "keep": "none"}
    return SearchCV(SlowTree(log), space, n_trials=n_trials, random_state=seed, **given, **options)


def work(log: str, n_trials: int, seed: int, location: str) -> None:
    search(log, n_trials, seed, store=location, name=f"search {seed}").fit(X, y)


def started(*given: Any) -> Any:
    child = children.Process(target=work, args=given)
    child.start()
    return child


def n_lines(log: str) -> int:
    return len(Path(log).read_text().splitlines()) if Path(log).exists() else 0


def same_results(location: str, log: str, n_trials: int, seed: int) -> bool:
    """Whether a stored search has the results of one without a store."""
    stored = search(log, n_trials, seed, store=location, name=f"search {seed}").fit(X, y).cv_results_
    plain = search("", n_trials, seed).fit(X, y).cv_results_
    return bool(
        stored["params"] == plain["params"] and np.allclose(stored["mean_test_score"], plain["mean_test_score"])
    )


@contextmanager
def empty_store(url: str | None) -> Iterator[tuple[str, str, sa.Engine]]:
    """An empty store with triggers: its location, a folder, and a connection to look into it."""
    with tempfile.TemporaryDirectory() as folder:
        location = f"{folder}/trials.sqlite" if url is None else url
        engine = sa.create_engine(f"sqlite:///{location}" if url is None else url)
        with engine.begin() as connection:
            for kind in ("table recordings", "table changes", *(["function note cascade"] if url else [])):
                connection.execute(sa.text(f"drop {kind.split()[0]} if exists {' '.join(kind.split()[1:])}"))
        metadata.drop_all(engine)
        TrialStore(location).close()
        with engine.begin() as connection:
            for statement in POSTGRESQL_TRIGGERS if url else SQLITE_TRIGGERS:
                connection.exec_driver_sql(statement)
        try:
            yield location, folder, engine
        finally:
            engine.dispose()


def counted(engine: sa.Engine) -> tuple[int, int, int]:
    """Blocks that are done, those that were recorded more than once, and changes of recorded blocks."""
    with engine.begin() as connection:

        def count(query: str) -> int:
            return int(connection.execute(sa.text(f"select count(*) from {query}")).scalar_one())

        twice = count("(select block from recordings group by block having count(*) > 1) as twice")
        done = count("blocks where state = 'done'")
        assert count("blocks") == done == count("(select distinct block from recordings) as known")
        return done, twice, count("changes")


def killed(url: str | None, n_kills: int, seed: int) -> str:
    """Kill one search until it has had so many kills, then let it finish."""
    rng, hits, n_trials, log_lines = random.Random(seed), 0, 60 + 12 * n_kills, []
    with empty_store(url) as (location, folder, engine):
        log = f"{folder}/log.txt"
        while hits < n_kills:
            before, recorded = n_lines(log), n_done(engine)
            child = started(log, n_trials, seed, location)
            while child.is_alive() and n_lines(log) == before:
                time.sleep(0.005)
            child.join(rng.uniform(0.0, 3.0))
            assert child.is_alive(), "the search ended before it was killed often enough"
            child.kill()
            child.join()
            hits += 1
            log_lines.append(n_lines(log) - before - (n_done(engine) - recorded))
        child = started(log, n_trials, seed, location)
        child.join()
        assert child.exitcode == 0
        done, twice, changed = counted(engine)
        assert (twice, changed) == (0, 0)
        n_fits = n_lines(log)
        same = same_results(location, log, n_trials, seed)
        assert n_lines(log) == n_fits  # nothing is fitted again
    again = f"{np.mean(log_lines):.1f}, {max(log_lines)}"
    return f"| {kind_of(url)} | {hits} | {done:,} | {n_fits:,} | {again} | {'yes' if same else '**no**'} |"


def n_done(engine: sa.Engine) -> int:
    with engine.begin() as connection:
        return int(connection.execute(sa.text("select count(*) from blocks where state = 'done'")).scalar_one())


def replaced(url: str | None, minutes: float, seed: int) -> str:
    """Let workers share one search after another, and kill and replace a random one every few moments."""
    rng, kills, searches, same, blocks, n_trials = random.Random(seed), 0, 0, True, 0, 80
    again = 0
    with empty_store(url) as (location, folder, engine):
        until = time.monotonic() + 60 * minutes
        while time.monotonic() < until:
            given = (f"{folder}/log{searches}.txt", n_trials, 1000 * seed + searches, location)
            workers = [started(*given) for _ in range(N_WORKERS)]
            while any(one.is_alive() for one in workers):
                time.sleep(rng.uniform(0.1, 2.5))
                k = rng.randrange(N_WORKERS)
                if workers[k].is_alive() and rng.random() < 0.8:
                    workers[k].kill()
                    workers[k].join()
                    workers[k] = started(*given)
                    kills += 1
                assert all(one.exitcode in (None, 0) for one in workers), [one.exitcode for one in workers]
            states = open_search(location, f"search {given[2]}").to_frame()["state"]
            assert states.to_list() == ["finished"] * n_trials
            same = same and same_results(location, given[0], n_trials, given[2])
            again += n_lines(given[0]) - 5 * n_trials
            searches += 1
        blocks, twice, changed = counted(engine)
        assert blocks == 5 * n_trials * searches
    figures = f"{minutes:g} | {searches} | {kills} | {blocks:,} | {twice} | {changed} | {again:,}"
    return f"| {kind_of(url)} | {figures} | {'yes' if same else '**no**'} |"


def kind_of(url: str | None) -> str:
    return "SQLite" if url is None else "PostgreSQL"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--postgresql", metavar="URL")
    options = parser.parse_args()
    urls = [None, options.postgresql] if options.postgresql else [None]
    kills = [killed(url, options.kills, 1) for url in urls]
    with ThreadPoolExecutor(len(urls)) as pool:  # most of the time is waiting
        workers = list(pool.map(lambda url: replaced(url, options.minutes, 2), urls))
    page = TEXT.format(kills="\n".join(kills), workers="\n".join(workers), n_workers=N_WORKERS)
    (HERE / "store_kills.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
