"""Facts of format 1 made by small real runs: models are fitted, searched, compared and explained here."""

from __future__ import annotations

import platform
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import sklearn
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import foldwise
from foldwise import CostMatrix, NaiveBayes, RandomizedSearchCV
from foldwise.bayes.nomogram import nomogram
from foldwise.evaluation import corrected_t_test
from foldwise.evaluation.estimates import StudentSpread
from foldwise.evaluation.intervals import corrected_error
from foldwise.evaluation.prediction_curves import prediction_facts

WEATHER = Path(__file__).parents[2] / "examples" / "weather.csv"
GRIDS: dict[str, dict[str, Any]] = {
    "naive Bayes": {"alpha": np.geomspace(0.01, 10, 20), "var_floor": np.geomspace(1e-6, 0.1, 20)},
    "logistic regression": {"logisticregression__C": np.geomspace(1e-3, 1e3, 60)},
    "decision tree": {"max_depth": range(1, 9), "criterion": ["gini", "entropy", "log_loss"]},
}
TRIALS = 12


@cache
def wine_facts() -> dict[str, Any]:
    """Three classes, thirteen numbers."""
    wine = load_wine()
    X = pl.DataFrame(wine.data, schema=list(wine.feature_names))
    return run(X, np.array(wine.target_names)[wine.target], "wine.csv", "cultivar")


@cache
def cancer_facts() -> dict[str, Any]:
    """Two classes, thirty numbers, costs."""
    data = load_breast_cancer()
    X = pl.DataFrame(data.data, schema=list(data.feature_names))
    costs = CostMatrix.from_dict({"treat": {"malignant": 1, "benign": 2}, "wait": {"malignant": 20, "benign": 0}})
    return run(X, np.array(data.target_names)[data.target], "cancer.csv", "diagnosis", costs, positive="malignant")


@cache
def weather_facts() -> dict[str, Any]:
    """Two classes, categories and numbers, fourteen rows."""
    frame = pl.read_csv(WEATHER)
    return run(frame.drop("play"), frame["play"].to_numpy().astype(str), "weather.csv", "play", n_folds=3)


def models(X: pl.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {
        "naive Bayes": NaiveBayes(families={n: "kde" for n, t in X.schema.items() if t.is_numeric()})
    }
    if all(dtype.is_numeric() for dtype in X.dtypes):
        found["logistic regression"] = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        found["decision tree"] = DecisionTreeClassifier(random_state=0)
    return found


def run(
    X: pl.DataFrame,
    y: Any,
    title: str,
    target: str,
    costs: CostMatrix | None = None,
    positive: str | None = None,
    n_folds: int = 4,
) -> dict[str, Any]:
    """All facts of one table."""
    clock = Clock()
    cv = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    classes, codes = np.unique(y, return_inverse=True)
    named = models(X)
    searches, best = [], {}
    for name, model in named.items():
        search, chosen = searched(name, model, X, y, cv, clock)
        searches.append(search)
        best[name] = chosen
    named["baseline"] = DummyClassifier(strategy="prior")
    clock.mark("searching")
    # the scores of the board come from other folds than the search's, so that the search score differs from them
    fresh = StratifiedKFold(n_folds, shuffle=True, random_state=1)
    board = []
    for name, model in named.items():
        model.set_params(**best.get(name, {}))
        trials = next((search["trials"] for search in searches if search["title"] == name), [])
        board.append(entry(name, model, X, y, fresh, trials))
    board = sorted(board[:-1], key=lambda e: e["estimate"]["value"]) + board[-1:]
    for other in board[1:]:
        gaps = np.subtract(other["folds"], board[0]["folds"])
        other["p"] = corrected_t_test(gaps, test_share=1 / (n_folds - 1)).p
        other["tied"] = other["p"] > 0.05
    board[0]["weight"] = 1.0
    board.insert(-1, too_slow())
    winner = named[board[0]["title"]]
    proba = cross_val_predict(winner, X, y, cv=fresh, method="predict_proba")
    clock.mark("scoring")
    bayes = NaiveBayes().set_params(**named["naive Bayes"].get_params()).fit(X, y)
    predictions = prediction_facts(codes, proba, classes.tolist(), positive=positive, costs=costs)
    laid_open, rows, columns = nomogram(bayes, X), worked(bayes, X, y), importances(winner, X, y)
    clock.mark("explaining")
    return {
        "format": 1,
        "title": title,
        "made": {
            "command": f"foldwise fit {title} --target {target} --budget 20s --seed 0 --out {target}-run",
            "python": platform.python_version(),
            "seed": 0,
            "budget": 20.0,
            "seconds": clock.now(),
            "when": "2025-03-14T09:26:53",
            "versions": {
                "foldwise": foldwise.__version__,
                "numpy": np.__version__,
                "scikit-learn": sklearn.__version__,
            },
            "rows_included": True,
            "interrupted": False,
            "phases": clock.phases,
            "n_models": len(named),
            "n_settings": sum(len(s["trials"]) for s in searches),
        },
        "task": {
            "target": target,
            "classes": classes.tolist(),
            "class_counts": np.bincount(codes).tolist(),
            "positive": positive,
            "metric": "log_loss",
            "metric_title": "log loss",
            "greater_is_better": False,
            "costs": costs
            and {"actions": list(costs.actions), "classes": list(costs.truths), "matrix": costs.costs.tolist()},
            "groups": None,
            "time": None,
            "weights": None,
            "n_rows": len(X),
            "n_columns": X.width,
            "n_folds": n_folds,
            "splitter": "stratified folds",
            "scored_folds": "Settings with a weak score on fold 1 were not tried further, so fold 1 is left out of the "
            "estimates.",
        },
        "audit": audited(X),
        "headline": {
            "words": sentences(board, len(X), target),
            "verdict": {"final": True, "best": True, "p": 0.001},
            "estimate": board[0]["estimate"],
            "baseline": {**board[-1]["estimate"], "search_score": None},
            "others": [other_measure(winner, X, y, fresh, name) for name in ("accuracy", "balanced_accuracy")],
            "test": None,
        },
        "leaderboard": board,
        "searches": searches,
        "predictions": predictions,
        "bayes": laid_open,
        "examples": rows,
        "importance": columns,
        "importance_of": "Measured on held-out rows by the log loss (XGBoost).",
        "final": {
            "words": f"The final model is {board[0]['title']}, fitted on all rows with the best settings.",
            "members": [{"title": board[0]["title"], "weight": 1.0, "settings": board[0]["settings"]}],
            "calibration": "Its probabilities are used as they come.",
            "decides": "The model takes the action with the lowest expected cost."
            if costs
            else "Predictions are the most probable class.",
            "n_rows": len(X),
        },
    }


class Clock:
    """Seconds since the start, and of each phase."""

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()
        self.phases: list[list[Any]] = []

    def now(self) -> float:
        return time.perf_counter() - self.began

    def mark(self, phase: str) -> None:
        self.phases.append([phase, time.perf_counter() - self.last])
        self.last = time.perf_counter()


def searched(name: str, model: Any, X: Any, y: Any, cv: Any, clock: Clock) -> tuple[dict[str, Any], dict[str, Any]]:
    """The trials of a random search, one behind the other, and the best setting."""
    search = RandomizedSearchCV(model, GRIDS[name], n_iter=TRIALS, cv=cv, scoring="neg_log_loss", random_state=0)
    began, results = clock.now(), search.fit(X, y).cv_results_
    took = (results["mean_fit_time"] + results["mean_score_time"]) * cv.get_n_splits()
    trials = []
    for i, setting in enumerate(results["params"]):
        plain = {key: v.item() if isinstance(v, np.generic) else v for key, v in setting.items()}
        score = -float(results["mean_test_score"][i])
        at = began + float(took[: i + 1].sum())
        trials.append(
            {"settings": plain, "score": score, "folds": cv.get_n_splits(), "seconds": float(took[i]), "at": at}
        )
    return {"model": name, "title": name, "trials": trials}, search.best_params_


def estimated(folds: Any, title: str, greater: bool, search_score: float | None = None) -> dict[str, Any]:
    """Mean and 95% interval of the scores of folds."""
    mean, share = float(folds.mean()), 1 / (len(folds) - 1)
    spread = StudentSpread(float(corrected_error(folds, share)), len(folds) - 1)
    low, high = np.clip(spread.between(mean, 0.95), 0.0, 1.0 if greater else None).tolist()
    words = {"method": f"{len(folds)} folds, corrected interval", "title": title, "greater_is_better": greater}
    return {"value": mean, "low": low, "high": high, "search_score": search_score, "text": f"{mean:.3f}", **words}


def entry(name: str, model: Any, X: Any, y: Any, cv: Any, trials: list[dict[str, Any]]) -> dict[str, Any]:
    start = time.perf_counter()
    folds = -cross_val_score(model, X, y, cv=cv, scoring="neg_log_loss")
    best = min(trials, key=lambda trial: trial["score"], default={"settings": {}, "score": None})
    return {
        "model": name,
        "title": name,
        "status": "ok",
        "why": "",
        "settings": {key: f"{v:.3g}" if isinstance(v, float) else str(v) for key, v in best["settings"].items()},
        "estimate": estimated(folds, "log loss", False, best["score"]),
        "folds": folds.tolist(),
        "tied": False,
        "p": None,
        "seconds": time.perf_counter() - start + sum(trial["seconds"] for trial in trials),
        "n_settings": max(1, len(trials)),
        "weight": 0.0,
    }


def too_slow() -> dict[str, Any]:
    """A model that was left out, as a run says it."""
    gone = {"estimate": None, "folds": None, "tied": False, "p": None, "seconds": 0.0, "n_settings": 0, "weight": 0.0}
    why = "one fold would not end within the budget"
    return {"model": "svm", "title": "RBF SVM", "status": "too slow", "why": why, "settings": {}, **gone}


def other_measure(model: Any, X: Any, y: Any, cv: Any, metric: str) -> dict[str, Any]:
    folds = cross_val_score(model, X, y, cv=cv, scoring=metric)
    base = float(cross_val_score(DummyClassifier(strategy="prior"), X, y, cv=cv, scoring=metric).mean())
    title = metric.replace("_", " ")
    return {
        "metric": metric,
        "title": title,
        "greater_is_better": True,
        "estimate": estimated(folds, title, True),
        "baseline": base,
    }


def sentences(board: list[dict[str, Any]], n_rows: int, target: str) -> list[str]:
    best, base = board[0], board[-1]["estimate"]["value"]
    return [
        f"On rows it has not seen, the model predicts {target} with a log loss of {best['estimate']['value']:.3f}; "
        f"guessing from the class shares alone gives {base:.3f}.",
        f"{best['title'].capitalize()} came first of {len(board) - 1} models on {n_rows} rows.",
    ]


def audited(X: pl.DataFrame) -> dict[str, Any]:
    columns = []
    for name in X.columns:
        column = X[name]
        number = column.dtype.is_numeric()
        if number:
            summary = f"{column.min():g} to {column.max():g}, median {column.median():g}"
        else:
            summary = ", ".join(map(str, column.unique(maintain_order=True).to_list()[:4]))
        role, n_distinct = "number" if number else "category", column.n_unique()
        about = {"missing": column.null_count() / len(column), "n_distinct": n_distinct, "summary": summary}
        columns.append({"name": name, "role": role, "left_out": None, **about})
    return {
        "columns": columns,
        "notes": [f"{len(X)} rows and {X.width} columns were read; none is left out."],
        "warnings": ["The table is small: the interval is wide."] if len(X) < 300 else [],
    }


def importances(model: Any, X: pl.DataFrame, y: Any) -> list[dict[str, Any]]:
    if not all(dtype.is_numeric() for dtype in X.dtypes):
        return []
    rows = np.arange(len(y))
    train, test = rows[rows % 3 != 0], rows[rows % 3 == 0]
    model.fit(X[train], y[train])
    found = permutation_importance(
        model, X[test].to_pandas(), y[test], scoring="neg_log_loss", n_repeats=3, random_state=0
    )
    means, sds = found.importances_mean.tolist(), found.importances_std.tolist()
    return [
        {"column": name, "mean": mean, "low": mean - 2 * sd, "high": mean + 2 * sd}
        for name, mean, sd in zip(X.columns, means, sds, strict=True)
    ]


def worked(model: NaiveBayes, X: pl.DataFrame, y: Any) -> list[dict[str, Any]]:
    """Two rows that are right and, where there are any, two that are wrong."""
    predicted = model.predict(X)
    chosen = [*np.flatnonzero(predicted == y)[[0, -1]], *np.flatnonzero(predicted != y)[:2]]
    rows = []
    for row, told in zip(chosen, model.explain(X[[int(i) for i in chosen]]), strict=True):
        about = told.classes.index(told.predicted)
        other = max((c for c in range(len(told.classes)) if c != about), key=lambda c: told.log_proba[c])
        cells = [
            {"column": f.column, "cell": f"{f.value:g}" if isinstance(f.value, float) else str(f.value)}
            | {"contribution": f.log[about] - f.log[other]}
            for f in told.factors
        ]
        base = told.prior.log[about] - told.prior.log[other]
        facts = {
            "row": int(row),
            "truth": str(y[row]),
            "predicted": str(told.predicted),
            "right": told.predicted == y[row],
        }
        facts |= {"proba": dict(zip(map(str, told.classes), told.proba, strict=True)), "about": str(told.predicted)}
        rows.append(facts | {"cells": cells, "base": base, "total": base + sum(c["contribution"] for c in cells)})
    return rows
