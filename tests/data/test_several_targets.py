"""Targets with several columns are refused by name, wherever a target is passed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from foldwise import (
    Calibrated,
    GridSearchCV,
    KNNClassifier,
    KNNRegressor,
    NaiveBayes,
    choose_k,
    compare,
    estimate,
    nested_cv,
)

X, y = load_iris(return_X_y=True)
SEVERAL = np.column_stack([y, y])
SEARCH = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=2)
CALLS: list[Any] = [
    *(lambda y, model=model: model.fit(X, y) for model in (NaiveBayes(), KNNClassifier(), KNNRegressor())),
    lambda y: Calibrated(NaiveBayes()).fit(X, y),
    lambda y: SEARCH.fit(X, y),
    lambda y: estimate(NaiveBayes(), X, y),
    lambda y: nested_cv(SEARCH, X, y),
    lambda y: compare([NaiveBayes(), KNNClassifier()], X, y),
    lambda y: choose_k(X, y),
]


@pytest.mark.parametrize("call", CALLS)
def test_several_targets_are_refused_by_name(call: Any) -> None:
    with pytest.raises(ValueError, match="multi-output"):
        call(SEVERAL)


def test_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"\(multi-output\) are not supported: 'yield', 'price'"):
        KNNRegressor().fit(X, pd.DataFrame({"yield": y, "price": y}))
    with pytest.raises(ValueError, match="multi-output"):
        NaiveBayes().fit(X, SEVERAL.tolist())
