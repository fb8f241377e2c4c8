"""Leaks on noise labels: done wrong they show, done through Foldwise the area is 0.5."""

from __future__ import annotations

import numpy as np
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.pipeline import make_pipeline
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from foldwise import GridSearchCV, cross_predict, nested_cv
from foldwise.folds import open_session
from foldwise.testing import check_foldable
from tests.evaluation.leaks.cases import CASES, SEEDS, noise

SHOWN = 0.03  # what a leak adds at least


@pytest.mark.parametrize("case", CASES, ids=[f"{case.name}: {case.how}" for case in CASES])
@pytest.mark.slow  # a simulation of 20 tables
def test_done_through_foldwise_nothing_leaks(case):
    wrong, right = case.means()
    assert len(wrong) == len(right) == 20
    assert abs(right.mean() - 0.5) <= 0.02
    assert right.std(ddof=1) / np.sqrt(len(SEEDS)) < 0.0067  # or 0.02 would be no test
    if case.leaks:
        assert wrong.mean() > 0.5 + SHOWN
        assert (wrong > right).mean() >= 0.9
    else:
        assert abs(wrong.mean() - right.mean()) < 0.005


@pytest.mark.parametrize("case", [case for case in CASES if case.looked], ids=lambda case: case.name)
def test_what_can_be_seen_in_rows_is_named(case):
    name = {"oversampling before the split": "duplicates"}.get(case.name, case.name.split()[0])
    found = case.looked(0)
    assert [leak.name for leak in found.of("leak")] == [name]


@pytest.mark.parametrize("sampler", [RandomOverSampler(random_state=0), SMOTE(random_state=0, k_neighbors=3)])
def test_pipelines_of_imbalanced_learn_are_refitted_by_the_law(sampler):
    X, y, _ = noise(0, n=150, share=0.25)
    model = make_pipeline(StandardScaler(), sampler, KNeighborsClassifier())
    assert open_session(model, X, y).shares == "refit"
    settings = [{"kneighborsclassifier__n_neighbors": k} for k in (1, 5)]
    cv = StratifiedKFold(3)
    check_foldable(model, X, y, settings, list(cv.split(X, y)))
    ours = cross_predict(model, X, y, cv=cv, setting=settings, method="predict_proba")
    for setting, proba in zip(settings, ours, strict=True):
        theirs = cross_val_predict(clone(model).set_params(**setting), X, y, cv=cv, method="predict_proba")
        np.testing.assert_array_equal(proba, theirs)
    search = GridSearchCV(model, {"kneighborsclassifier__n_neighbors": [1, 5]}, cv=3, scoring="roc_auc")
    assert nested_cv(search, X, y, cv=cv).models_scored == 3 * (2 * 3 + 1)
