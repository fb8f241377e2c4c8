"""No session that comes with Foldwise sets an attribute of its own while it answers: threads share sessions."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import is_regressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import HuberRegressor, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

import foldwise
from foldwise import (
    Balanced,
    Calibrated,
    CostSensitive,
    Ensemble,
    EnsembleRegressor,
    KNNClassifier,
    KNNRegressor,
    NaiveBayes,
)
from foldwise.folds import Failure, Need, RefitSession, open_session
from foldwise.folds.leave_one_out import answer_leave_one_out, answers_leave_one_out
from foldwise.folds.model_session import SubsetRefitSession
from foldwise.folds.protocol import FoldSession
from foldwise.folds.splits import LeaveOneOutSplits
from foldwise.models import TransformedTarget
from foldwise.models.coded_labels import CodedLabels
from foldwise.tuning.callbacks import ObservedSession

QUIET = {"verbose": False, "allow_writing_files": False}
ESTIMATORS = {
    "refit": (LogisticRegression(), {"C": 0.5}),
    "summaries": (GaussianNB(), {"var_smoothing": 0.1}),
    "stages": (RandomForestClassifier(4, random_state=0), {"n_estimators": 2}),
    "stages of histograms": (HistGradientBoostingClassifier(max_iter=4, random_state=0), {"max_iter": 2}),
    "pruning": (DecisionTreeClassifier(random_state=0), {"ccp_alpha": 0.1}),
    "decomposition": (LinearDiscriminantAnalysis(), {"priors": [0.4, 0.6]}),
    "quadratic": (QuadraticDiscriminantAnalysis(), {"reg_param": 0.1}),
    "gram": (RidgeClassifier(), {"alpha": 0.1}),
    "neighbors": (KNeighborsClassifier(3), {"n_neighbors": 2}),
    "pipeline": (make_pipeline(StandardScaler(), GaussianNB()), {"gaussiannb__var_smoothing": 0.1}),
    "our naive Bayes": (NaiveBayes(), {"var_floor": 0.1}),
    "our neighbors": (KNNClassifier(n_neighbors=3), {"n_neighbors": 2}),
    "our neighbors at two scales": (KNNClassifier(n_neighbors=3), {"scale": "standard"}),
    "costs": (CostSensitive(NaiveBayes(), costs=[[0.0, 1.0], [2.0, 0.0]]), {"estimator__var_floor": 0.1}),
    "calibration": (Calibrated(NaiveBayes(), cv=2), {"estimator__var_floor": 0.1}),
    "balance": (Balanced(NaiveBayes(), method="over", random_state=0), {"estimator__var_floor": 0.1}),
    "balancing weights": (Balanced(NaiveBayes(), method="weights"), {"estimator__var_floor": 0.1}),
    "ensemble": (Ensemble({"nb": NaiveBayes(), "knn": KNNClassifier()}), {"nb__var_floor": 0.1}),
    "bags": (BaggingClassifier(DecisionTreeClassifier(), 4, random_state=0), {"n_estimators": 2}),
    "LightGBM": (LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1), {"n_estimators": 2}),
    "XGBoost": (XGBClassifier(n_estimators=4, n_jobs=1), {"n_estimators": 2}),
    "CatBoost": (CatBoostClassifier(4, thread_count=1, random_state=0, **QUIET), {"iterations": 2}),
    "coded labels": (CodedLabels(LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1)), {"estimator__n_estimators": 2}),
}
REGRESSORS = {
    "refit": (HuberRegressor(), {"fit_intercept": False}),
    "gram": (Ridge(), {"alpha": 0.1}),
    "gram and descent": (Lasso(0.1), {"alpha": 0.2}),
    "gram without a penalty": (LinearRegression(), {"fit_intercept": False}),
    "votes": (AdaBoostRegressor(n_estimators=4, random_state=0), {"n_estimators": 2}),
    "stages": (GradientBoostingRegressor(n_estimators=4, random_state=0), {"n_estimators": 2}),
    "pruning": (DecisionTreeRegressor(random_state=0), {"ccp_alpha": 0.1}),
    "neighbors": (KNeighborsRegressor(3), {"n_neighbors": 2}),
    "our neighbors": (KNNRegressor(n_neighbors=3), {"n_neighbors": 2}),
    "pipeline": (make_pipeline(StandardScaler(), KNNRegressor(n_neighbors=3)), {"knnregressor__n_neighbors": 2}),
    "ensemble": (
        EnsembleRegressor({"knn": KNNRegressor(), "tree": DecisionTreeRegressor(random_state=0)}),
        {"knn__n_neighbors": 2},
    ),
    "a transformed target": (TransformedTarget(Ridge(), transform="yeo-johnson"), {"regressor__alpha": 0.1}),
    "LightGBM": (LGBMRegressor(n_estimators=4, n_jobs=1, verbose=-1), {"n_estimators": 2}),
    "XGBoost": (XGBRegressor(n_estimators=4, n_jobs=1), {"n_estimators": 2}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_answering_sets_no_attribute(name, rng):
    estimator, setting = ESTIMATORS[name]
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    assert_unchanged(open_session(estimator, X, y), [{}, setting])


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, rng):
    estimator, setting = REGRESSORS[name]
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    assert_unchanged(open_session(estimator, X, y), [{}, setting])


def test_counts_and_subsets(rng):
    X, y = rng.integers(0, 3, (60, 4)), np.arange(60) % 2
    assert_unchanged(open_session(CategoricalNB(min_categories=3), X, y), [{}, {"alpha": 0.5}])
    for session in subset_sessions(rng, X, y):
        assert_unchanged(session, [{"columns": (0, 2)}, {"columns": (1,)}])


def subset_sessions(rng, X, y):
    pipeline = open_session(make_pipeline(StandardScaler(), Ridge()), X, rng.normal(size=60))
    found = [SubsetRefitSession(GaussianNB(), X, y), open_session(NaiveBayes(), X.astype(float), y).subsets()]
    found += [open_session(RidgeClassifier(), X, y).subsets(), pipeline.subsets()]
    assert None not in found
    return found


def test_no_session_is_left_out(rng):
    modules = [importlib.import_module(one.name) for one in pkgutil.walk_packages(foldwise.__path__, "foldwise.")]
    classes = {one for module in modules for _, one in inspect.getmembers(module, inspect.isclass)}
    sessions = {one for one in classes if hasattr(one, "answer") and hasattr(one, "lazy")} - {FoldSession}
    X, y, values = rng.normal(size=(60, 4)), np.arange(60) % 2, rng.normal(size=60)
    opened = [open_session(estimator, X, y) for estimator, _ in ESTIMATORS.values()]
    opened += [open_session(estimator, X, values) for estimator, _ in REGRESSORS.values()]
    tested = {type(one) for one in [*opened, *subset_sessions(rng, rng.integers(0, 3, (60, 4)), y)]}
    bases = {base for one in sessions for base in one.__mro__[1:]}
    assert sessions - bases - tested - {ObservedSession} == set()  # it only tells callbacks about refits
    assert tested <= sessions


def assert_unchanged(session, settings):
    before = {name: (value, contents(value)) for name, value in vars(session).items()}
    described = session.shares, session.threads, session.order_free
    everything = Need.MODEL | (Need.VALUES if is_regressor(session.estimator) else Need.LABELS | Need.PROBA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for setting in settings:
            session.lazy(setting)
        for wanted in (everything & ~Need.MODEL, everything):
            for train in (np.arange(40), np.arange(20, 60)):
                blocks = session.answer(tuple(settings), train, np.setdiff1d(np.arange(60), train), wanted)
                assert [block for block in blocks if isinstance(block.answer, Failure)] == []
        splits = LeaveOneOutSplits(np.arange(60))
        if not isinstance(session, RefitSession) and answers_leave_one_out(session, settings[0], splits):
            list(answer_leave_one_out(session, settings, splits, Need.PROBA))
    after = vars(session)
    assert after.keys() == before.keys()
    replaced = [name for name, (value, _) in before.items() if after[name] is not value]
    filled = [name for name, (value, inside) in before.items() if contents(value) != inside]
    assert replaced == filled == []
    assert (session.shares, session.threads, session.order_free) == described


def contents(value):
    """What a plain container holds; what is kept on purpose has a class of its own, which threads may share."""
    return [id(one) for one in value] if isinstance(value, dict | list | set) else None
