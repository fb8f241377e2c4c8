"""Penalty factors: they act as different penalties would, and are parameters of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.tuning import PenaltyFactors

X, Y = load_diabetes(return_X_y=True)
GROUPS = {"first": [0, 1, 2], "others": [5, 6]}


def test_a_factor_multiplies_the_penalty():
    model = make_pipeline(PenaltyFactors(GROUPS, {"first": 4.0, "others": 0.1}), Ridge(alpha=0.5)).fit(X, Y)
    penalty = 0.5 * np.array([4, 4, 4, 1, 1, 0.1, 0.1, 1, 1, 1])
    centered = X - X.mean(axis=0)
    coefficients = np.linalg.solve(centered.T @ centered + np.diag(penalty), centered.T @ (Y - Y.mean()))
    np.testing.assert_allclose(model.predict(X), Y.mean() + centered @ coefficients)


def test_factors_are_parameters():
    step = PenaltyFactors(GROUPS)
    assert step.get_params() == {"groups": GROUPS, "factors": None, "factors__first": 1.0, "factors__others": 1.0}
    changed = clone(step).set_params(factors__first=3.0)
    assert clone(changed).get_params()["factors__first"] == 3.0
    assert step.factors is None
    assert (
        make_pipeline(step)
        .set_params(penaltyfactors__factors__others=2)
        .get_params()["penaltyfactors__factors__others"]
        == 2
    )
    with pytest.raises(InputError, match="no group 'third'"):
        step.set_params(factors__third=1.0)


def test_columns_by_name_and_sparse_tables():
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    by_name = PenaltyFactors({"a": ["c1", "c9"]}, {"a": 4.0}).fit(table)
    expected = X / np.where(np.isin(np.arange(10), [1, 9]), 2.0, 1.0)
    np.testing.assert_allclose(by_name.transform(table), expected)
    by_index = PenaltyFactors({"a": [1, 9]}, {"a": 4.0}).fit(sp.csr_array(X))
    np.testing.assert_allclose(by_index.transform(sp.csr_array(X)).toarray(), expected)


def test_errors_say_what_must_hold():
    for step, message in (
        (PenaltyFactors({"a": [0], "b": [0]}), "must not share columns"),
        (PenaltyFactors({"a": [17]}), "column 17"),
        (PenaltyFactors(GROUPS, {"first": 0.0}), "positive number, got 0"),
        (PenaltyFactors(GROUPS, {"none": 1.0}), "'none', which is not a group"),
    ):
        with pytest.raises(InputError, match=message):
            step.fit(X)
    with pytest.raises(FoldwiseTypeError, match="groups must be a mapping"):
        PenaltyFactors([1]).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it():
    check_estimator(PenaltyFactors())
