"""What the corrected estimate costs beside the search it corrects. Writes benchmarks/bias_corrected.md."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from foldwise import GridSearchCV, NaiveBayes, bias_corrected

HERE = Path(__file__).parent


def best_of(times: int, call: Callable[[], Any]) -> float:
    """The best time of a call, in seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def table(n: int, n_columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, n_columns)) + 0.4 * y[:, None], y


def main() -> None:
    lines = ["| search | time of the search | time of `bias_corrected`, 500 bootstraps | ratio |", "|---|---|---|---|"]
    cases = [
        (
            "NaiveBayes, 100 settings, 10 folds, 20,000 rows, accuracy",
            NaiveBayes(),
            {"var_floor": np.geomspace(1e-9, 1, 100)},
            20_000,
            3,
        ),
        (
            "LogisticRegression, 20 settings refitted, 10 folds, 5,000 rows",
            LogisticRegression(),
            {"C": np.geomspace(1e-3, 10, 20)},
            5000,
            1,
        ),
        (
            "SVC, 12 settings refitted, 5 folds, 2,000 rows",
            SVC(),
            {"C": [0.1, 1, 10], "gamma": [0.01, 0.03, 0.1, 0.3]},
            2000,
            1,
        ),
    ]
    for name, model, grid, n, times in cases:
        X, y = table(n, 20)
        search = GridSearchCV(model, grid, scoring="accuracy", cv=5 if n == 2000 else 10, audit=False)
        took = best_of(times, lambda search=search, X=X, y=y: search.fit(X, y))
        corrected = best_of(5, lambda search=search: bias_corrected(search, random_state=0))
        lines.append(f"| {name} | {took:.2f} s | {corrected:.3f} s | {100 * corrected / took:.1f}% |")
        print(lines[-1], flush=True)
    about = (
        "How long `bias_corrected` takes after a search. Made by `python benchmarks/bias_corrected.py`, best of "
        f"several runs,\n{os.cpu_count()} cores."
    )
    (HERE / "bias_corrected.md").write_text(
        "# Benchmarks: the bias-corrected estimate\n\n" + about + "\n\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main()
