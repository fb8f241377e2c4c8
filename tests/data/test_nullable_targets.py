"""Whole-number classes stay whole numbers, although nullable types and missing cells tend to make them floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from foldwise import GridSearchCV, KNNClassifier, NaiveBayes, cross_val_predict
from tests.app.fakes import fake_fit

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.normal(size=60)})
y = pd.Series(np.where(X["a"] > 0, 7, 3), dtype="Int64", name="stars")
MODELS: list[Any] = [NaiveBayes(), KNNClassifier(), GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=2)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_models_predict_whole_numbers(model: Any) -> None:
    fitted = model.fit(X, y)
    for found in (fitted.classes_, fitted.predict(X), cross_val_predict(model, X, y, cv=2)):
        assert found.dtype.kind in "iu"
        assert set(found.tolist()) == {3, 7}


def test_a_run_predicts_whole_numbers() -> None:
    missing = y.copy()
    missing[:4] = pd.NA
    for target in (y, missing):
        run = fake_fit(X.assign(stars=target), target="stars", models=["naive_bayes"], cv=3, drop_unlabeled=True)
        assert run.task.classes.tolist() == [3, 7]
        assert run.predict(X).dtype.kind in "iu"
