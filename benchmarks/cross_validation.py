"""`cross_val_score` of scikit-learn and of Foldwise with the same models, splits and scores. Writes a table."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import foldwise

TEXT = """# Benchmarks: cross-validation

`cross_val_score` of both libraries in one run, with `n_jobs` as it is by default. The time of foldwise is the best of
five runs, that of scikit-learn the best of two. Differences are those of the scores of single splits. A decision tree
shares nothing between folds, so its line shows the overhead of a session. Made by `benchmarks/cross_validation.py`.

| model | rows × columns | splits | foldwise | scikit-learn | ratio | largest difference |
|---|---|---|---|---|---|---|
"""


def fastest(call: Any, times: int) -> tuple[float, Any]:
    """The shortest of several times, and the result."""
    best, found = np.inf, None
    for _ in range(times):
        start = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - start)
    return best, found


def main() -> None:
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    squared = {"cv": LeaveOneOut(), "scoring": "neg_mean_squared_error"}
    many, some = (make_classification(n, 20, random_state=0) for n in (100_000, 5_000))
    cases: list[tuple[Any, Any, dict[str, Any]]] = [
        (GaussianNB(), many, {"cv": folds}),
        (KNeighborsClassifier(), some, {"cv": folds}),
        (Ridge(), make_regression(1_000, 50, noise=10, random_state=0), squared),
        (DecisionTreeClassifier(random_state=0), some, {"cv": folds}),
    ]
    lines = []
    for model, (X, y), options in cases:
        ours, found = fastest(partial(foldwise.cross_val_score, model, X, y, **options), 5)
        theirs, expected = fastest(partial(model_selection.cross_val_score, model, X, y, **options), 2)
        gap = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
        about = [f"`{type(model).__name__}`", f"{X.shape[0]:,} × {X.shape[1]}", f"{len(found):,}"]
        times = [f"{1e3 * ours:,.0f} ms", f"{1e3 * theirs:,.0f} ms", f"{theirs / ours:.1f} ×", f"{gap:.0e}"]
        lines.append(f"| {' | '.join(about + times)} |")
        print(lines[-1])
    Path(__file__).with_suffix(".md").write_text(TEXT + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
