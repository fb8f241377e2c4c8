"""What a trial store costs, and what a second process gains. Writes benchmarks/store.md.

    python benchmarks/store.py [--postgresql URL]

Times are the best of several runs, with and without a store in turn. Without a URL, the part on PostgreSQL is left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from foldwise import NaiveBayes, SearchCV, nested_cv
from foldwise.errors import FoldwiseWarning
from foldwise.tuning import Int
from foldwise.tuning.store.schema import metadata
from nested import categories

HERE = Path(__file__).parent
RUNS = {"refits": 5, "nested_models": 25}  # the second takes 0.04 s
TEXT = """# Benchmarks: the trial store

Made by `benchmarks/store.py`. Best of {refits} runs (refits) and {nested_models} runs (nested), with and without a
store in turn. The store is a new SQLite file each time, which is opened, written and closed within the measured time.

CPU time is that of the process. On a machine with other work, times on the clock contain waiting for the disk and for
other processes.

| search | without a store | with SQLite | overhead | CPU time without | CPU time with | overhead | goal |
|---|---|---|---|---|---|---|---|
{rows}

{shared}"""


def seconds(run: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and of CPU time."""
    start, used = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - used


def compared(plain: Callable[[], Any], stored: Callable[[str], Any], runs: int) -> tuple[float, ...]:
    """The best times without and with a store, which is empty each time: on the clock, then of the CPU."""
    times: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(runs):
        times[0].append(seconds(plain))
        with tempfile.TemporaryDirectory() as folder:
            times[1].append(seconds(partial(stored, f"{folder}/trials.sqlite")))
    return tuple(min(one[k] for one in some) for k in (0, 1) for some in times)


def refits() -> tuple[float, ...]:
    """100 settings of a small tree on 5 folds: 500 refits."""
    X, y = make_classification(2000, 10, random_state=0)
    space = {"max_depth": list(range(1, 11)), "min_samples_leaf": list(range(1, 11))}

    def run(**options: Any) -> None:
        SearchCV(DecisionTreeClassifier(random_state=0), space, cv=5, audit=False, refit=False, **options).fit(X, y)

    return compared(run, lambda file: run(store=file, name="trees"), RUNS["refits"])


def nested_models() -> tuple[float, ...]:
    """The textbook's nested cross-validation of 2,505 models."""
    X, y = categories(20_000)
    space = {"alpha": np.logspace(-3, 2, 100).tolist()}

    def run(**options: Any) -> None:
        nested_cv(SearchCV(NaiveBayes(families="categorical"), space, cv=5, audit=False, **options), X, y, cv=5)

    return compared(run, lambda file: run(store=file, name="naive Bayes"), RUNS["nested_models"])


def work(location: str) -> None:
    X, y = make_classification(4000, 20, random_state=0)
    space = {"max_depth": Int(2, 20), "min_samples_leaf": Int(1, 50)}
    model = RandomForestClassifier(60, random_state=0)
    options: dict[str, Any] = {"strategy": "random", "n_trials": 20, "cv": 5, "random_state": 0, "audit": False}
    SearchCV(model, space, **options, refit=False, store=location, name="forests").fit(X, y)


def shared(url: str, n_processes: int) -> float:
    """Seconds of a search that several processes share in one database."""
    metadata.drop_all(sa.create_engine(url))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(url,)) for _ in range(n_processes)]
    start = time.perf_counter()
    for one in processes:
        one.start()
    for one in processes:
        one.join()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgresql", metavar="URL")
    url = parser.parse_args().postgresql
    warnings.simplefilter("ignore", FoldwiseWarning)  # other training rows in every outer fold
    lines = []
    for name, run, goal in (
        ("500 refits of a small tree", refits, "≤ 5%"),
        ("nested, 2,505 models, 20,000 × 20", nested_models, "≤ 30%"),
    ):
        found = run()
        cells = [
            f"{a * 1000:.0f} ms | {b * 1000:.0f} ms | {100 * (b / a - 1):+.1f}%" for a, b in (found[:2], found[2:])
        ]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} | {goal} |")
    # without a database, the earlier measurement stays
    text = "".join((HERE / "store.md").read_text().partition("A search of 100 random forests")[1:])
    if url:
        one, two = (shared(url, n) for n in (1, 2))
        text = (
            f"A search of 100 random forests in a PostgreSQL database: one process {one:.1f} s, two processes "
            f"{two:.1f} s, {two / one:.2f} of the time. Both include the start of Python.\n"
        )
    page = TEXT.format(**RUNS, rows="\n".join(lines), shared=text)
    (HERE / "store.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
