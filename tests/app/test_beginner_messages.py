"""Messages for the mistakes of beginners name the argument that was passed, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge

import foldwise
from foldwise import CostSensitive, KNNClassifier, NaiveBayes, RandomizedSearchCV, SearchCV
from foldwise.errors import InputError
from foldwise.unsupervised import association_rules, describe_clusters, frequent_itemsets

X, y = load_iris(return_X_y=True)
FRAME = pl.DataFrame(X, schema=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: foldwise.explore(5), "^the table must be a path, a frame, an array or a Table, got int"),
        (
            lambda: foldwise.fit({"a": [1, 2]}, target="a"),
            "^the table must be a path, a frame, an array or a Table, got dict",
        ),
        (
            lambda: foldwise.fit(X, y, test=(X, y)),
            "^the test table must be .* got tuple. Hint: pass one with the target",
        ),
        (lambda: foldwise.fit(X, y, test=X), "^the test table has no column 'target'. Hint: add the target to it"),
        (lambda: foldwise.fit(X), "^the column to predict was not given. Hint: pass y, the values to predict"),
        (lambda: foldwise.fit(X, y, metric="rmse"), "the task is classification. Hint: .*, matthews_corrcoef.$"),
        (lambda: foldwise.fit(X, y, models="knn, bayess"), "^there is no model called 'bayess'"),
        (lambda: foldwise.Calibrated(NaiveBayes).fit(X, y), "must be a classifier, got the class NaiveBayes. Hint"),
        (lambda: describe_clusters(FRAME, [1, 2]), r"^labels must have one value per row \(150\), got 2"),
        (lambda: association_rules(FRAME[["a"]]), "but only one column has values that vary"),
        (lambda: SearchCV(NaiveBayes(), [1, 2]).fit(X, y), "^Parameter grid is not a dict"),
        (lambda: RandomizedSearchCV(NaiveBayes(), {"alpha": [1]}, n_iter=0).fit(X, y), "^n_iter must be an integer of"),
        (lambda: CostSensitive(NaiveBayes(), costs="c.csv").fit(X, y), r"Hint: pass CostMatrix.from_csv\('c.csv'\)"),
        (
            lambda: KNNClassifier(metric="euclidean").fit([["a"], ["b"]], [0, 1]),
            "^column 'x0' must be numeric, but row",
        ),
        (lambda: foldwise.save_model("none/m.foldwise", NaiveBayes().fit(X, y), X), "^the folder 'none' of the model"),
        (lambda: foldwise.open_model("tests"), "^'tests' is a folder, not a model file. Hint: pass a model file, such"),
        (lambda: foldwise.bias_corrected(NaiveBayes()), "out-of-fold predictions, got NaiveBayes[.] Hint"),
    ],
)
def test_what_must_hold_and_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_baskets_may_be_lists_of_items() -> None:
    baskets = [["bread", "milk"], ["milk"], ["bread", "milk", "tea"]] * 20
    found = frequent_itemsets(baskets, min_support=0.5)
    assert found.to_frame()["items"].to_list() == [["milk"], ["bread"], ["bread", "milk"]]
    assert "3 itemsets in at least 0.5 of 60 rows, below all with at least two items" in repr(found)
    assert association_rules(baskets).to_frame().height > 0


def test_missing_cells_of_clusters_are_advised_without_an_argument_that_does_not_exist() -> None:
    gaps = X.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(InputError, match="Hint: fill the missing cells"):
        foldwise.choose_clusters(gaps)
    with pytest.raises(InputError, match="Hint: pass missing='partial'"):
        foldwise.KMeans(2).fit(gaps)


def test_an_unfitted_model_is_not_calibrated() -> None:
    with pytest.raises(NotFittedError):
        foldwise.Calibrated(FrozenEstimator(LogisticRegression())).fit(X, y)


def test_metrics_by_their_own_names() -> None:
    given = foldwise.estimate(NaiveBayes(), X, y, cv=2, scoring="log_loss")
    assert given.value == foldwise.estimate(NaiveBayes(), X, y, cv=2, scoring="neg_log_loss").value
    search = foldwise.GridSearchCV(NaiveBayes(), {"alpha": [1.0]}, cv=2)
    assert foldwise.nested_cv(search, X, y, cv=2, scoring="log_loss").scores.max() < 0
    assert foldwise.estimate(Ridge(), X[:, :3], X[:, 3], cv=2, scoring="rmse").value < 0


def test_all_outer_folds_that_fail_are_an_error() -> None:
    search = foldwise.GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    with pytest.raises(InputError, match=r"all 2 outer folds failed.*scoring='roc_auc_ovr'"):
        foldwise.nested_cv(search, X, y, cv=2, scoring="roc_auc")


def test_models_of_one_class_are_told_apart() -> None:
    text = str(foldwise.compare([KNNClassifier(n_neighbors=1), KNNClassifier(n_neighbors=9)], X, y, cv=2))
    assert "KNNClassifier 1" in text
    assert "KNNClassifier 2" in text
