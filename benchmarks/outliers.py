"""False alarms on clean tables and planted typing errors, beside PyOD: prints benchmarks/outliers.md.

python benchmarks/outliers.py --pyod-python PYTHON > benchmarks/outliers.md

PyOD runs in an environment of its own, which needs pyod only. `--cache FILE` keeps the results of finished runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import polars as pl
from scipy.stats import beta
from tests.unsupervised.clean_tables import CLEAN, N_ROWS, planted

from foldwise import find_outliers

N_CLEAN = 400  # by default; --clean and --planted ask for fewer
N_PLANTED = 25
ERRORS = ("decimal point lost", "digits swapped", "digit twice")
METHODS = ("combined", "cells", "neighbors", "forest")
PEERS = """
import json, sys
import numpy as np
from pyod.models.iforest import IForest
from pyod.models.knn import KNN
tables = np.load(sys.argv[1])
for key in tables.files:
    for name, model in (("isolation forest", IForest(random_state=0)), ("kNN", KNN())):
        model.fit(tables[key])
        order = np.argsort(-model.decision_scores_, kind="stable")
        print(json.dumps([key, name, order[:50].tolist(), np.flatnonzero(model.labels_).tolist()]))
"""


def share(count: int, n: int) -> str:
    """A share with its exact 95% interval."""
    low = beta.ppf(0.025, count, n - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, n - count) if count < n else 1.0
    return f"{count / n:.1%} ({low:.1%} to {high:.1%})"


def as_numbers(frame: pl.DataFrame) -> np.ndarray:
    """The table for PyOD: standardized numbers, medians where missing, and one column per category."""
    numbers = frame.select(pl.selectors.numeric()).with_columns(pl.all().fill_null(pl.all().median()))
    parts = [(numbers.to_numpy() - numbers.to_numpy().mean(axis=0)) / numbers.to_numpy().std(axis=0)]
    texts = frame.select(pl.selectors.string())
    if texts.width:
        parts.append(texts.to_dummies().to_numpy())
    return np.hstack(parts).astype(np.float64)


def alarms(kind: str, run: int) -> int:
    """How many rows of a clean table are flagged."""
    return len(find_outliers(CLEAN[kind](np.random.default_rng([5, run])), n_jobs=1))


def found(kind: str, error: str, run: int) -> list[list[bool | int]]:
    """For each method: whether the planted row is flagged, whether it has the highest score, other rows flagged."""
    frame, row, _ = planted(kind, 1000 + run, error)
    lines = []
    for method in METHODS:
        result = find_outliers(frame, method=method, n_jobs=1)
        rows = result.rows.tolist()
        lines.append([row in rows, int(result.scores.argmax()) == row, len(set(rows) - {row})])
    return lines


def peers(python: str, n_planted: int) -> dict[str, dict[tuple[str, str], list[list[bool | int]]]]:
    """The same for PyOD's detectors, with their default share of outliers of 10%."""
    tables, rows = {}, {}
    for kind in CLEAN:
        for error in ERRORS:
            for run in range(n_planted):
                key = f"{kind}|{error}|{run}"
                frame, rows[key], _ = planted(kind, 1000 + run, error)
                tables[key] = as_numbers(frame)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.npz"
        np.savez(path, **tables)
        said = subprocess.run([python, "-c", PEERS, str(path)], capture_output=True, text=True, check=True).stdout
    results: dict[str, dict[tuple[str, str], list[list[bool | int]]]] = {}
    for line in said.splitlines():
        key, name, order, flagged = json.loads(line)
        kind, error, _ = key.split("|")
        one = [rows[key] in flagged, order[0] == rows[key], len(set(flagged) - {rows[key]})]
        results.setdefault(name, {}).setdefault((kind, error), []).append(one)
    return results


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pyod-python", default="")
    parser.add_argument("--cache", default="")
    parser.add_argument("--clean", type=int, default=N_CLEAN)
    parser.add_argument("--planted", type=int, default=N_PLANTED)
    options = parser.parse_args()
    cache: dict[str, object] = {}
    if options.cache and Path(options.cache).exists():
        cache = dict(json.loads(line) for line in Path(options.cache).read_text().splitlines())

    def kept(key: str, compute: object, *arguments: object) -> object:
        if key not in cache:
            cache[key] = compute(*arguments)  # type: ignore[operator]
            if options.cache:
                with Path(options.cache).open("a") as file:
                    file.write(json.dumps([key, cache[key]]) + "\n")
        return cache[key]

    clean = {kind: [int(kept(f"{kind}|{i}", alarms, kind, i) > 0) for i in range(options.clean)] for kind in CLEAN}
    ours: dict[str, dict[tuple[str, str], list[list[bool | int]]]] = {}
    for kind in CLEAN:
        for error in ERRORS:
            for i in range(options.planted):
                lines = kept(f"{kind}|{error}|{i}", found, kind, error, i)
                for method, line in zip(METHODS, lines, strict=True):
                    ours.setdefault(method, {}).setdefault((kind, error), []).append(line)
    theirs = peers(options.pyod_python, options.planted) if options.pyod_python else {}
    print_page(clean, ours, theirs)


def print_page(clean: dict, ours: dict, theirs: dict) -> None:
    """Print the page."""
    n_clean, n_planted = len(next(iter(clean.values()))), len(next(iter(ours["combined"].values())))
    print("# Outliers\n")
    print(f"Made by `benchmarks/outliers.py`. Tables have {N_ROWS} rows and six columns (`tests/unsupervised/`).\n")
    print("## False alarms\n")
    print(
        f"Share of {n_clean} clean tables in which `find_outliers` flags any row at level 5%, with its 95% interval.\n"
    )
    print("| table | any alarm |\n|---|--:|")
    for kind, lines in clean.items():
        print(f"| {kind} | {share(sum(lines), len(lines))} |")
    print(
        f"\n## One typing error\n\nShare of {n_planted} tables per kind and error in which the wrong row is flagged, "
        "and in which it has the highest score of all rows. *Others* is the mean number of other rows that are "
        "flagged. PyOD's detectors flag 10% of the rows of every table by default.\n"
    )
    print("| table | error | detector | flagged | highest score | others |\n|---|---|---|--:|--:|--:|")
    named = {f"Foldwise, {name}": cells for name, cells in ours.items()}
    named |= {f"PyOD, {name}": cells for name, cells in theirs.items()}
    for kind in CLEAN:
        for error in ERRORS:
            for name, cells in named.items():
                flagged, first, others = np.mean(np.array(cells[kind, error], dtype=float), axis=0)
                print(f"| {kind} | {error} | {name} | {flagged:.0%} | {first:.0%} | {others:.1f} |")


if __name__ == "__main__":
    main()
