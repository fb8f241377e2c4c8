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

What calibration and costs do for naive Bayes. `NaiveBayes()` is compared with `Calibrated(NaiveBayes())`, which
chooses its method inside each training set. Ten folds, stratified and shuffled once. Every row is scored by models
that have not seen it, and probabilities are clipped at the machine epsilon. Made by `benchmarks/decisions.py`.

- *ECE* is the expected calibration error of the predicted class, in ten bins of equal width.
- *Cost* is the mean cost of a decision over five random cost matrices (0 on the diagonal, the other cells drawn from
  1 to 100 on a logarithmic scale).
- *Most probable* decides for the class that naive Bayes finds most probable. *Least cost* decides as
  `CostSensitive(NaiveBayes(), costs)` does, *calibrated* as `CostSensitive(Calibrated(NaiveBayes()), costs)` does.

| table | rows | classes | log loss | log loss, calibrated | method | ECE \
| ECE, calibrated | cost, most probable | cost, least cost | cost, calibrated |
|---|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|"""

TAIL = """
These tables were also used to decide that log-probabilities are clipped at log 1e-12 and that calibration folds are
shuffled, so they are not an independent test of these two choices. With temperature or sigmoid alone, clipping was at
least as good as not clipping almost everywhere. It helped most where nearly constant columns lead to
log-probabilities of up to -5·10^12 (digits) or -4·10^10 (segment). Without shuffling, temperature made car,
tic_tac_toe and mushroom, whose rows are sorted, worse than no calibration."""


@dataclass(frozen=True)
class Found:
    """What came of one table; pairs are before and after calibration."""

    log_loss: tuple[float, float]
    error: tuple[float, float]
    most_probable: np.ndarray  # (matrices,)
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
    most_probable = np.array([one.costs[probas[0].argmax(axis=1), codes].mean() for one in costs])
    decided = [
        realized(CostSensitive(model), costs, X, codes, cv) for model in (NaiveBayes(), Calibrated(NaiveBayes()))
    ]
    method = Calibrated(NaiveBayes()).fit(X, y).method_
    return Found((losses[0], losses[1]), (errors[0], errors[1]), most_probable, (decided[0], decided[1]), method)


def realized(model: CostSensitive, costs: list[CostMatrix], X: Any, codes: Any, cv: Any) -> np.ndarray:
    """What the estimator's own decisions about rows it has not seen cost, the mean of each matrix."""
    actions = cross_predict(model, X, codes, cv=cv, setting=[{"costs": one} for one in costs])
    return np.array([one.costs[action, codes].mean() for one, action in zip(costs, actions, strict=True)])


def line(entry: dict[str, Any], found: Found) -> str:
    numbers = [*(f"{loss:.4f}" for loss in found.log_loss), found.method, *(f"{error:.3f}" for error in found.error)]
    costs = [f"{one.mean():.3f}" for one in (found.most_probable, *found.decided)]
    facts = (entry["name"], entry["rows"], entry["n_classes"])
    return "| " + " | ".join([*map(str, facts), *numbers, *costs]) + " |"


def verdict(done: list[Found]) -> str:
    n = len(done)
    lower = sum(one.log_loss[1] < one.log_loss[0] for one in done)
    truer = sum(one.error[1] < one.error[0] for one in done)
    ratios = [
        [float(np.mean(d) / np.mean(one.most_probable)) for d in one.decided]
        for one in done
        if one.most_probable.mean() > 0
    ]
    plain, calibrated = np.exp(np.log(np.maximum(ratios, 1e-3)).mean(axis=0))
    pairs = sum(int((one.decided[1] < one.most_probable).sum()) for one in done)
    equal = sum(int((one.decided[1] == one.most_probable).sum()) for one in done)
    cheaper = sum(one.decided[1].mean() < one.most_probable.mean() for one in done)
    means = [
        np.mean([part.mean() for part in parts])
        for parts in (
            [one.most_probable for one in done],
            [one.decided[0] for one in done],
            [one.decided[1] for one in done],
        )
    ]
    return f"""
- Calibration lowers the log loss on {lower} of {n} tables ({lower / n:.0%}), and the expected calibration error on
  {truer}.
- Mean cost over all tables: most probable {means[0]:.3f}, least cost {means[1]:.3f}, least cost with calibrated
  probabilities {means[2]:.3f}. Relative to the most probable class, the cost is {plain:.2f} without and
  {calibrated:.2f} with calibration (geometric means).
- `CostSensitive(Calibrated(NaiveBayes()))` costs less than the most probable class on {cheaper} of {n} tables, and
  for {pairs} of {n * MATRICES} cost matrices (equal costs for {equal})."""


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
