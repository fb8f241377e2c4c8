"""How honest are the estimates of `fit` for a quantity? The selection of a run, on tables whose truth is known.

Each run draws a table, evaluates 16 regression trees on ten folds, keeps the best six of the first fold, selects
members and weights, and compares the honest estimate with the score of the final model on new rows. Writes
benchmarks/fit_value_intervals.md. `python benchmarks/fit_value_intervals.py --runs 300`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from foldwise.app.estimates import honest_estimate, score_of
from foldwise.app.search_state import SettingBatch
from foldwise.app.selection import OutOfFoldRows, candidates, select
from foldwise.evaluation.metrics import value_metric
from foldwise.folds.splits import Split

Floats = NDArray[np.float64]
Setting = tuple[int | None, int]

METRICS = tuple(map(value_metric, ("rmse", "mae", "r2")))
RMSE = METRICS[0]
SETTINGS: list[Setting] = [(depth, leaf) for depth in (2, 4, 6, None) for leaf in (1, 3, 8, 20)]
KEPT = 6
N_FOLDS, N_NEW, N_TEST = 10, 4_000, 200
NOISES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal noise": lambda rng, n: rng.normal(size=n),
    "heavy tails (t, 4 degrees)": lambda rng, n: rng.standard_t(4, n),
}
PAGE = """# How honest the estimates of `fit` are for a quantity

{runs} tables of {rows} rows are drawn from each distribution: a smooth function of three of eight columns plus noise.
Of 16 regression trees, the best six of the first fold are evaluated on all ten folds, and `app/selection.py` selects
members and weights. The *bias* is the mean of the honest estimate minus the true score of the final model, as a
percentage of the true score, with its standard error. *Coverage* is how often the 95% interval contains the true score,
and how often `on_test` contains the score on {test} new rows. Made by `python benchmarks/fit_value_intervals.py`.

| problem | metric | bias | bias of the search score | coverage | coverage of `on_test` |
|---|---|---|---|---|---|
{lines}
"""


def draw(n_rows: int, noise: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    X = rng.normal(size=(n_rows, 8))
    return X, 2 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + NOISES[noise](rng, n_rows)


def outcome(n_rows: int, noise: str, rng: np.random.Generator) -> list[list[float]]:
    """For each metric: the estimate, the search score, the truth, and whether the two intervals cover."""
    X, y = draw(n_rows, noise, rng)
    folds = KFold(N_FOLDS, shuffle=True, random_state=int(rng.integers(1 << 30)))
    splits = [Split(train, test) for train, test in folds.split(X)]

    def predict(setting: Setting, train: NDArray[np.intp], rows: Floats) -> Floats:
        depth, leaf = setting
        tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, max_features=0.7, random_state=0)
        return np.asarray(tree.fit(X[train], y[train]).predict(rows))

    test = splits[0].test
    first = [RMSE(y[test], predict(one, splits[0].train, X[test])) for one in SETTINGS]
    kept = [SETTINGS[i] for i in np.argsort(first, kind="stable")[:KEPT]]
    by_fold = [[predict(one, split.train, X[split.test]) for split in splits] for one in kept]
    scores = {k: tuple(-RMSE(y[split.test], one[k]) for one in by_fold) for k, split in enumerate(splits)}
    batch = SettingBatch(0, "tree", tuple({"index": i} for i in range(KEPT)), 0.0, scores=scores)
    stored: Any = SimpleNamespace(
        task=SimpleNamespace(n_outputs=1, is_quantity=True, y=y, weights=None, moments=None),
        splits=splits,
        out_of_fold=lambda batch, i: np.concatenate(by_fold[i]),
    )
    tested = OutOfFoldRows.of(stored, eliminated=True)
    selection = select(candidates([batch], stored, tested), tested, RMSE, 6)
    fresh, truth = draw(N_NEW, noise, rng)
    stack = np.zeros((len(selection.candidates), N_NEW))
    for i in selection.members:
        stack[i] = predict(kept[selection.candidates[i].setting], np.arange(n_rows), fresh)
    final = selection.chosen.predict(stack)
    found = []
    for metric in METRICS:
        search_score = score_of(replace(selection.honest, predicted=selection.optimistic), tested, metric)
        estimate = honest_estimate(selection.honest, tested, metric, splits, search_score=search_score)
        true, small = metric(truth, final), metric(truth[:N_TEST], final[:N_TEST])
        low, high = estimate.interval()
        least, most = estimate.on_test(N_TEST)
        found.append([estimate.value, search_score, true, float(low <= true <= high), float(least <= small <= most)])
    return found


def lines_of(noise: str, n_rows: int, runs: int) -> list[str]:
    rng = np.random.default_rng(0)
    found = np.array([outcome(n_rows, noise, rng) for _ in range(runs)])  # (runs, metrics, figures)
    lines = []
    for k, metric in enumerate(METRICS):
        value, search, true, covered, on_test = found[:, k].T
        gap = 100 * (value - true) / true.mean()
        optimistic = 100 * (search.mean() / true.mean() - 1)
        bias = f"{gap.mean():+.2f}% ± {gap.std() / np.sqrt(runs):.2f}"
        lines.append(
            f"| {noise} | {metric.title} | {bias} | {optimistic:+.2f}% | {covered.mean():.1%} | {on_test.mean():.1%} |"
        )
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--rows", type=int, default=500)
    given = parser.parse_args()
    lines = [line for noise in NOISES for line in lines_of(noise, given.rows, given.runs)]
    page = PAGE.format(runs=given.runs, rows=given.rows, test=N_TEST, lines="\n".join(lines))
    Path(__file__).with_suffix(".md").write_text(page)
    print(page)
