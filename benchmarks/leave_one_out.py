"""Leave-one-out of `NaiveBayes` on the adult table against models fitted without a row, in one run.

All rows are answered from one pass; 200 of them are also answered by a refit each, which gives the time of brute force
and the largest difference. `make bench` writes benchmarks/leave_one_out.md. Run it on a quiet machine.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut

from foldwise import GridSearchCV, NaiveBayes, cross_predict, read_table

HERE = Path(__file__).parent
DATA = Path(os.environ.get("FOLDWISE_DATA", HERE.parent.parent / "shared" / "data")) / "tables"
SAMPLE = 200
REPEATS = 5
ALPHAS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0]


def best(work: Any, repeats: int = REPEATS) -> float:
    """The least time in seconds; the first call, which compiles, does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def brute_force(X: Any, y: Any, rows: Any) -> tuple[Any, Any, float]:
    """Labels and log-probabilities of some rows, each by a model of all others, and the time of one."""
    labels, logs = [], []
    start = time.perf_counter()
    for i in rows.tolist():
        others = np.delete(np.arange(len(y)), i)
        model = NaiveBayes().fit(X[others], y[others])
        logs.append(model.predict_log_proba(X[[i]])[0])
        labels.append(model.predict(X[[i]])[0])
    return np.array(labels), np.array(logs), (time.perf_counter() - start) / len(rows)


def main() -> None:
    table = read_table(DATA / "adult.parquet", target="income")
    X, y = table.X, np.asarray(table.y)
    n = len(y)
    labels = cross_predict(NaiveBayes(), X, y, cv=LeaveOneOut())
    logs = cross_predict(NaiveBayes(), X, y, cv=LeaveOneOut(), method="predict_log_proba")
    spent = best(lambda: cross_predict(NaiveBayes(), X, y, cv=LeaveOneOut()))
    search = GridSearchCV(NaiveBayes(), {"alpha": ALPHAS}, cv=LeaveOneOut(), audit=False)
    searched = best(lambda: search.fit(X, y), 2)
    half = best(lambda: cross_predict(NaiveBayes(), X[: n // 2], y[: n // 2], cv=LeaveOneOut()))
    sample = np.sort(np.random.default_rng(0).choice(n, SAMPLE, replace=False))
    expected, expected_logs, refit = brute_force(X, y, sample)
    brute = refit * n
    gap = np.abs(logs[sample] - expected_logs).max()
    same = "equal" if (labels[sample] == expected).all() else "DIFFERENT"
    lines = [
        "| leave-one-out, adult | foldwise | refits | ratio |",
        "|---|---|---|---|",
        f"| {n:,} models | {spent:.2f} s (goal: < 1 s) | {brute:,.0f} s, extrapolated from {SAMPLE} | "
        f"{brute / spent:,.0f} × |",
        f"| {len(ALPHAS)} settings of alpha, {len(ALPHAS) * n:,} models | {searched:.2f} s | | |",
        f"| half of the rows | {half:.2f} s, {spent / half:.1f} × faster | | |",
        "",
        f"On {SAMPLE} rows the labels are {same} and log-probabilities differ by at most {gap:.1e}. "
        f"Accuracy {np.mean(labels == y):.4f}, best alpha {search.best_params_['alpha']:g} ({search.best_score_:.4f}).",
    ]
    print("\n".join(lines))
    about = "14 mixed columns with missing cells. Made by `make bench` (`benchmarks/leave_one_out.py`)."
    (HERE / "leave_one_out.md").write_text("# Benchmarks: leave-one-out\n\n" + about + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
