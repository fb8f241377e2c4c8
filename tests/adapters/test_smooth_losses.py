"""Smooth losses: they equal those of scikit-learn's refits, and their gradients equal finite differences of these."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from foldwise.adapters import smooth_logistic
from foldwise.errors import InputError
from foldwise.folds.splits import Split, freeze_splits
from foldwise.tuning import PenaltyFactors
from foldwise.tuning.smooth_losses import SearchData, open_smooth_loss, smooth_names

CANCER, WINE, DIABETES = (load(return_X_y=True) for load in (load_breast_cancer, load_wine, load_diabetes))
FEW = CANCER[0][:200, :12], CANCER[1][:200]
STEP = 1e-4  # of the logarithm


def logistic(**params):
    """Solved so precisely that finite differences show the derivative."""
    return LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000, **params)


def loss_of(model, X, y):
    """The loss of a fitted model on test rows."""
    if is_regressor(model):
        return mean_squared_error(y, model.predict(X))
    if hasattr(model, "predict_proba"):
        return log_loss(y, model.predict_proba(X), labels=model.classes_)
    scores = model.decision_function(X)
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    return np.mean((scores - (signs if scores.ndim > 1 else signs[:, 1])) ** 2)


def refitted_loss(estimator, X, y, values, splits, weight_name=None, weight=None):
    losses = []
    for train, test in splits:
        params = {} if weight is None else {weight_name: weight[train]}
        model = clone(estimator).set_params(**values).fit(X[train], y[train], **params)
        losses.append(loss_of(model, X[test], y[test]))
    return np.mean(losses)


def check_against_refits(estimator, X, y, values, *, tolerance=1e-4, weight_name=None):
    cv = KFold(4, shuffle=True, random_state=0)
    splits = list((cv if is_regressor(estimator) else StratifiedKFold(4)).split(X, y))
    weight = None if weight_name is None else np.random.default_rng(0).random(len(y))
    options = {} if weight is None else {weight_name: weight}
    data = SearchData(estimator, X, y, [Split(*one) for one in splits], options)
    assert values.keys() <= smooth_names(estimator)
    loss, gradient = open_smooth_loss(estimator, data.folds(), list(values)).loss_and_gradient(values)
    assert loss == pytest.approx(refitted_loss(estimator, X, y, values, splits, weight_name, weight), rel=1e-7)
    for name, value in values.items():
        around = [
            refitted_loss(estimator, X, y, {**values, name: value * np.exp(h)}, splits, weight_name, weight)
            for h in (STEP, -STEP)
        ]
        assert gradient[name] == pytest.approx((around[0] - around[1]) / (2 * STEP), rel=tolerance)


@pytest.mark.parametrize("C", [0.01, 3.0])
@pytest.mark.parametrize(
    "options", [{}, {"class_weight": "balanced"}, {"class_weight": {0: 3.0, 1: 1.0, 2: 2.0}, "fit_intercept": False}]
)
def test_logistic_regression_with_two_and_three_classes(C, options):
    for X, y in (FEW, WINE):
        two = (
            {**options, "class_weight": {0: 3.0, 1: 1.0}} if isinstance(options.get("class_weight"), dict) else options
        )
        model = make_pipeline(StandardScaler(), logistic(**(options if len(set(y)) > 2 else two)))
        check_against_refits(model, X, y, {"logisticregression__C": C})


def test_logistic_regression_with_weights():
    model = make_pipeline(MinMaxScaler(), logistic(class_weight="balanced"))
    check_against_refits(model, *WINE, {"logisticregression__C": 2.0}, weight_name="logisticregression__sample_weight")


def test_conjugate_gradients_solve_large_systems(monkeypatch):
    monkeypatch.setattr(smooth_logistic, "MOST_DENSE", 0)
    for X, y in (FEW, WINE):
        check_against_refits(make_pipeline(StandardScaler(), logistic()), X, y, {"logisticregression__C": 0.1})


@pytest.mark.parametrize("n_rows", [442, 10])  # with 10 rows there are more columns than training rows
@pytest.mark.parametrize("weight_name", [None, "sample_weight"])
def test_ridge(n_rows, weight_name):
    X, y = (part[:n_rows] for part in DIABETES)
    check_against_refits(Ridge(), X, y, {"alpha": 0.3}, weight_name=weight_name)
    check_against_refits(Ridge(fit_intercept=False), X, y, {"alpha": 0.01})


def test_ridge_with_several_targets():
    X, y = DIABETES
    check_against_refits(Ridge(), X, np.column_stack([y, X[:, 0] * y]), {"alpha": 0.1})


def test_ridge_classifier():
    for X, y in (FEW, WINE):
        model = make_pipeline(StandardScaler(), RidgeClassifier(class_weight="balanced"))
        check_against_refits(model, X, y, {"ridgeclassifier__alpha": 5.0})


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("weight_name", [None, "sample_weight"])
def test_kernel_ridge(kernel, weight_name):
    X, y = (part[:150] for part in DIABETES)
    model = KernelRidge(kernel=kernel)
    check_against_refits(model, X, y, {"alpha": 0.3, "gamma": 2.0}, weight_name=weight_name)
    check_against_refits(model.set_params(gamma=None), X, y, {"alpha": 0.01})


def test_kernel_ridge_with_other_kernels():
    X, y = (part[:150] for part in DIABETES)
    for model in (KernelRidge(kernel="poly", degree=2, gamma=0.5), KernelRidge(kernel="linear")):
        check_against_refits(model, X, y, {"alpha": 0.3})


def test_the_least_squares_machine_of_two_classes():
    X, y = (part[:200] for part in CANCER)
    model = make_pipeline(MinMaxScaler(), KernelRidge(kernel="rbf"))
    check_against_refits(model, X, 2.0 * y - 1, {"kernelridge__alpha": 0.1, "kernelridge__gamma": 0.4})


def test_steps_that_learn_from_the_target_are_fitted_in_each_split():
    model = make_pipeline(StandardScaler(), SelectKBest(k=5), logistic())
    check_against_refits(model, *CANCER, {"logisticregression__C": 1.0})


@pytest.mark.parametrize("strength", [True, False])
def test_penalty_factors_of_groups(strength):
    groups = {"first": [0, 1, 2, 3], "others": [5, 7, 8]}
    values = {"penaltyfactors__factors__first": 0.2, "penaltyfactors__factors__others": 7.0}
    model = make_pipeline(StandardScaler(), PenaltyFactors(groups, {"others": 3.0}), logistic())
    for X, y in (FEW, WINE):
        check_against_refits(model, X, y, values | ({"logisticregression__C": 0.1} if strength else {}))
    X, y = (part[:120] for part in DIABETES)
    ridge = make_pipeline(PenaltyFactors(groups), Ridge(alpha=0.1))
    check_against_refits(ridge, X, y, values | ({"ridge__alpha": 0.2} if strength else {}))
    kernel = make_pipeline(PenaltyFactors(groups), KernelRidge(kernel="rbf", gamma=5.0, alpha=0.2))
    more = {"kernelridge__alpha": 0.3, "kernelridge__gamma": 6.0} if strength else {}
    check_against_refits(kernel, X, y, values | more)
    assert not any("factors" in name for name in smooth_names(kernel.set_params(kernelridge__kernel="laplacian")))


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (logistic(), {"C": 0.7}),
        (Ridge(tol=1e-13), {"alpha": 0.4}),  # conjugate gradients, as the columns are sparse
        (KernelRidge(kernel="rbf", gamma=None), {"alpha": 0.4}),
        (RidgeClassifier(tol=1e-13), {"alpha": 2.0}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_encoders_make_other_columns_in_other_splits(model, values):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((90, 2)) < 0.05, rng.integers(5, 40, (90, 2)), rng.integers(0, 3, (90, 2)))  # rare levels
    y = (X[:, 0] + rng.normal(size=90) > 1).astype(int)
    whole = make_pipeline(OneHotEncoder(handle_unknown="ignore"), model)
    name = type(model).__name__.lower()
    data = SearchData(whole, X, y, [Split(*one) for one in StratifiedKFold(4).split(X, y)])
    widths = {OneHotEncoder().fit_transform(fold.X_train).shape[1] for fold in data.folds()}
    assert len(widths) > 1
    check_against_refits(whole, X, y, {f"{name}__{key}": value for key, value in values.items()})


def test_one_of_two_penalty_factors():
    model = make_pipeline(PenaltyFactors({"a": [0, 1], "b": [2, 3]}, {"a": 5.0}), Ridge(alpha=0.1))
    check_against_refits(model, *DIABETES, {"penaltyfactors__factors__b": 2.0})


def test_penalty_factors_after_a_selection_of_columns():
    X, y = DIABETES
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    model = make_pipeline(SelectKBest(k=5), PenaltyFactors({"a": ["c0", "c2"]}), Ridge()).set_output(transform="pandas")
    data = SearchData(model, table, y, [Split(*one) for one in KFold(3).split(X)])
    with pytest.raises(InputError, match=r"column 'c0'|same groups"):
        open_smooth_loss(model, data.folds(), ["penaltyfactors__factors__a"])


def test_the_loss_of_equal_folds_is_that_of_cross_val_predict():
    X, y = (part[:500] for part in CANCER)
    splits = list(StratifiedKFold(5).split(X, y))
    model = make_pipeline(StandardScaler(), logistic())
    data = SearchData(model, X, y, [Split(*one) for one in splits])
    loss, _ = open_smooth_loss(model, data.folds(), []).loss_and_gradient({})
    assert loss == pytest.approx(log_loss(y, cross_val_predict(model, X, y, cv=splits, method="predict_proba")))


def test_losses_do_not_depend_on_earlier_questions():
    X, y = WINE
    data = SearchData(logistic(), X / X.max(axis=0), y, [Split(*one) for one in StratifiedKFold(3).split(X, y)])
    used = open_smooth_loss(logistic(), data.folds(), ["C"])
    for C in (1e-4, 1e4, 10.0):
        loss, gradient = used.loss_and_gradient({"C": C})
        fresh = open_smooth_loss(logistic(), data.folds(), ["C"]).loss_and_gradient({"C": C})
        assert (loss, gradient["C"]) == pytest.approx((fresh[0], fresh[1]["C"]), rel=1e-6)


def test_a_class_that_is_missing_from_training_rows_is_impossible():
    X, y = WINE[0][:, :4], WINE[1]
    train, test = np.flatnonzero(y < 2), np.flatnonzero(y == 2)
    data = SearchData(logistic(), X, y, [Split(train, np.append(test, train[:5]))])
    loss, gradient = open_smooth_loss(logistic(), data.folds(), ["C"]).loss_and_gradient({"C": 1.0})
    model = logistic().fit(X[train], y[train])
    known = -model.predict_log_proba(X[train[:5]])[:, 0].sum()  # rows of class 0
    constant = -np.log(np.finfo(float).eps)
    assert loss == pytest.approx((known + constant * len(test)) / (len(test) + 5))
    assert gradient["C"] != 0


def test_leave_one_out_becomes_ten_folds():
    X, y = (part[:53] for part in DIABETES)
    splits = freeze_splits(LeaveOneOut(), X, y, None, n_rows=53, classifier=False)
    folds = SearchData(Ridge(), X, y, splits).folds()
    assert len(folds) == 10
    assert sorted(value for fold in folds for value in fold.y_test) == sorted(y)


def test_what_is_not_smooth():
    assert smooth_names(LogisticRegression(l1_ratio=0.5, solver="saga")) == set()
    assert smooth_names(LogisticRegression(solver="liblinear")) == set()
    assert smooth_names(Ridge(positive=True)) == set()
    assert smooth_names(KernelRidge(kernel="poly")) == {"alpha"}
    assert smooth_names(KernelRidge(kernel="precomputed")) == set()

    class Own(Ridge):
        """A subclass may be fitted differently."""

    assert smooth_names(Own()) == set()


def test_errors_say_what_to_do():
    X, y = DIABETES
    X = X.copy()
    X[0, 0] = np.nan
    splits = [Split(*one) for one in KFold(3).split(X)]
    with pytest.raises(InputError, match="SimpleImputer"):
        open_smooth_loss(Ridge(), SearchData(Ridge(), X, y, splits).folds(), ["alpha"])
    data = SearchData(Ridge(), *DIABETES, splits, {"other": 1})
    with pytest.raises(InputError, match="only sample_weight to Ridge, not 'other'"):
        open_smooth_loss(Ridge(), data.folds(), ["alpha"])
    one_class = SearchData(logistic(), *CANCER, [Split(np.arange(10), np.arange(10, 500))])
    with pytest.raises(InputError, match="at least two classes"):
        open_smooth_loss(logistic(), one_class.folds(), ["C"])
