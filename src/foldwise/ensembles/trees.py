"""What spares scikit-learn's trees work that they would all repeat: rows in single precision, checked once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

TREES = {"DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"}


def is_tree(estimator: Any) -> bool:
    return type(estimator).__name__ in TREES and type(estimator).__module__.startswith("sklearn.tree.")


def for_trees(X: Any, estimators: Iterable[Any]) -> Any:
    """The rows as trees convert them, where all estimators are trees: then none has to."""
    if type(X) is not np.ndarray or X.dtype.kind not in "fiu" or not all(is_tree(one) for one in estimators):
        return X
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which trees refuse
        return np.ascontiguousarray(X, dtype=np.float32)


def is_checked(X: Any) -> bool:
    """Whether rows are in the form of trees with no missing or infinite cell, so that trees need not look again."""
    return type(X) is np.ndarray and X.dtype == np.float32 and bool(np.isfinite(X.sum()))
