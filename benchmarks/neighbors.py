"""Searches over k-nearest-neighbors estimators against scikit-learn's own, in one run, on the same splits.

Every race prints both times, their ratio, and whether the numbers agree; audit is off, both have n_jobs=2. One search
of the nearest neighbors is the yardstick of the larger tables. `make bench` writes benchmarks/neighbors.md. Run it on
a quiet machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import model_selection as peer
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from foldwise import GridSearchCV, KNNClassifier
from nested import Line, best, seconds

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data")) / "tables"
RESAMPLES = StratifiedShuffleSplit(50, test_size=0.2, random_state=0)
UP_TO_30 = {"n_neighbors": list(range(1, 31))}
UP_TO_100 = {"n_neighbors": list(range(1, 101)), "weights": ["uniform", "distance"]}
MODELS_OF_30 = 1500


def real(name: str) -> tuple[Any, Any]:
    """3,000 rows of a real table of whole numbers: ties everywhere."""
    frame = pd.read_csv(DATA / f"{name}.csv").sample(3000, random_state=0)
    return frame.iloc[:, :-1].to_numpy(), frame.iloc[:, -1].to_numpy()


def search(name: str, table: tuple[Any, Any], asked: float, model: Any = None, own: Any = None, **options: Any) -> Line:
    """k = 1 … 30 on 50 resamples: 1,500 models of scikit-learn, and of `own` where that is another estimator."""
    X, y = table
    model = KNeighborsClassifier() if model is None else model
    cv = list((RESAMPLES if y.dtype.kind != "f" else ShuffleSplit(50, test_size=0.2, random_state=0)).split(X, y))
    options = {"cv": cv, "n_jobs": 2, "refit": False, "scoring": "accuracy", **options}
    ours = GridSearchCV(own or model, UP_TO_30, audit=False, **options)
    theirs = peer.GridSearchCV(model, UP_TO_30, **options)
    ours.fit(X, y)
    spent = best(lambda: ours.fit(X, y), 9)  # before the workers of the other start, which take a while to settle
    few = {**options, "cv": KFold(3)}
    peer.GridSearchCV(model, {"n_neighbors": [1]}, **few).fit(X, y)  # the workers are started, libraries loaded
    line = Line(name, spent, best(lambda: theirs.fit(X, y), 2), asked, True)
    agree = np.array_equal if options["scoring"] == "accuracy" else lambda a, b: np.allclose(a, b, rtol=1e-9, atol=0)
    same = all(
        agree(ours.cv_results_[key], theirs.cv_results_[key])
        for key in (*(f"split{i}_test_score" for i in range(50)), "mean_test_score")
    )
    return Line(line.name, line.ours, line.theirs, asked, same)


def numbers(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    return make_classification(n_rows, n_columns, n_informative=10, random_state=0)


def ten_folds(X: Any, y: Any) -> None:
    """200 settings on 10 folds: 2,000 models."""
    options: dict[str, Any] = {"cv": KFold(10), "n_jobs": 2, "refit": False, "scoring": "accuracy", "audit": False}
    GridSearchCV(KNeighborsClassifier(), UP_TO_100, **options).fit(X, y)


def yardstick(n_rows: int, n_columns: int, rounds: int) -> str:
    """Ten folds against one search of the 100 nearest of every row."""
    X, y = numbers(n_rows, n_columns)
    ten_folds(X[:500], y[:500])
    ours = best(lambda: ten_folds(X, y), rounds)
    one = best(lambda: NearestNeighbors().fit(X).kneighbors(n_neighbors=100), rounds)
    return (
        f"k = 1 … 100, both weights, 10 folds (2,000 models) on {n_rows:,} × {n_columns}: {seconds(ours)}, "
        f"{ours / one:.2f} times one search of the 100 nearest ({seconds(one)}; goal: ≤ 1.6)."
    )


def memory() -> str:
    """The peak memory of the same on 50,000 × 50, in a process of its own."""
    out = subprocess.run([sys.executable, __file__, "memory"], capture_output=True, text=True, check=True)
    peak, time = out.stdout.split()
    return f"The same on 50,000 × 50: {seconds(float(time))}, peak memory {int(peak) >> 10} MiB (goal: < 1,024 MiB)."


def mixed(n_rows: int) -> pd.DataFrame:
    """10 columns of numbers and 10 of categories, 5% of the cells missing."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=n_rows) for j in range(10)}
    columns |= {f"c{j}": np.array(list("abcdef"))[rng.integers(0, 6, n_rows)].astype(object) for j in range(10)}
    for cells in columns.values():
        cells[rng.random(n_rows) < 0.05] = np.nan if cells.dtype == float else None
    return pd.DataFrame(columns)


def in_turns(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The least times of both, taken in turns: what slows the machine slows both."""
    times = [(best(ours, 1), best(theirs, 1)) for _ in range(rounds)]
    return min(a for a, _ in times), min(b for _, b in times)


def gower() -> str:
    """Gower's distance on a mixed frame against euclidean distance on numbers: fit and all neighbors of all rows."""
    frame, y = mixed(20_000), np.random.default_rng(1).integers(0, 2, 20_000)
    X = np.random.default_rng(2).normal(size=(20_000, 20))
    parts = []
    for k in (10, 100):
        ours, theirs = in_turns(
            lambda k=k: KNNClassifier(k, metric="gower").fit(frame, y).kneighbors(),
            lambda k=k: NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=2).fit(X).kneighbors(),
            5,
        )
        parts.append(f"{k} nearest {seconds(ours)} against {seconds(theirs)}, {ours / theirs:.2f} ×")
    return (
        "Gower's distance, all rows of 20,000 (10 numbers, 10 categories, 5% missing), against scikit-learn's "
        f"Euclidean search on 20 numbers: {'; '.join(parts)} (goal: ≤ 4 ×)."
    )


def gower_package() -> str:
    """The same against the package `gower`, which makes the whole matrix, on as many rows as it takes in a minute."""
    try:
        from gower import gower_matrix
    except ImportError:
        return "The package `gower` is not installed; that comparison was not run."
    frame = mixed(4000)
    y = np.random.default_rng(1).integers(0, 2, len(frame))
    filled = frame.to_numpy(dtype=object)
    filled[:, 10:] = np.where(pd.isna(filled[:, 10:]), "?", filled[:, 10:])  # its categories must be text
    named = [False] * 10 + [True] * 10
    ours = best(lambda: KNNClassifier(10, metric="gower").fit(frame, y).kneighbors(), 5)
    theirs = best(lambda: gower_matrix(filled, cat_features=named), 1)
    times = f"{seconds(ours)} against {seconds(theirs)} of `gower_matrix`, {theirs / ours:.0f} ×"
    return f"4,000 such rows: {times} (goal: ≥ 20 ×)."


def single_row() -> str:
    """One prediction at a time on 100,000 × 20, validation included."""
    X, y = numbers(100_000, 20)
    ours, theirs = KNNClassifier(5).fit(X, y), KNeighborsClassifier(5).fit(X, y)
    row = X[:1] + 0.01
    a, b = in_turns(lambda: ours.predict(row), lambda: theirs.predict(row), 60)
    return f"One row on 100,000 × 20: {a * 1e3:.2f} ms against {b * 1e3:.2f} ms, {a / b:.2f} × (goal: ≤ 1 ×)."


def races() -> list[Line]:
    made = make_classification(3000, 20, random_state=0)
    lines = []
    for race in (
        lambda: search("generated numbers, 3,000 × 20", made, 80),
        lambda: search("the same with `KNNClassifier`", made, 80, own=KNNClassifier(ties="class")),
        lambda: search("the same, log loss", made, 40, scoring="neg_log_loss"),
        lambda: search("the same, weights by distance", made, 40, KNeighborsClassifier(weights="distance")),
        lambda: search("letter, 3,000 × 16 integers", real("letter"), 20),
        lambda: search("phishing, 3,000 × 30 integers", real("phishing"), 20),
        lambda: search(
            "regression, r2",
            (made[0], made[0] @ np.arange(20.0) + made[1]),
            40,
            KNeighborsRegressor(),
            scoring="r2",
        ),
    ):
        lines.append(race())
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    head = "| comparison | foldwise | scikit-learn | ratio | goal | scores |\n|---|---|---|---|---|---|"
    print(head)
    lines = [str(line) for line in races()]
    notes = []
    for note in (lambda: yardstick(20_000, 20, 5), memory, gower, gower_package, single_row):
        notes.append(note())
        print(notes[-1], flush=True)
    (HERE / "neighbors.md").write_text(
        "# Benchmarks: nearest neighbors\n\nMade by `make bench` (`benchmarks/neighbors.py`). Both libraries with "
        "`n_jobs=2` in one run, audit off. Each comparison\nevaluates k = 1 … 30 on 50 resamples of 80/20, "
        f"{MODELS_OF_30:,} models. Accuracies are equal in every split, log loss and R²\nagree to 1e-9.\n\n"
        + "\n".join([head, *lines, "", "\n\n".join(notes)])
        + "\n"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        table = numbers(50_000, 50)
        spent = best(lambda: ten_folds(*table), 1)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, spent)
    else:
        main()
