"""Linear models from one Gram matrix per training set, against scikit-learn's searches with two processes.

Both libraries search the same settings on the same splits in one run, with `n_jobs=2` and without an audit. The time of
foldwise is the best of nine, that of scikit-learn of one. `make bench` writes benchmarks/linear.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.linear_model import ElasticNet, Lasso, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV as TheirGridSearchCV
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from foldwise import GridSearchCV, SelectFeatures, nested_cv

HERE = Path(__file__).parent
N_ROWS, N_COLUMNS = 20_000, 50
INNER, OUTER = (KFold(5, shuffle=True, random_state=seed) for seed in (1, 2))
RIDGE, LASSO = np.logspace(-1, 5, 100), np.logspace(-3, 0.5, 100)
ERROR = "neg_mean_squared_error"


def table(n_rows: int) -> tuple[Any, Any]:
    """Correlated columns, of which half influence the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS)) @ (np.eye(N_COLUMNS) + 0.1 * rng.normal(size=(N_COLUMNS, N_COLUMNS)))
    return X, X @ (rng.normal(size=N_COLUMNS) * (rng.random(N_COLUMNS) < 0.5)) + 3 * rng.normal(size=n_rows)


def timed(call: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """The shortest time in seconds, and the result."""
    times, found = [], None
    for _ in range(rounds):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    return min(times), found


def line(name: str, models: int, goal: str, ours: Callable[[], Any], theirs: Callable[[], Any], result: Any) -> str:
    """One comparison; the results of both, read by `result`, must agree."""
    ours()  # compiles, and fills caches of the processor
    mine, found = timed(ours, 9)
    other, expected = timed(theirs, 1)
    a, b = np.asarray(result(found), dtype=float), np.asarray(result(expected), dtype=float)
    apart = float(np.max(np.abs(a - b) / np.maximum(np.abs(b), 1e-300)))
    cells = [
        name,
        f"{models:,}",
        f"{1e3 * mine:,.0f} ms",
        f"{other:.1f} s",
        f"{other / mine:.0f} ×",
        goal,
        f"{apart:.0e}",
    ]
    return f"| {' | '.join(cells)} |"


def nested(name: str, model: Any, values: Any, goal: str, scoring: str, X: Any, y: Any) -> str:
    """Nested cross-validation over the penalties of a model: 5 outer times 5 inner folds."""
    grid = {"alpha": values}
    ours = GridSearchCV(model, grid, cv=INNER, n_jobs=2, scoring=scoring, audit=False)
    theirs = TheirGridSearchCV(model, grid, cv=INNER, n_jobs=2, scoring=scoring)
    return line(
        *(name, 25 * len(values) + 5, goal),
        lambda: np.asarray(nested_cv(ours, X, y, cv=OUTER).scores),
        lambda: cross_val_score(theirs, X, y, cv=OUTER, scoring=scoring),
        lambda scores: scores,
    )


def searched(name: str, model: Any, grid: Any, cv: Any, X: Any, y: Any) -> str:
    """A search on one set of splits."""
    options = {"cv": cv, "n_jobs": 2, "scoring": ERROR, "refit": False}
    size = len(next(iter(grid.values()))) * cv.get_n_splits(X)
    return line(
        *(name, size, ""),
        lambda: GridSearchCV(model, grid, audit=False, **options).fit(X, y),
        lambda: TheirGridSearchCV(model, grid, **options).fit(X, y),
        lambda search: search.cv_results_["mean_test_score"],
    )


def selected(name: str, n_features: int, direction: str, goal: str, X: Any, y: Any) -> str:
    """Feature selection with ridge regression."""
    options = {"direction": direction, "cv": INNER, "n_jobs": 2, "scoring": ERROR}
    steps = n_features if direction == "forward" else N_COLUMNS - n_features
    return line(
        *(name, 5 * sum(N_COLUMNS - i for i in range(steps)), goal),
        lambda: SelectFeatures(Ridge(), n_features=n_features, audit=False, **options).fit(X, y),
        lambda: SequentialFeatureSelector(Ridge(), n_features_to_select=n_features, **options).fit(X, y),
        lambda select: select.get_support(),
    )


def main() -> None:
    X, y = table(N_ROWS)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    few, few_y = X[:500], y[:500]
    scaled = make_pipeline(StandardScaler(), Ridge())
    comparisons = (
        lambda: nested("nested 5 × 5, `Ridge`, 100 penalties", Ridge(), RIDGE, "100 ×", ERROR, X, y),
        lambda: nested("nested 5 × 5, `Lasso`, 100 penalties", Lasso(), LASSO, "20 ×", ERROR, X, y),
        lambda: nested("nested 5 × 5, `ElasticNet`, 100 penalties", ElasticNet(), LASSO, "", ERROR, X, y),
        lambda: nested(
            "nested 5 × 5, `RidgeClassifier`, 3 classes", RidgeClassifier(), RIDGE, "", "accuracy", X, labels
        ),
        lambda: searched("5 folds, scaling and `Ridge`", scaled, {"ridge__alpha": RIDGE}, INNER, X, y),
        lambda: selected("forward selection of 25 columns, `Ridge`", 25, "forward", "50 ×", X, y),
        lambda: selected("backward selection of 25 columns, `Ridge`", 25, "backward", "", X, y),
        lambda: searched(
            "leave-one-out, `Ridge`, 500 rows", Ridge(), {"alpha": RIDGE[::10]}, LeaveOneOut(), few, few_y
        ),
    )
    lines = [
        "| comparison | models | foldwise | scikit-learn | ratio | goal | largest relative difference |",
        "|---" * 7 + "|",
    ]
    for compare in comparisons:
        lines.append(compare())
        print(lines[-1], flush=True)
    about = (
        f"{N_ROWS:,} rows and {N_COLUMNS} columns, both libraries with `n_jobs=2` in one run. The time of foldwise is "
        "the best of nine runs, that of scikit-learn comes from one run. Differences are those of mean scores, or of "
        "the selected columns. Made by `make bench` (`benchmarks/linear.py`)."
    )
    page = f"# Benchmarks: linear models\n\n{about}\n\n" + "\n".join(lines) + "\n"
    (HERE / "linear.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
