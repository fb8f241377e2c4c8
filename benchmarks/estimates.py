"""How honest are the estimates? Searches of 60 settings whose true worth is known. Writes docs/estimates.md.

Each run draws a table, searches it, and compares what each estimate says of the winner with what the winner is truly
worth: exactly where that has a formula, else on 20,000 new rows. `python benchmarks/estimates.py --runs 200`.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from foldwise import Estimate, GridSearchCV, KNNClassifier, NaiveBayes, bias_corrected, estimate, nested_cv
from foldwise.evaluation.estimates import DrawnSpread, StudentSpread
from foldwise.evaluation.intervals import corrected_spread
from foldwise.evaluation.resampled import MeanLosses, draws_of
from foldwise.folds.protocol import Answer, Block, Labels, Need
from foldwise.folds.splits import freeze_splits

HERE = Path(__file__).parent
SIZES = (200, 500, 1000, 2000)
FOLDS = 10
N_TEST = 20_000

Floats = NDArray[np.float64]


class OneColumn(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Cuts one column halfway between the means of two classes."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Floats, y: Any) -> OneColumn:
        self.classes_ = np.array([0, 1])
        x = X[:, self.column]
        low, high = x[y == 0].mean(), x[y == 1].mean()
        self.cut_, self.rising_ = (low + high) / 2, bool(high > low)
        return self

    def predict(self, X: Floats) -> Any:
        return ((X[:, self.column] > self.cut_) == self.rising_).astype(np.int64)

    def open_folds(self, X: Floats, y: Any, fit_params: dict[str, Any]) -> Columns:
        return Columns(self, X, y)


class Columns:
    """All columns at once: the fold session of `OneColumn`."""

    shares, threads, order_free = "means", True, True

    def __init__(self, estimator: OneColumn, X: Floats, y: Any) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, dict[str, Any]()
        self.target = Labels(np.array([0, 1]), np.asarray(y, dtype=np.int64))

    def lazy(self, params: Any) -> frozenset[str]:
        return frozenset({"column"})

    def answer(self, settings: Sequence[Any], train: Any, test: Any, need: Need) -> Iterator[Block]:
        columns = [setting.get("column", self.estimator.column) for setting in settings]
        X, y = self.X[train][:, columns], self.y[train]
        low, high = X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)
        labels = (self.X[test][:, columns] > (low + high) / 2) == (high > low)
        yield Block(0, len(settings), Answer(labels=labels.T.astype(np.int64)))

    def model(self, setting: Any, train: Any) -> OneColumn:
        return OneColumn(**setting).fit(self.X[train], self.y[train])


@dataclass(frozen=True)
class Problem:
    """Tables drawn from a known distribution, and a search of 60 settings."""

    name: str
    draw: Callable[[int, np.random.Generator], tuple[Any, NDArray[np.int64]]]
    model: Any
    grid: dict[str, Any]
    worth: Callable[[Any, np.random.Generator], float]  # of a fitted winner
    sizes: tuple[int, ...] = SIZES
    nested_up_to: int = 2000  # rows: nested searches of trees take hours beyond
    fresh: bool = False  # whether it had no part in the choice of the interval


SHIFTS = np.linspace(0.3, 0.6, 60)  # between the classes, in standard deviations


def draw_columns(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    y = rng.permutation(np.arange(n) % 2)
    return rng.normal(size=(n, 60)) + np.outer(y - 0.5, SHIFTS), y


def worth_of_column(model: OneColumn, rng: np.random.Generator) -> float:
    """Exactly: the share of two normal distributions on the right sides of the cut."""
    shift, sign = SHIFTS[model.column], 1 if model.rising_ else -1
    below, above = norm.cdf(sign * (model.cut_ + shift / 2)), norm.cdf(sign * (shift / 2 - model.cut_))
    return float((below + above) / 2)


def draw_clouds(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, 5))
    X[:, 0] += 1.2 * y
    X[:, 1] += np.where((y == 1) & (rng.random(n) < 0.5), 1.5, -0.5)
    return X, y


def draw_boxes(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    X = rng.random((n, 8))
    clean = (X[:, 0] > 0.5) & (X[:, 1] > 0.3) | (X[:, 2] > 0.8)
    return X, np.where(rng.random(n) < 0.2, ~clean, clean).astype(np.int64)


def draw_crossed(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Two columns matter only together: whether a greedy tree finds them is luck."""
    X = rng.random((n, 8))
    clean = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.4)) & (X[:, 2] > 0.2)
    return X, np.where(rng.random(n) < 0.2, ~clean, clean).astype(np.int64)


LEVELS = [f"level {i}" for i in range(12)]
TILTS = np.linspace(-0.15, 0.15, 12)  # how much likelier each level is with the class


def draw_mixed(n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Four columns of numbers, two of them skewed and all dependent, and four of twelve categories."""
    y = rng.permutation(np.arange(n) % 2)
    common = rng.normal(size=n)
    numbers = rng.normal(size=(n, 4)) + 0.35 * y[:, None] + 0.5 * common[:, None]
    numbers[:, :2] = np.exp(numbers[:, :2])
    columns: dict[str, Any] = {f"x{j}": numbers[:, j] for j in range(4)}
    for j in range(4):
        tilt = np.outer(2 * y - 1, np.roll(TILTS, 3 * j) * 4)
        codes = np.argmax(tilt + rng.gumbel(size=(n, 12)), axis=1)
        columns[f"c{j}"] = pl.Series([LEVELS[code] for code in codes], dtype=pl.Enum(LEVELS))
    return pl.DataFrame(columns), y


def draw_correlated(n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Forty columns, each like its neighbors, of which every fourth tells a little."""
    y = rng.permutation(np.arange(n) % 2)
    X = rng.normal(size=(n, 40))
    for j in range(1, 40):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.7**2) * X[:, j]
    X[:, ::4] += 0.25 * y[:, None]
    return X, y


def worth_on_new_rows(draw: Callable[..., Any]) -> Callable[[Any, np.random.Generator], float]:
    def worth(model: Any, rng: np.random.Generator) -> float:
        X, y = draw(N_TEST, rng)
        return float(np.mean(model.predict(X) == y))

    return worth


PROBLEMS = (
    Problem("one column of 60", draw_columns, OneColumn(), {"column": list(range(60))}, worth_of_column),
    Problem(
        "kNN, 30 k × 2 weightings",
        draw_clouds,
        KNNClassifier(),
        {"n_neighbors": list(range(1, 60, 2)), "weights": ["uniform", "distance"]},
        worth_on_new_rows(draw_clouds),
    ),
    Problem(
        "tree, 60 prunings",
        draw_boxes,
        DecisionTreeClassifier(random_state=0),
        {"ccp_alpha": [0.0, *np.geomspace(3e-4, 0.03, 59)]},
        worth_on_new_rows(draw_boxes),
        nested_up_to=200,
    ),
    Problem(
        "tree, 60 prunings, crossed columns",
        draw_crossed,
        DecisionTreeClassifier(random_state=0),
        {"ccp_alpha": [0.0, *np.geomspace(3e-4, 0.03, 59)]},
        worth_on_new_rows(draw_crossed),
        (500,),
        nested_up_to=200,
    ),
    Problem(
        "naive Bayes, mixed columns, 60 smoothings",
        draw_mixed,
        NaiveBayes(),
        {"alpha": list(np.geomspace(0.01, 100, 10)), "var_floor": list(np.geomspace(1e-3, 1, 6))},
        worth_on_new_rows(draw_mixed),
        fresh=True,
    ),
    Problem(
        "discriminant analysis, 60 shrinkages",
        draw_correlated,
        LinearDiscriminantAnalysis(solver="lsqr"),
        {"shrinkage": list(np.linspace(0, 1, 60))},
        worth_on_new_rows(draw_correlated),
        nested_up_to=0,
        fresh=True,
    ),
)


def draws(search: Any, seed: int) -> Floats:
    """The scores of each bootstrap's winner on the rows it left out."""
    stored = MeanLosses(search.kept_, lambda losses: 1.0 - losses)
    counts = draws_of(stored.n_units, 500, np.random.default_rng(seed))
    return np.concatenate([stored.draw(one, lambda scores: scores.argmax(axis=1)).scores for one in counts])


def floored(corrected: Estimate, search: Any) -> StudentSpread:
    """The jackknife, its error at least that of as many independent rows."""
    losses = search.kept_.losses[search.best_index_]
    return StudentSpread(max(corrected.spread.error, losses.std(ddof=1) / np.sqrt(len(losses))), FOLDS - 1)


def one_run(problem: Problem, n: int, seed: int, methods: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """By estimate: the value and the ends of its interval, all minus the truth."""
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng([n, seed])
    X, y = problem.draw(n, rng)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(problem.model, problem.grid, cv=folds, scoring="accuracy", audit=False).fit(X, y)
    truth = problem.worth(search.best_estimator_, rng)
    splits = freeze_splits(folds, X, y, n_rows=n)
    scores = np.array([search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(FOLDS)])
    found: dict[str, Estimate] = {
        "search score": Estimate(float(search.best_score_), "search score", corrected_spread(scores, splits))
    }
    if "bias-corrected" in methods:
        corrected = found["bias-corrected"] = bias_corrected(search, random_state=seed)
        found["with a floor"] = Estimate(corrected.value, "tried", floored(corrected, search))
        found["percentiles"] = Estimate(corrected.value, "as published", DrawnSpread(draws(search, seed)))
    outer = StratifiedKFold(FOLDS, shuffle=True, random_state=seed + 10_000)
    if "nested" in methods:
        found["nested"] = nested_cv(search, X, y, cv=outer).estimate
    if "bates" in methods:
        found["nested, Bates interval"] = estimate(search, X, y, interval="bates", repeats=5, random_state=seed)
    return {name: tuple(np.array([one.value, *one.interval()]) - truth) for name, one in found.items()}


ABOUT = """# How honest the estimates are

Each estimate is compared with the truth. {runs} tables of each size are drawn from a known distribution. On each table,
a search tries 60 settings by 10-fold cross-validation. The *bias* is the mean of the estimate minus the true accuracy
of the winner, in percentage points, with its standard error. Made by `python benchmarks/estimates.py`.

- **search score**: the best score of the search (optimistic), with the corrected resampled t interval of its folds.
- **nested**: `nested_cv` with 10 outer folds and the corrected resampled t interval (Nadeau & Bengio 2003).
- **bias-corrected**: `bias_corrected` with 500 bootstrap samples (BBC-CV, Tsamardinos and others 2018) and the
  Foldwise interval, a jackknife that leaves out the rows of one fold at a time.
- **percentiles**: the same estimate with the interval as published.
- **with a floor**: an experiment. The jackknife's standard error is at least that of independent rows, which is how
  Bates, Hastie and Tibshirani (2023) limit theirs.

The problems:

- *One column of 60*: each column is slightly informative, and the search must choose one. The settings are
  independent of each other, which is the worst case for search scores.
- *kNN*: nearest neighbors with 30 values of k and two weightings.
- *Tree*: a decision tree with 60 pruning strengths.
- *Tree, crossed columns*: two columns matter only together, so it is a matter of luck whether a greedy tree finds
  them.
- *Naive Bayes*: mixed columns with 60 combinations of smoothing parameters.
- *Discriminant analysis*: 40 correlated columns with 60 shrinkages.

The last two problems were added after the interval had been chosen. They are called *new* below.

"""


def measured(problem: Problem, n: int, runs: int, methods: Sequence[str]) -> dict[str, list[float]]:
    """By estimate: its bias, the standard error of that, the share of intervals that cover, their mean width."""
    calls = (delayed(one_run)(problem, n, seed, methods) for seed in range(runs))
    results = Parallel(os.cpu_count())(calls)
    found = {}
    for name in results[0]:
        off, low, high = np.array([run[name] for run in results]).T
        covers = np.mean((low <= 0) & (high >= 0))
        found[name] = [off.mean(), off.std(ddof=1) / np.sqrt(len(off)), covers, np.mean(high - low)]
    return {name: [float(one) for one in numbers] for name, numbers in found.items()}


def pooled(known: dict[str, dict[str, list[float]]], runs: int) -> list[str]:
    """What problems say together, by size and estimate; the fresh ones once more by themselves."""
    lines = [
        "| problems | rows | estimate | mean absolute bias (points) | largest | coverage of the 95% interval | "
        "by problem |",
        "|---|---|---|---|---|---|---|",
    ]
    for which, chosen in (("all", PROBLEMS), ("new", [one for one in PROBLEMS if one.fresh])):
        for n in SIZES:
            found = [known[key] for one in chosen if (key := f"{PROBLEMS.index(one)} {n} {runs}") in known]
            for name in dict.fromkeys(name for numbers in found for name in numbers):
                bias, _, covers, _ = 100 * np.array([numbers[name] for numbers in found if name in numbers]).T
                lines.append(
                    f"| {which}, {len(bias)} | {n:,} | {name} | {np.abs(bias).mean():.2f} | {np.abs(bias).max():.2f} | "
                    f"{covers.mean():.1f}% | {covers.min():.1f}% to {covers.max():.1f}% |"
                )
    return lines


TOGETHER = """
All problems together (crossed columns only with 500 rows), and the two new ones alone. The columns show the mean and
the largest absolute bias over problems, and how often the intervals contain the truth.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--problems", type=int, nargs="+", default=range(len(PROBLEMS)))
    parser.add_argument("--methods", nargs="+", default=("bias-corrected", "nested"))
    parser.add_argument("--cache", type=Path, help="a JSON file of what is measured already, to go on from")
    asked = parser.parse_args()
    known = json.loads(asked.cache.read_text()) if asked.cache and asked.cache.exists() else {}
    lines = [
        "| problem | rows | estimate | bias (points) | coverage of the 95% interval | width (points) |",
        "|---|---|---|---|---|---|",
    ]
    for number in asked.problems:
        problem = PROBLEMS[number]
        for n in (n for n in asked.sizes if n in problem.sizes):
            key = f"{number} {n} {asked.runs}"
            if key not in known:
                methods = [one for one in asked.methods if one != "nested" or n <= problem.nested_up_to]
                known[key] = measured(problem, n, asked.runs, methods)
                if asked.cache:
                    asked.cache.write_text(json.dumps(known))
            for name, (bias, error, covers, width) in known[key].items():
                lines.append(
                    f"| {problem.name} | {n:,} | {name} | {100 * bias:+.2f} ± {100 * error:.2f} | "
                    f"{100 * covers:.1f}% | {100 * width:.1f} |"
                )
                print(lines[-1], flush=True)
    if len(asked.problems) == len(PROBLEMS) and len(asked.sizes) == len(SIZES):
        body = ABOUT.format(runs=asked.runs) + "\n".join(lines) + "\n"
        body += TOGETHER + "\n".join(pooled(known, asked.runs)) + "\n"
        path = HERE.parent / "docs" / "estimates.md"
        verdict = path.read_text().partition("## Conclusions")[1:] if path.exists() else ()
        path.write_text(body + ("\n" + "".join(verdict) if verdict else ""))


if __name__ == "__main__":
    main()
