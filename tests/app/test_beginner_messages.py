"""Messages for the mistakes of beginners name the argument that was passed, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from sklearn.datasets import load_iris

import foldwise
from foldwise import CostSensitive, KNNClassifier, NaiveBayes, RandomizedSearchCV, SearchCV
from foldwise.unsupervised import association_rules, describe_clusters

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
        (lambda: foldwise.open_model("tests"), "^'tests' is a folder, not a model file. Hint: pass a file written"),
        (lambda: foldwise.bias_corrected(NaiveBayes()), "out-of-fold predictions, got NaiveBayes[.] Hint"),
    ],
)
def test_what_must_hold_and_what_to_do(call: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        call()
