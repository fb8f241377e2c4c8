"""What cannot work is refused in words that say what to do."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise import Ensemble, EnsembleRegressor, NaiveBayes
from foldwise.ensembles import (
    AdaBoost,
    Bootstrap,
    ColumnParts,
    Grading,
    OutputCodes,
    RowParts,
    Stacking,
    Subspaces,
    VariedParameters,
    Weighted,
)
from foldwise.errors import FoldwiseTypeError, InputError

X, Y = load_iris(return_X_y=True)
BAYES = GaussianNB()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Ensemble([]), "members must not be empty"),
        (Ensemble({}), "members must not be empty"),
        (Ensemble(None), "members must not be empty"),
        (Ensemble({"size": BAYES}), "'size' cannot be the name of a member, because it is a parameter"),
        (Ensemble({"a__b": BAYES}), "'a__b' cannot be the name of a member, because it contains two underscores"),
        (Ensemble([BAYES, LinearSVC()]), "needs predict_proba, but the member 'linearsvc' has none"),
        (Ensemble({"svm": SVC()}, combiner="log_mean"), "needs predict_proba, but the member 'svm' has none"),
        (Ensemble([LinearRegression()]), "must be a classifier"),
        (EnsembleRegressor([BAYES]), "must be a regressor"),
        (Ensemble(BAYES, combiner="average"), "combiner must be one of 'mean'"),
        (Ensemble(BAYES, diversity="boot"), "diversity must be one of 'bootstrap'"),
        (Ensemble(BAYES, diversity=["bootstrap", "cols"]), "diversity must be one of"),
        (Ensemble(BAYES, dependency="boosting"), "dependency must be one of"),
        (Ensemble(BAYES, size=0), "size must be an integer of at least 1"),
        (Ensemble(BAYES, n_jobs=0), "n_jobs"),
        (Ensemble(BAYES, combiner="sum"), "Sum adds numeric predictions"),
        (EnsembleRegressor(Ridge(), combiner="vote"), "combines classes, but y is numeric"),
        (EnsembleRegressor(Ridge(), dependency="residuals"), "use combiner='sum'"),
        (
            Ensemble(DecisionTreeClassifier(max_depth=1), dependency="adaboost", combiner="best"),
            "'mean', 'median' or 'vote'",
        ),
        (EnsembleRegressor(DecisionTreeRegressor(), dependency="decorate"), "Decorate needs a classification target"),
        (Ensemble(BAYES, diversity=Bootstrap(1.5)), "share must be a float above 0"),
        (Ensemble(BAYES, diversity=Bootstrap(by="row")), "by must be"),
        (Ensemble(BAYES, diversity=Subspaces(9)), "integer from 1 to 4"),
        (Ensemble(BAYES, diversity=RowParts(), size=151), "n_samples = 150 cannot be divided into 151 parts"),
        (Ensemble(BAYES, diversity=ColumnParts(), size=5), "n_features = 4 cannot be divided into 5 parts"),
        (Ensemble(BAYES, diversity=VariedParameters([])), "space is empty"),
        (Ensemble(BAYES, diversity=OutputCodes("rest")), "use combiner='decode'"),
        (EnsembleRegressor(Ridge(), diversity=OutputCodes("rest")), "OutputCodes needs a classification target"),
        (Ensemble([BAYES, BAYES], combiner=Weighted([1.0])), "one weight for each of the 2 members"),
        (Ensemble([BAYES, BAYES], combiner=Weighted([0.0, 0.0])), "not all 0"),
        (Ensemble([BAYES, BAYES], combiner=Weighted("merit")), "by must be"),
        (Ensemble(BAYES, dependency=AdaBoost(by="luck"), combiner="vote"), "by must be"),
        (Ensemble(BAYES, dependency=AdaBoost(learning_rate=0), combiner="vote"), "learning_rate must be above 0"),
    ],
)
def test_refused(model, words):
    y = Y if isinstance(model, Ensemble) else Y.astype(float)
    with pytest.raises(InputError, match=words):
        model.fit(X, y)


def test_types_that_are_none():
    with pytest.raises(FoldwiseTypeError, match="members must be estimators"):
        Ensemble([GaussianNB]).fit(X, Y)
    with pytest.raises(FoldwiseTypeError, match="random_state"):
        Ensemble(BAYES, random_state="7").fit(X, Y)


def test_weights_for_members_that_take_none():
    with pytest.raises(InputError, match="KNeighborsClassifier does not accept sample weights"):
        Ensemble([KNeighborsClassifier()]).fit(X, Y, np.ones(150))


def test_weights_for_a_combiner_that_takes_none():
    for combiner in (Stacking(KNeighborsClassifier(3)), Grading(KNeighborsClassifier(3))):
        with pytest.raises(InputError, match=r"KNeighborsClassifier\.fit does not accept"):
            Ensemble([BAYES], combiner=combiner).fit(X, Y, np.ones(150))


def test_columns_that_are_no_numbers_for_the_final_learner():
    frame = pl.DataFrame({"a": list("xyz") * 10, "b": range(30)})
    with pytest.raises(InputError, match="passthrough=True needs numeric columns"):
        Ensemble([NaiveBayes()], combiner=Stacking(passthrough=True)).fit(frame, list("pq") * 15)


def test_no_class_of_two_rows_has_no_folds():
    with pytest.raises(InputError, match="no class has more than one row"):
        Ensemble([BAYES], combiner="stacking").fit(X[[0, 60, 120]], Y[[0, 60, 120]])


def test_members_without_probabilities_vote():
    model = Ensemble([LinearSVC(), SVC(), BAYES], combiner="vote").fit(X, Y)
    assert model.score(X, Y) > 0.95
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
