"""The folds of `Conformal`: which rows are predicted by models that did not learn them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from foldwise.data.arguments import whole_at_least
from foldwise.decisions.calibrated import calibration_splits
from foldwise.evaluation.cross_predict import check_partition
from foldwise.folds.splits import LeaveOneOutSplits, Split, freeze_splits


def class_splits(method: str, cv: Any, X: Any, y: Any, codes: NDArray[np.integer[Any]]) -> Sequence[Split]:
    """Split rows with classes into folds, or into training and calibration rows."""
    if method != "split":
        return calibration_splits(cv, X, y, codes)
    if not isinstance(cv, int | np.integer):
        return freeze_splits(cv, X, y, n_rows=len(codes))[:1]
    splits = calibration_splits(cv, X, y, codes)[:1]
    # a class that only the calibration rows have could never be predicted, so the model learns its rows
    for split in splits:
        known = np.isin(codes[split.test], codes[split.train])
        train = np.concatenate([split.train, split.test[~known]])
        return [Split(np.sort(train), split.test[known])] if known.any() else []
    return []


def value_splits(method: str, cv: Any, X: Any, y: NDArray[np.float64]) -> Sequence[Split]:
    """Split rows with values into folds, or into training and calibration rows."""
    n_rows = len(y)
    if method == "jackknife+":
        return LeaveOneOutSplits(np.arange(n_rows))
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        cv = KFold(min(whole_at_least("cv", cv, 2), n_rows), shuffle=True, random_state=0)
    splits = freeze_splits(cv, X, y, n_rows=n_rows, classifier=False)
    if method == "split":
        return splits[:1]
    check_partition(splits, n_rows)
    return splits
