"""What calibration and costs are worth for naive Bayes on the real tables, ten folds each: prints docs/decisions.md.

    python benchmarks/decisions.py > docs/decisions.md

The tables are those of FOLDWISE_DATA or ../shared/data that have classes and fewer than 12,000 rows; nothing is kept.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.model_selection import StratifiedKFold

from foldwise import Calibrated, CostMatrix, CostSensitive, NaiveBayes, cross_predict, read_table, reliability

MOST_ROWS = 12_000
MATRICES = 5
LEAST = float(np.log(np.finfo(np.float64).eps))

HEAD = """# Decisions

`NaiveBayes()` as it is, and `Calibrated(NaiveBayes())`, which chooses its method inside each training set. Ten folds,
stratified and shuffled once; every row is scored by models that have not seen it; logarithms are cut at that of eps.
ECE is the expected calibration error of the predicted class in ten bins of equal width. A cost is the mean over five
random matrices (0 on the diagonal, each other cell drawn from 1 to 100 on a logarithmic scale) of what a row's decision
costs by its truth: *likeliest* takes the class that naive Bayes finds likeliest, *least cost* is what
`CostSensitive(NaiveBayes(), costs)` and `CostSensitive(Calibrated(NaiveBayes()), costs)` answer in the same folds. Made
by `benchmarks/decisions.py`.

| table | rows | classes | log loss | calibrated | method | ECE | calibrated | likeliest | least cost | calibrated |
|---|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|"""

TAIL = """
These tables are not fresh: that log-probabilities are cut at 1e-12, and that calibration folds are shuffled, was
decided with them in sight. With temperature or sigmoid alone the cut was nearly everywhere as good as none or better,
by most where almost constant columns let naive Bayes speak of up to 5·10^12 nats (digits; segment 4·10^10). Without a
shuffle temperature made car, tic_tac_toe and mushroom, whose rows lie in an order, worse than no calibration."""


@dataclass(frozen=True)
class Found:
    """What came of one table; pairs are before and after calibration."""

    log_loss: tuple[float, float]
    error: tuple[float, float]
    likeliest: np.ndarray  # (matrices,)
    decided: tuple[np.ndarray, np.ndarray]
    method: str


def tables(folder: Path) -> Iterator[dict[str, Any]]:
    catalogue = pl.read_csv(folder / "CATALOG.csv")
    wanted = (pl.col("task") == "classification") & (pl.col("rows") < MOST_ROWS)
    yield from catalogue.filter(wanted).sort("rows").to_dicts()


def matrices(classes: list[Any], seed: int) -> list[CostMatrix]:
    rng = np.random.default_rng(seed)
    k = len(classes)
    drawn = np.exp(rng.uniform(0, np.log(100), (MATRICES, k, k))) * (1 - np.eye(k))
    return [CostMatrix(tuple(classes), tuple(classes), costs) for costs in drawn]


def measure(entry: dict[str, Any], folder: Path, seed: int) -> Found:
    table = read_table(folder / entry["file"], target=entry["target"])
    X, y = table.X, np.asarray(table.y)
    classes, codes = np.unique(y, return_inverse=True)
    cv = StratifiedKFold(min(10, int(np.bincount(codes).max())), shuffle=True, random_state=0)
    logs = [
        cross_predict(model, X, y, cv=cv, method="predict_log_proba")
        for model in (NaiveBayes(), Calibrated(NaiveBayes()))
    ]
    rows = np.arange(len(y))
    losses = [float(-np.maximum(one[rows, codes], LEAST).mean()) for one in logs]
    probas = [np.exp(one) for one in logs]
    errors = [
        reliability(codes, one, classes=range(len(classes))).ece
        if len(classes) > 2
        else reliability(codes == one.argmax(axis=1), one.max(axis=1)).ece
        for one in probas
    ]
    costs = matrices(list(range(len(classes))), seed)
    likeliest = np.array([one.costs[probas[0].argmax(axis=1), codes].mean() for one in costs])
    decided = [
        realized(CostSensitive(model), costs, X, codes, cv) for model in (NaiveBayes(), Calibrated(NaiveBayes()))
    ]
    method = Calibrated(NaiveBayes()).fit(X, y).method_
    return Found((losses[0], losses[1]), (errors[0], errors[1]), likeliest, (decided[0], decided[1]), method)


def realized(model: CostSensitive, costs: list[CostMatrix], X: Any, codes: Any, cv: Any) -> np.ndarray:
    """What the estimator's own decisions about rows it has not seen cost, the mean of each matrix."""
    actions = cross_predict(model, X, codes, cv=cv, setting=[{"costs": one} for one in costs])
    return np.array([one.costs[action, codes].mean() for one, action in zip(costs, actions, strict=True)])


def line(entry: dict[str, Any], found: Found) -> str:
    numbers = [*(f"{loss:.4f}" for loss in found.log_loss), found.method, *(f"{error:.3f}" for error in found.error)]
    costs = [f"{one.mean():.3f}" for one in (found.likeliest, *found.decided)]
    facts = (entry["name"], entry["rows"], entry["n_classes"])
    return "| " + " | ".join([*map(str, facts), *numbers, *costs]) + " |"


def verdict(done: list[Found]) -> str:
    n = len(done)
    lower = sum(one.log_loss[1] < one.log_loss[0] for one in done)
    truer = sum(one.error[1] < one.error[0] for one in done)
    ratios = [
        [float(np.mean(d) / np.mean(one.likeliest)) for d in one.decided] for one in done if one.likeliest.mean() > 0
    ]
    plain, calibrated = np.exp(np.log(np.maximum(ratios, 1e-3)).mean(axis=0))
    pairs = sum(int((one.decided[1] < one.likeliest).sum()) for one in done)
    equal = sum(int((one.decided[1] == one.likeliest).sum()) for one in done)
    cheaper = sum(one.decided[1].mean() < one.likeliest.mean() for one in done)
    means = [
        np.mean([part.mean() for part in parts])
        for parts in (
            [one.likeliest for one in done],
            [one.decided[0] for one in done],
            [one.decided[1] for one in done],
        )
    ]
    return f"""
- Calibration lowers the log loss on {lower} of {n} tables ({lower / n:.0%}), the expected calibration error on {truer}.
- Mean cost over all tables: likeliest {means[0]:.3f}, least cost {means[1]:.3f}, least cost over calibrated
  probabilities {means[2]:.3f}. Geometric mean of the ratio to likeliest: {plain:.2f} without and {calibrated:.2f} with
  calibration.
- `CostSensitive(Calibrated(NaiveBayes()))` costs less than the likeliest class on {cheaper} of {n} tables, and under
  {pairs} of {n * MATRICES} matrices (the same under {equal})."""


def main() -> None:
    folder = Path(os.environ.get("FOLDWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    warnings.simplefilter("ignore")
    print(HEAD)
    done: list[Found] = []
    for seed, entry in enumerate(tables(folder)):
        start = time.perf_counter()
        done.append(measure(entry, folder, seed))
        print(line(entry, done[-1]), flush=True)
        print(entry["name"], f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
    print(verdict(done))
    print(TAIL)


if __name__ == "__main__":
    main()
