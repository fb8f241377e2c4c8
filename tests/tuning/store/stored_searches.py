"""Searches that child processes run on a store, and what they leave in a log."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from foldwise import SearchCV
from foldwise.tuning import Int

X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=0.8, size=X.shape)
N_TRIALS, N_SPLITS = 12, 5

children = multiprocessing.get_context("forkserver")
children.set_forkserver_preload([__name__, "foldwise.tuning.store.opening"])


class SlowTree(DecisionTreeClassifier):
    """A tree that takes its time, and appends a line to a log when a fit begins."""

    def __init__(self, log: str = "", pause: float = 0.02, max_depth: int | None = None, leaf: int = 1) -> None:
        super().__init__(max_depth=max_depth, min_samples_leaf=leaf, random_state=0)
        self.log, self.pause, self.leaf = log, pause, leaf

    def fit(self, X: Any, y: Any) -> Any:
        self.min_samples_leaf = self.leaf
        with open(self.log, "a") as file:
            file.write(f"{self.max_depth} {self.leaf} {len(X)} {float(np.sum(X)):.6f}\n")
        time.sleep(self.pause)
        return super().fit(X, y)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("log", "pause", "max_depth", "leaf")}


def search(store: Any, log: Path, pause: float = 0.02, **options: Any) -> SearchCV:
    return SearchCV(
        SlowTree(str(log), pause),
        {"max_depth": Int(1, 30), "leaf": Int(1, 30)},
        **{"strategy": "evolutionary", "n_trials": N_TRIALS, **options},
        cv=N_SPLITS,
        random_state=0,
        audit=False,
        refit=False,
        keep="none",
        store=store,
        name=None if store is None else "trees",
    )


def run(store: Any, log: Path, pause: float, options: dict[str, Any]) -> None:
    search(store, log, pause, **options).fit(X, y)


def start(store: Any, log: Path, pause: float = 0.02, **options: Any) -> Any:
    """Start a child process that runs the search."""
    child = children.Process(target=run, args=(store, log, pause, options))
    child.start()
    return child


def fits(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def same_scores(found: SearchCV, plain: SearchCV) -> None:
    assert found.cv_results_["params"] == plain.cv_results_["params"]
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], rtol=1e-12)
