"""Score every setting of a grid on real tables, once: writes benchmarks/tuning_problems.npz.

    python benchmarks/make_tuning_problems.py [problem …]

The tables are those of FOLDWISE_DATA or ../shared/data. Three fifths of the rows are for tuning, by cross-validation
with three folds; the model fitted to all of them is scored on the other rows. Numbers of trees, iterations and epochs
need no fits of their own. About ten minutes on one core.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from tuning_problems import TABLES

DATA = Path(os.environ.get("FOLDWISE_DATA", Path(__file__).parents[2] / "shared" / "data")) / "tables"
Rows = tuple[Any, Any, Any, Any]


def read(name: str, target: str) -> tuple[Any, Any]:
    """The columns as numbers, categories by their codes, and the classes by their codes."""
    frame = pl.read_csv(DATA / f"{name}.csv", infer_schema_length=None)
    columns = [
        one.to_numpy() if one.dtype.is_numeric() else np.unique(one.cast(pl.String).to_numpy(), return_inverse=True)[1]
        for one in frame.drop(target)
    ]
    return np.column_stack(columns).astype(float), np.unique(frame[target].to_numpy(), return_inverse=True)[1]


def normalized(p: Any) -> Any:
    p = np.clip(p, 1e-3, None)
    return p / p.sum(axis=1, keepdims=True)


# each problem: the table, its target, the axes (values, and whether they have no order), and the scores of a fit
def svm(setting: Sequence[Any], rows: Rows) -> list[float]:
    X, y, Z, truth = rows
    model = make_pipeline(MinMaxScaler(), SVC(C=setting[0], gamma=setting[1])).fit(X, y)
    return [float(accuracy_score(truth, model.predict(Z)))]


def boosting(setting: Sequence[Any], rows: Rows) -> list[float]:
    X, y, Z, truth = rows
    rate, leaves, least, l2 = setting
    options = {"learning_rate": rate, "max_leaf_nodes": leaves, "min_samples_leaf": least, "l2_regularization": l2}
    model = HistGradientBoostingClassifier(max_iter=ITERATIONS[-1], early_stopping=False, random_state=0, **options)
    staged = model.fit(X, y).staged_predict_proba(Z)
    return [score(truth, p) for i, p in enumerate(staged, 1) if i in ITERATIONS]


def network(setting: Sequence[Any], rows: Rows) -> list[float]:
    X, y, Z, truth = rows
    rate, alpha, hidden, activation = setting
    scaler = StandardScaler().fit(X)
    X, Z = scaler.transform(X), scaler.transform(Z)
    options = {"learning_rate_init": rate, "alpha": alpha, "hidden_layer_sizes": hidden, "activation": activation}
    model = MLPClassifier(batch_size=64, random_state=0, **options)
    found = []
    for epoch in range(1, EPOCHS[-1] + 1):
        model.partial_fit(X, y, classes=np.arange(y.max() + 1))
        if epoch in EPOCHS:
            found.append(score(truth, model.predict_proba(Z)))
    return found


def forest(setting: Sequence[Any], rows: Rows) -> list[float]:
    X, y, Z, truth = rows
    share, least, depth, criterion = setting
    options = {"max_features": share, "min_samples_leaf": least, "max_depth": depth, "criterion": criterion}
    model = RandomForestClassifier(TREES[-1], random_state=0, **options).fit(X, y)
    sums = np.cumsum([tree.predict_proba(Z) for tree in model.estimators_], axis=0)
    return [score(truth, sums[n - 1] / n) for n in TREES]


def score(truth: Any, p: Any) -> float:
    """The negative log loss; probabilities are at least 0.001."""
    return -float(log_loss(truth, normalized(p), labels=np.arange(p.shape[1])))


ITERATIONS, EPOCHS, TREES = (20, 40, 80, 160, 240), (10, 20, 40, 80), (10, 25, 50, 100)
SVM_AXES = {"C": np.geomspace(0.03, 30_000, 24), "gamma": np.geomspace(3e-5, 8, 24)}
PROBLEMS: dict[str, tuple[str, str, Any, dict[str, Any]]] = {
    "SVM, vehicle": ("vehicle", "Class", svm, SVM_AXES),
    "SVM, glass": ("glass", "Type", svm, SVM_AXES),
    "Boosting, diabetes": (
        "diabetes_pima",
        "class",
        boosting,
        {
            "learning_rate": np.geomspace(0.01, 0.5, 6),
            "max_leaf_nodes": [3, 6, 12, 31],
            "min_samples_leaf": [3, 8, 20, 50],
            "l2": [0.0, 1.0, 10.0],
            "max_iter": ITERATIONS,
        },
    ),
    "MLP, vehicle": (
        "vehicle",
        "Class",
        network,
        {
            "rate": np.geomspace(3e-4, 0.1, 6),
            "alpha": np.geomspace(1e-5, 10, 5),
            "hidden": [4, 12, 36, 100],
            "activation": ["relu", "tanh"],
            "epochs": EPOCHS,
        },
    ),
    "Forest, credit": (
        "credit_g",
        "class",
        forest,
        {
            "max_features": [0.05, 0.15, 0.3, 0.6, 1.0],
            "min_samples_leaf": [1, 2, 4, 8, 16],
            "max_depth": [2, 5, 10, 30],
            "criterion": ["gini", "entropy"],
            "n_estimators": TREES,
        },
    ),
}


def splits(X: Any, y: Any) -> Iterator[Rows]:
    """Three folds of the rows for tuning; then all of them, with the held-out rows."""
    X, Z, y, truth = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        yield X[train], y[train], X[test], y[test]
    yield X, y, Z, truth


def make(name: str) -> dict[str, Any]:
    table, target, fit, axes = PROBLEMS[name]
    fitted = [values for axis, values in axes.items() if axis not in ("max_iter", "epochs", "n_estimators")]
    rows = list(splits(*read(table, target)))
    scores = np.array([[fit(one, part) for part in rows] for one in product(*fitted)])
    shape = [len(values) for values in axes.values()]
    choices = [",".join(values) if isinstance(values[0], str) else "" for values in axes.values()]
    return {
        "axes": np.array(list(axes)),
        "choices": np.array(choices),
        "cv": scores[:, :3].mean(axis=1).reshape(shape).astype(np.float32),
        "held_out": scores[:, 3].reshape(shape).astype(np.float32),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    stored = dict(np.load(TABLES)) if TABLES.exists() else {}
    for name in sys.argv[1:] or PROBLEMS:
        start = time.perf_counter()
        made = make(name)
        stored |= {f"{name}|{key}": value for key, value in made.items()}
        np.savez_compressed(TABLES, **stored)
        cv, held_out = made["cv"].ravel(), made["held_out"].ravel()
        print(
            f"{name}: {cv.size:,} settings, best {cv.max():.4f}, median {np.median(cv):.4f}; held-out best "
            f"{held_out.max():.4f}, of the best setting {held_out[cv.argmax()]:.4f}; "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
