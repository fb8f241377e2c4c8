"""Selection of columns of `NaiveBayes` from terms against the same selection by refits, in one run, on the same splits.

Both go through the same engine and the same path; only what answers a subset differs. The refit is run once. Besides:
the peak memory on a large table, and what the level of the stopping test does on made tables with known columns.
`make bench` writes benchmarks/selection.md. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from foldwise import NaiveBayes, SelectFeatures, read_table
from foldwise.folds.model_session import SubsetRefitSession
from foldwise.tuning import select_features
from nested import Line, best, seconds

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data")) / "tables"
SPEAKING = np.array([1.0, 0.7, 0.5, 0.4, 0.3, 0.2])  # how far the classes of these columns lie apart, in sd
N_NOISE, N_TABLES = 14, 20


def selection(X: Any, y: Any, **options: Any) -> SelectFeatures:
    return SelectFeatures(NaiveBayes(), cv=10, audit=False, **options).fit(X, y)


def by_refits(X: Any, y: Any, **options: Any) -> SelectFeatures:
    """The same selection where every subset is fitted on every split."""
    shared = select_features.open_subsets
    select_features.open_subsets = SubsetRefitSession  # type: ignore[assignment,misc]
    try:
        return selection(X, y, **options)
    finally:
        select_features.open_subsets = shared


def race(name: str, table: tuple[Any, Any], asked: float, **options: Any) -> Line:
    found: dict[str, SelectFeatures] = {}
    selection(*table, **options)  # kernels are compiled
    ours = best(lambda: found.update(ours=selection(*table, **options)), 5)
    theirs = best(lambda: found.update(theirs=by_refits(*table, **options)), 1)
    a, b = found["ours"].history_, found["theirs"].history_
    same = a["column"].equals(b["column"]) and np.allclose(a["score"], b["score"], rtol=1e-10, atol=0)
    assert found["ours"].session_ == "terms"
    return Line(f"{name}: {a.height} steps, {found['ours'].models_scored_:,} models", ours, theirs, asked, same)


def races() -> list[Line]:
    table = read_table(DATA / "adult.parquet", target="income")
    adult, cancer = (table.X, table.y), load_breast_cancer(return_X_y=True)
    lines = []
    for one in (
        lambda: race("adult, 48,842 × 14, forward to all columns, accuracy", adult, 50, n_features=14),
        lambda: race("adult, forward to 3 columns, log loss", adult, 10, n_features=3, scoring="neg_log_loss"),
        lambda: race(
            "breast cancer, 569 × 30, backward to 25 columns", cancer, 10, n_features=25, direction="backward"
        ),
    ):
        lines.append(one())
        print(lines[-1], flush=True)
    return lines


def large() -> None:
    """Three steps forward on 1,000,000 × 30 with 10 classes, of which only a part of the terms is kept."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 1_000_000)
    X = rng.normal(size=(1_000_000, 30))
    X[:, :5] += 0.3 * y[:, None]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = best(lambda: selection(X, y, n_features=3), 1)
    print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, spent)


def memory() -> str:
    """The peak memory of that, in a process of its own."""
    out = subprocess.run([sys.executable, __file__, "memory"], capture_output=True, text=True, check=True)
    before, peak, time = out.stdout.split()
    return (
        f"Three steps forward on 1,000,000 × 30 with 10 classes, ten folds (870 models): {seconds(float(time))}, peak "
        f"memory {int(peak) >> 10} MiB, of which {int(before) >> 10} MiB to create the table."
    )


def made(seed: int, n_rows: int) -> tuple[Any, Any]:
    """Columns of which some speak and most do not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    return rng.normal(size=(n_rows, len(SPEAKING) + N_NOISE)) + np.outer(y, [*SPEAKING, *[0.0] * N_NOISE]), y


def levels() -> list[str]:
    """What the level of the test does: columns that speak, columns of noise, accuracy on new rows."""
    head = "| | 0.65 | **0.75** | 0.85 | 0.95 |\n|---|---|---|---|---|"
    lines = []
    everything = []
    for direction in ("forward", "backward"):
        for folds in (5, 10):
            cells = []
            for level in (0.65, 0.75, 0.85, 0.95):
                found = []
                for seed in range(N_TABLES):
                    (X, y), (new, truth) = made(seed, 300), made(1000 + seed, 5000)
                    model = SelectFeatures(NaiveBayes(), cv=folds, level=level, direction=direction, audit=False)
                    kept = model.fit(X, y).support_
                    right = NaiveBayes().fit(X[:, kept], y).score(new[:, kept], truth)
                    everything.append(NaiveBayes().fit(X, y).score(new, truth))
                    found.append((kept[: len(SPEAKING)].sum(), kept[len(SPEAKING) :].sum(), 100 * right))
                speaking, noise, accuracy = np.mean(found, axis=0)
                cells.append(f"{speaking:.1f} + {noise:.1f}, {accuracy:.1f}%")
            lines.append(f"| {direction}, {folds} folds | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    told = (
        f"How the level of the stopping test matters. {N_TABLES} generated tables of 300 rows have {len(SPEAKING)} "
        f"informative columns (class means {', '.join(f'{s:g}' for s in SPEAKING)}\nstandard deviations apart) and "
        f"{N_NOISE} noise columns. Cells show how many informative and noise columns are selected, and the\n"
        f"accuracy on 5,000 new rows (with all columns: {100 * np.mean(everything):.1f}%)."
    )
    return [told, "", head, *lines]


def main() -> None:
    head = (
        "| comparison | foldwise | by refits | ratio | goal | selected columns and scores |\n|---|---|---|---|---|---|"
    )
    print(head)
    lines = [str(line) for line in races()]
    notes = [memory()]
    print(notes[0], flush=True)
    (HERE / "selection.md").write_text(
        "# Benchmarks: feature selection\n\nMade by `make bench` (`benchmarks/selection.py`) in one run, ten folds, "
        "audit off. The refits use the same class, splits and\nengine and are run once. Neither uses worker processes, "
        "but each fit of `NaiveBayes` uses both cores.\n\n"
        + "\n".join([head, *lines, "", *notes, "", *levels()])
        + "\n"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        large()
    else:
        main()
