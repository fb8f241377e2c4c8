"""Targets with several columns are refused by name, wherever a target is passed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from foldwise import (
    Calibrated,
    Conformal,
    CostSensitive,
    GridSearchCV,
    KNNClassifier,
    KNNRegressor,
    NaiveBayes,
    SelectFeatures,
    choose_k,
    compare,
    estimate,
    learning_curve,
    nested_cv,
    validation_curve,
)
from foldwise.rules import RuleList

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
    lambda y: Conformal(NaiveBayes()).fit(X, y),
    lambda y: Conformal(KNNRegressor()).fit(X, y),
    lambda y: CostSensitive(NaiveBayes()).fit(X, y),
    lambda y: CostSensitive(DecisionTreeClassifier()).fit(X, y),
    lambda y: SelectFeatures(NaiveBayes(), cv=2).fit(X, y),
    lambda y: RuleList().fit(X, y),
    lambda y: learning_curve(NaiveBayes(), X, y, cv=2),
    lambda y: GridSearchCV(KNNRegressor(), {"n_neighbors": [1, 3]}, cv=2).fit(X, y),
    lambda y: validation_curve(KNNClassifier(), X, y, "n_neighbors", [1, 3], cv=2),
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
