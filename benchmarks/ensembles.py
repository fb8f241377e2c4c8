"""Ensembles against scikit-learn's own, in one run: a vote tuned in nested folds, greedy selection, a random forest.

Every race prints both times and their ratio, with the same scores; audit is off. `make bench` writes
benchmarks/ensembles.md. Run it on a quiet machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import model_selection as peer
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor, VotingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from foldwise import Ensemble, GridSearchCV, KNNClassifier, NaiveBayes, nested_cv
from foldwise.ensembles import random_forest, select_greedily
from nested import best, seconds

HERE = Path(__file__).parent
SIZES = {"near__n_neighbors": [1, 3, 5, 7, 9], "far__n_neighbors": [11, 15, 19, 23, 27]}


def numbers(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    return make_classification(n_rows, n_columns, n_informative=8, n_classes=3, random_state=0)


def vote(n_rows: int, asked: float) -> list[str]:
    """Nested 5 × 5 over two combiners and 25 pairs of k: 1,255 votes of three models."""
    X, y = numbers(n_rows, 20)
    inner, outer = StratifiedKFold(5), StratifiedKFold(5, shuffle=True, random_state=0)
    theirs = peer.GridSearchCV(
        VotingClassifier(
            [("near", KNeighborsClassifier(5)), ("far", KNeighborsClassifier(19)), ("bayes", GaussianNB())]
        ),
        {"voting": ["hard", "soft"], **SIZES},
        cv=inner,
        n_jobs=2,
    )
    scores: dict[str, Any] = {}

    def ours(bayes: Any) -> None:
        members = {"near": KNNClassifier(5, ties="class"), "far": KNNClassifier(19, ties="class"), "bayes": bayes}
        search = GridSearchCV(
            Ensemble(members), {"combiner": ["vote", "mean"], **SIZES}, cv=inner, n_jobs=2, audit=False
        )
        scores["ours"] = nested_cv(search, X, y, cv=outer).scores

    def scikit_learn() -> None:
        scores["theirs"] = peer.cross_val_score(theirs, X, y, cv=outer)

    found = []
    spent = best(scikit_learn, 1)
    for name, bayes in (("GaussianNB", GaussianNB()), ("`NaiveBayes`", NaiveBayes(ddof=0, var_floor=1e-9))):
        ours(bayes)
        mine = best(lambda bayes=bayes: ours(bayes), 5)
        same = np.allclose(np.ravel(scores["ours"]), scores["theirs"], atol=1e-12)
        verdict = "equal" if same else "**differ**"
        found.append(
            f"| kNN(5) + kNN(19) + {name}, nested 5 × 5, 50 settings, {n_rows:,} × 20 | {seconds(mine)} | "
            f"{seconds(spent)} | {spent / mine:.0f} × | ≥ {asked:g} × | {verdict} |"
        )
    return found


def forest(name: str, ours: Any, theirs: Any, table: tuple[Any, Any]) -> list[str]:
    """The processor time of `fit`, and of predicting as many rows, in turns: others on the machine do not count."""
    X, y = table
    lines = []
    works: list[tuple[str, Callable[[Any], Any]]] = [
        ("fit", lambda model: model.fit(X, y)),
        ("predict", lambda model: model.predict(X)),
    ]
    for work, call in works:
        times = np.array([[processor(partial(call, one)) for one in (ours, theirs)] for _ in range(9)])
        mine, spent = times.min(axis=0)
        tell = ours.predict_proba if hasattr(ours, "predict_proba") else ours.predict
        other = theirs.predict_proba if hasattr(theirs, "predict_proba") else theirs.predict
        same = "equal" if np.allclose(tell(X[:200]), other(X[:200]), rtol=1e-12, atol=1e-12) else "**differ**"
        share = f"{mine / spent:.3f} of the time"
        lines.append(f"| {name}: {work} | {seconds(mine)} | {seconds(spent)} | {share} | ≤ 1.05 | {same} |")
    return lines


def processor(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def greedy() -> str:
    rng = np.random.default_rng(0)
    stored, y = rng.dirichlet(np.ones(5), (200, 10_000)), rng.integers(0, 5, 10_000)
    times = []
    for metric in ("neg_log_loss", "accuracy", "neg_brier_score"):
        select_greedily(stored[:3, :100], y[:100], metric=metric)
        times.append(f"{seconds(best(lambda m=metric: select_greedily(stored, y, metric=m), 3))} ({metric})")
    what = "Greedy selection over 200 stored members, 10,000 rows, 5 classes, 25 rounds"
    return f"{what}: {', '.join(times)}; goal: < 5 s."


def main() -> None:
    head = "| comparison | foldwise | scikit-learn | ratio | goal | scores |\n|---|---|---|---|---|---|"
    print(head)
    lines = []
    for race in (
        lambda: vote(2000, 40),
        lambda: forest(
            "random forest, 100 trees, 5,000 × 20",
            random_forest(100, random_state=0),
            RandomForestClassifier(100, random_state=0),
            numbers(5000, 20),
        ),
        lambda: forest(
            "the same, two workers",
            random_forest(100, random_state=0, n_jobs=2),
            RandomForestClassifier(100, random_state=0, n_jobs=2),
            numbers(5000, 20),
        ),
        lambda: forest(
            "random forest for regression, 100 trees, 3,000 × 15",
            random_forest(100, regression=True, random_state=0),
            RandomForestRegressor(100, max_features=1 / 3, random_state=0),
            make_regression(3000, 15, random_state=0),
        ),
    ):
        lines += race()
        print("\n".join(lines[-2:]), flush=True)
    note = greedy()
    print(note)
    (HERE / "ensembles.md").write_text(
        "# Benchmarks: ensembles\n\nMade by `make bench` (`benchmarks/ensembles.py`). Both libraries in one run, "
        "best of several. Votes use `n_jobs=2` on both\nsides. Forests are measured in processor time.\n\n"
        + "\n".join([head, *lines, "", note])
        + "\n"
    )


if __name__ == "__main__":
    main()
