"""How honest are estimates of a root mean squared error? Searches of 60 settings whose true worth is known.

Each run draws a table, searches it by 10-fold cross-validation, and compares what each estimate says of the winner with
its true root mean squared error: by a formula, or on new rows whose target has a known mean and variance. Writes
benchmarks/value_estimates.md.
`python benchmarks/value_estimates.py --runs 200 --cache results.json` measures what the cache does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from foldwise import Estimate, GridSearchCV, KNNRegressor, bias_corrected, nested_cv
from foldwise.evaluation.intervals import corrected_spread
from foldwise.folds.splits import freeze_splits

HERE = Path(__file__).parent
SIZES = (200, 500, 1000, 2000)
FOLDS = 10
RMSE = "neg_root_mean_squared_error"

Floats = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], tuple[Floats, Floats]]
Moments = Callable[[Floats], tuple[Floats, Floats]]  # rows -> mean and variance of their target


class OneLine(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The least-squares line of one column."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Floats, y: Floats) -> OneLine:
        x = X[:, self.column]
        self.slope_ = float(np.cov(x, y)[0, 1] / x.var(ddof=1))
        self.start_ = float(y.mean() - self.slope_ * x.mean())
        return self

    def predict(self, X: Floats) -> Floats:
        return np.asarray(self.start_ + self.slope_ * X[:, self.column])


EFFECTS = np.linspace(0.1, 0.25, 60)  # of 60 independent columns, each of which tells a little


def draw_columns(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    X = rng.normal(size=(n, 60))
    return X, 5 + X @ EFFECTS + rng.normal(size=n)


def worth_of_line(model: OneLine, rng: np.random.Generator) -> float:
    """Exactly: the variance that the column leaves, and the errors of slope and start."""
    effect = EFFECTS[model.column]
    left = 1 + float((EFFECTS**2).sum()) - effect**2
    return float(np.sqrt(left + (effect - model.slope_) ** 2 + (5 - model.start_) ** 2))


def waves(X: Floats) -> tuple[Floats, Floats]:
    """A smooth function of two of four columns, and the variance of a t distribution with six degrees of freedom."""
    return 3 * np.sin(X[:, 0]) + X[:, 1] ** 2, np.full(len(X), 1.5)


def draw_waves(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Waves with heavy tails."""
    X = rng.uniform(-2, 2, size=(n, 4))
    return X, waves(X)[0] + rng.standard_t(6, size=n)


def steps(X: Floats) -> tuple[Floats, Floats]:
    """Steps, and errors that grow with the value."""
    level = 2.0 * (X[:, 0] > 0.5) + 1.5 * ((X[:, 1] > 0.3) & (X[:, 2] > 0.4)) + 1
    return level, (0.4 * level) ** 2


def draw_steps(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows with steps."""
    X = rng.random((n, 8))
    level, variance = steps(X)
    return X, level + np.sqrt(variance) * rng.normal(size=n)


def linear(X: Floats) -> tuple[Floats, Floats]:
    """Every fourth column tells a little."""
    return X[:, ::4].sum(axis=1) * 0.3, np.full(len(X), 4.0)


def draw_correlated(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Forty columns, each like its neighbors."""
    X = rng.normal(size=(n, 40))
    for j in range(1, 40):
        X[:, j] = 0.7 * X[:, j - 1] + np.sqrt(1 - 0.7**2) * X[:, j]
    return X, linear(X)[0] + 2 * rng.normal(size=n)


def uneven(X: Floats) -> tuple[Floats, Floats]:
    """The same mean, and errors that depend on two columns."""
    return linear(X)[0], (0.5 + np.abs(X[:, 0]) + 0.5 * np.abs(X[:, 1])) ** 2


def draw_uneven(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Correlated columns with errors of different sizes."""
    X, _ = draw_correlated(n, rng)
    mean, variance = uneven(X)
    return X, mean + np.sqrt(variance) * rng.normal(size=n)


def even_steps(X: Floats) -> tuple[Floats, Floats]:
    """Steps, and errors of the same size everywhere."""
    return steps(X)[0], np.ones(len(X))


def draw_even_steps(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Rows with steps and normal errors."""
    X = rng.random((n, 8))
    return X, even_steps(X)[0] + rng.normal(size=n)


def log_level(X: Floats) -> Floats:
    return np.asarray(0.5 * X[:, 0] + 0.3 * X[:, 1] * (X[:, 2] > 0))


def lognormal(X: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of a lognormal distribution, whose logarithm has the standard deviation 0.4."""
    mean = np.exp(log_level(X) + 0.4**2 / 2)
    return mean, mean**2 * (np.exp(0.4**2) - 1)


def draw_skewed(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A positive target with a long tail, such as a price."""
    X = rng.normal(size=(n, 5))
    return X, np.exp(log_level(X) + 0.4 * rng.normal(size=n))


@dataclass(frozen=True)
class Problem:
    """Tables drawn from a known distribution, and a search of 60 settings."""

    name: str
    draw: Draw
    model: Any
    grid: dict[str, Any]
    worth: Callable[[Any, np.random.Generator], float] | None = None  # None: on new rows
    moments: Moments | None = None
    nested_up_to: int = 500  # rows
    n_test: int = 10_000

    def estimates(self, n: int) -> tuple[str, ...]:
        """Names of the estimates that are measured with so many rows."""
        return ("search score", "bias-corrected", *(("nested",) if n <= self.nested_up_to else ()))

    def truth(self, model: Any, rng: np.random.Generator) -> float:
        if self.worth is not None:
            return self.worth(model, rng)
        assert self.moments is not None
        X, _ = self.draw(self.n_test, rng)
        mean, variance = self.moments(X)
        # targets of 10,000 rows would add half as much noise as a table of 2,000 rows has, and hide how intervals cover
        return float(np.sqrt(np.mean(variance + (model.predict(X) - mean) ** 2)))


PENALTIES = {"alpha": list(np.geomspace(0.1, 1e5, 60))}
PRUNINGS = {"ccp_alpha": [0.0, *np.geomspace(1e-3, 0.3, 59)]}
KS = {"n_neighbors": list(range(1, 60, 2)), "weights": ["uniform", "distance"]}
PROBLEMS = (
    Problem("one column of 60", draw_columns, OneLine(), {"column": list(range(60))}, worth_of_line, nested_up_to=0),
    Problem("kNN, heavy tails", draw_waves, KNNRegressor(), KS, moments=waves),
    Problem(
        "tree, errors that grow with the value",
        draw_steps,
        DecisionTreeRegressor(random_state=0),
        PRUNINGS,
        moments=steps,
        nested_up_to=200,
    ),
    Problem("ridge, correlated columns", draw_correlated, Ridge(), PENALTIES, moments=linear),
    Problem("kNN, skewed target", draw_skewed, KNNRegressor(), KS, moments=lognormal, nested_up_to=0, n_test=100_000),
    Problem("ridge, errors of different sizes", draw_uneven, Ridge(), PENALTIES, moments=uneven, nested_up_to=0),
    Problem("ridge, skewed target", draw_skewed, Ridge(), PENALTIES, moments=lognormal, nested_up_to=0, n_test=100_000),
    Problem(
        "tree, skewed target",
        draw_skewed,
        DecisionTreeRegressor(random_state=0),
        PRUNINGS,
        moments=lognormal,
        nested_up_to=0,
        n_test=100_000,
    ),
    Problem(
        "tree, normal errors",
        draw_even_steps,
        DecisionTreeRegressor(random_state=0),
        PRUNINGS,
        moments=even_steps,
        nested_up_to=0,
    ),
)


def one_run(problem: Problem, n: int, seed: int, names: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """By estimate: the value and the ends of its interval, all as shares of the truth above it."""
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng([n, seed])
    X, y = problem.draw(n, rng)
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(problem.model, problem.grid, cv=folds, scoring=RMSE, audit=False).fit(X, y)
    truth = problem.truth(search.best_estimator_, rng)
    found: dict[str, Estimate] = {}
    if "search score" in names:
        splits = freeze_splits(folds, X, y, n_rows=n)
        scores = np.array([search.cv_results_[f"split{k}_test_score"][search.best_index_] for k in range(FOLDS)])
        spread = corrected_spread(scores, splits)
        found["search score"] = Estimate(float(search.best_score_), "search score", spread)
    if "bias-corrected" in names:
        found["bias-corrected"] = bias_corrected(search, random_state=seed)
    if "nested" in names:
        outer = KFold(FOLDS, shuffle=True, random_state=seed + 10_000)
        found["nested"] = nested_cv(search, X, y, cv=outer).estimate
    errors = {name: (-one.value, -one.interval()[1], -one.interval()[0]) for name, one in found.items()}
    return {name: tuple(np.array(numbers) / truth - 1) for name, numbers in errors.items()}


def measured(problem: Problem, n: int, asked: argparse.Namespace, names: Sequence[str]) -> dict[str, list[float]]:
    """By estimate: its bias, the standard error of that, the share of intervals that cover, their mean width."""
    runs = (delayed(one_run)(problem, n, seed, names) for seed in range(asked.runs))
    results = Parallel(asked.jobs)(runs)
    found = {}
    for name in names:
        off, low, high = np.array([run[name] for run in results]).T
        covers = np.mean((low <= 0) & (high >= 0))
        found[name] = [off.mean(), off.std(ddof=1) / np.sqrt(len(off)), covers, np.mean(high - low)]
    return {name: [float(one) for one in numbers] for name, numbers in found.items()}


ABOUT = """# How honest the estimates of a root mean squared error are

{runs} tables of each size are drawn from a known distribution. On each table, a search tries 60 settings by 10-fold
cross-validation. The *bias* is the mean of the estimate minus the true error of the winner, as a percentage of that
error, with its standard error. Made by `python benchmarks/value_estimates.py`.

- **search score**: the mean over folds of the best setting (optimistic), with the corrected resampled t interval.
- **bias-corrected**: `bias_corrected` with 500 bootstrap samples, whose squared errors are averaged before the root is
  taken. The variance is the average of two: that of a jackknife over folds and that of independent rows. The interval
  is adjusted for the skewness of squared errors (Hall 1992).
- **nested**: `nested_cv` with 10 outer folds and the corrected resampled t interval.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--problems", type=int, nargs="+", default=range(len(PROBLEMS)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument("--cache", type=Path, help="a JSON file of what is measured already, to go on from")
    asked = parser.parse_args()
    known = json.loads(asked.cache.read_text()) if asked.cache and asked.cache.exists() else {}
    for number in asked.problems:
        for n in asked.sizes:
            key = f"{number} {n} {asked.runs}"
            done = known.setdefault(key, {})
            missing = [name for name in PROBLEMS[number].estimates(n) if name not in done]
            if missing:
                done.update(measured(PROBLEMS[number], n, asked, missing))
                if asked.cache:
                    asked.cache.write_text(json.dumps(known))
            print("\n".join(rows_of(number, n, known[key])), flush=True)
    write_page(known, asked.runs)


def rows_of(number: int, n: int, found: dict[str, list[float]]) -> list[str]:
    """The rows of the table for one problem and size."""
    return [
        f"| {PROBLEMS[number].name} | {n:,} | {name} | {100 * bias:+.2f}% ± {100 * error:.2f} | "
        f"{100 * covers:.1f}% | {100 * width:.1f}% |"
        for name in PROBLEMS[number].estimates(n)
        for bias, error, covers, width in [found[name]]
    ]


def write_page(known: dict[str, dict[str, list[float]]], runs: int) -> None:
    """Write all that is measured so far; the conclusions of the page stay."""
    lines = ["| problem | rows | estimate | bias | coverage of the 95% interval | width |", "|---|---|---|---|---|---|"]
    keys = [(number, n) for number in range(len(PROBLEMS)) for n in SIZES]
    done = [
        (number, n)
        for number, n in keys
        if set(PROBLEMS[number].estimates(n)) <= known.get(f"{number} {n} {runs}", {}).keys()
    ]
    for number, n in done:
        lines += rows_of(number, n, known[f"{number} {n} {runs}"])
    missing = [
        f"- {problem.name}: {', '.join(f'{n:,}' for n in SIZES if (number, n) not in done)} rows"
        for number, problem in enumerate(PROBLEMS)
        if not {(number, n) for n in SIZES} <= set(done)
    ]
    body = ABOUT.format(runs=runs) + "\n".join(lines) + "\n"
    if missing:
        body += "\nNot measured:\n\n" + "\n".join(missing) + "\n"
    path = HERE / "value_estimates.md"
    verdict = path.read_text().partition("## Conclusions")[1:] if path.exists() else ()
    path.write_text(body + ("\n" + "".join(verdict) if verdict else ""))


if __name__ == "__main__":
    main()
