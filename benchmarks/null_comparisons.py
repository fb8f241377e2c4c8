"""How often tests say "different" of two models that are equally good, by the way the rows are split.

The models are the same learner on two halves of the columns, which are drawn alike: on average over tables neither is
better. Fresh rows each time. `make nulls` writes docs/comparisons.md, in some minutes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from foldwise import NaiveBayes
from foldwise.evaluation import corrected_t_test
from foldwise.evaluation.metrics import metrics_of
from foldwise.folds.engine import Question, Work, evaluate
from foldwise.folds.opening import open_session
from foldwise.folds.splits import freeze_splits

PAGE = Path(__file__).parents[1] / "docs" / "comparisons.md"
HALVES = (slice(0, 5), slice(5, 10))
PARTS = 20


@dataclass(frozen=True)
class Case:
    """A learner, the size of its tables, and how many there are."""

    learner: str
    n_rows: int
    runs: int

    def table(self, rng: np.random.Generator) -> tuple[Any, Any]:
        y = rng.permutation(np.arange(self.n_rows) % 2)
        if self.learner == "naive Bayes":
            return rng.binomial(3, 0.42 + 0.16 * y[:, None], (self.n_rows, 10)), y
        return rng.normal(0.5 * y[:, None], 1.0, (self.n_rows, 10)), y

    def differences(self, X: Any, y: Any, splits: Any) -> Any:  # (splits,)
        if self.learner == "naive Bayes":  # the halves are two settings of one session
            model = NaiveBayes(families="categorical")
            halves = [{"columns": list(range(10)[half])} for half in HALVES]
            return np.subtract(*scored(model, X, y, halves, splits))
        model = KNeighborsClassifier(int(self.learner.split("-")[0]))
        return np.subtract(*(scored(model, X[:, half], y, [{}], splits)[0] for half in HALVES))


def scored(model: Any, X: Any, y: Any, settings: list[dict[str, Any]], splits: Any) -> Any:  # (settings, splits)
    work = Work(metrics_of(None, model)[0])
    return evaluate(open_session(model, X, y), [Question(settings, splits)], work, audit=False)[0].scores["score"]


CASES = (
    Case("naive Bayes", 200, 2000),
    Case("naive Bayes", 500, 2000),
    Case("1-nearest neighbour", 300, 1000),
    Case("15-nearest neighbours", 300, 1000),
)


@dataclass(frozen=True)
class Scheme:
    """A way to split: a splitter by seed, of which the first so many splits are used."""

    name: str
    source: str
    n_splits: int
    test_share: float


SOURCES = {
    "10 folds": lambda seed: RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=seed),
    "5 folds": lambda seed: RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=seed),
    "80/20": lambda seed: StratifiedShuffleSplit(50, test_size=0.2, random_state=seed),
}
SCHEMES = (
    Scheme("5 folds", "5 folds", 5, 1 / 4),
    Scheme("10 folds", "10 folds", 10, 1 / 9),
    Scheme("3 × 10 folds", "10 folds", 30, 1 / 9),
    Scheme("5 × 10 folds", "10 folds", 50, 1 / 9),
    Scheme("10 × 10 folds (default)", "10 folds", 100, 1 / 9),
    Scheme("10 × 5 folds", "5 folds", 50, 1 / 4),
    Scheme("10 resamples, 80/20", "80/20", 10, 1 / 4),
    Scheme("50 resamples, 80/20", "80/20", 50, 1 / 4),
)


def some_runs(case: Case, seeds: range) -> dict[str, Any]:  # by source (runs, splits)
    """The differences on all splits, of fresh tables."""
    found: dict[str, list[Any]] = {name: [] for name in SOURCES}
    for seed in seeds:
        X, y = case.table(np.random.default_rng([case.n_rows, len(case.learner), seed]))
        for name, splitter in SOURCES.items():
            found[name].append(case.differences(X, y, freeze_splits(splitter(seed), X, y, n_rows=len(y))))
    return {name: np.array(rows) for name, rows in found.items()}


def rejected(differences: dict[str, Any]) -> Any:  # (schemes, tests)
    """How often the plain and the corrected test reject at 5 %."""
    rates = []
    for scheme in SCHEMES:
        rows = differences[scheme.source][:, : scheme.n_splits]
        p = [[corrected_t_test(d, share).p for share in (0, scheme.test_share)] for d in rows]
        rates.append((np.array(p) < 0.05).mean(axis=0))
    return np.array(rates)


def main() -> None:
    start = time.perf_counter()
    rates = {}
    for case in CASES:
        parts = Parallel(n_jobs=2)(
            delayed(some_runs)(case, range(case.runs * i // PARTS, case.runs * (i + 1) // PARTS)) for i in range(PARTS)
        )
        rates[case] = rejected({name: np.concatenate([part[name] for part in parts]) for name in SOURCES})
        print(f"{case.learner}, {case.n_rows} rows: {time.perf_counter() - start:.0f} s", flush=True)
        for scheme, (plain, corrected) in zip(SCHEMES, rates[case], strict=True):
            print(f"  {scheme.name:<26} plain {plain:6.1%}  corrected {corrected:6.1%}", flush=True)
    PAGE.write_text(page(rates))


def page(rates: dict[Case, Any]) -> str:
    heads = [f"{case.learner}, {case.n_rows} rows ({case.runs:,})" for case in CASES]
    lines = [f"| splits | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for i, scheme in enumerate(SCHEMES):
        cells = [f"{plain:.1%} → {corrected:.1%}" for plain, corrected in (rates[case][i] for case in CASES)]
        lines.append(f"| {scheme.name} | {' | '.join(cells)} |")
    return TEXT.format(table="\n".join(lines))


TEXT = """# Comparisons: how often equal models are called different

{table}
"""

if __name__ == "__main__":
    main()
