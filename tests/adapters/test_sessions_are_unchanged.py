"""No session that comes with Foldwise sets an attribute of its own while it answers: threads share sessions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from foldwise import Balanced, Calibrated, CostSensitive, Ensemble, KNNClassifier, NaiveBayes
from foldwise.folds import Need, RefitSession, open_session
from foldwise.folds.leave_one_out import answer_leave_one_out, answers_leave_one_out
from foldwise.folds.splits import LeaveOneOutSplits
from foldwise.folds.subset_session import SubsetRefitSession

ESTIMATORS = {
    "refit": (LogisticRegression(), {"C": 0.5}),
    "summaries": (GaussianNB(), {"var_smoothing": 0.1}),
    "stages": (RandomForestClassifier(4, random_state=0), {"n_estimators": 2}),
    "stages of histograms": (HistGradientBoostingClassifier(max_iter=4, random_state=0), {"max_iter": 2}),
    "pruning": (DecisionTreeClassifier(random_state=0), {"ccp_alpha": 0.1}),
    "decomposition": (LinearDiscriminantAnalysis(), {"priors": [0.4, 0.6]}),
    "quadratic": (QuadraticDiscriminantAnalysis(), {"reg_param": 0.1}),
    "neighbors": (KNeighborsClassifier(3), {"n_neighbors": 2}),
    "pipeline": (make_pipeline(StandardScaler(), GaussianNB()), {"gaussiannb__var_smoothing": 0.1}),
    "our naive Bayes": (NaiveBayes(), {"var_floor": 0.1}),
    "our neighbors": (KNNClassifier(n_neighbors=3), {"n_neighbors": 2}),
    "costs": (CostSensitive(NaiveBayes(), costs=[[0.0, 1.0], [2.0, 0.0]]), {"estimator__var_floor": 0.1}),
    "calibration": (Calibrated(NaiveBayes(), cv=2), {"estimator__var_floor": 0.1}),
    "balance": (Balanced(NaiveBayes(), method="over", random_state=0), {"estimator__var_floor": 0.1}),
    "ensemble": (Ensemble(NaiveBayes(), random_state=0), {"estimator__var_floor": 0.1}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_answering_sets_no_attribute(name, rng):
    estimator, setting = ESTIMATORS[name]
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    assert_unchanged(open_session(estimator, X, y), [{}, setting])


def test_counts_and_subsets(rng):
    X, y = rng.integers(0, 3, (60, 4)), np.arange(60) % 2
    assert_unchanged(open_session(CategoricalNB(min_categories=3), X, y), [{}, {"alpha": 0.5}])
    settings = [{"columns": (0, 2)}, {"columns": (1,)}]
    assert_unchanged(SubsetRefitSession(GaussianNB(), X, y), settings)
    subsets = open_session(NaiveBayes(), X.astype(float), y).subsets()
    assert subsets is not None
    assert_unchanged(subsets, settings)


def assert_unchanged(session, settings):
    before = dict(vars(session))
    need = Need.LABELS | Need.PROBA | Need.MODEL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for wanted in (Need.LABELS, need):
            for train in (np.arange(40), np.arange(20, 60)):
                list(session.answer(tuple(settings), train, np.setdiff1d(np.arange(60), train), wanted))
        splits = LeaveOneOutSplits(np.arange(60))
        if not isinstance(session, RefitSession) and answers_leave_one_out(session, settings[0], splits):
            list(answer_leave_one_out(session, settings, splits, Need.PROBA))
    after = vars(session)
    assert after.keys() == before.keys()
    assert [key for key in before if before[key] is not after[key]] == []
