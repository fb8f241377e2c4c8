"""Confusion matrices against scikit-learn's, and what they say in words."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from foldwise.errors import InputError
from foldwise.evaluation import Confusion


def draw(rng, kind, n_classes=4, n=80):
    names = {"int": np.arange(3, 3 + n_classes), "text": np.array(list("wxyz")), "float": np.arange(n_classes) * 2.0}
    names["object"] = names["text"].astype(object)
    return names[kind][rng.integers(0, n_classes, n)], names[kind][rng.integers(0, n_classes - 1, n)]


@pytest.mark.parametrize("kind", ["int", "text", "float", "object"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_scikit_learn(rng, kind, weighted):
    truth, given = draw(rng, kind)
    weights = rng.exponential(size=len(truth)) if weighted else None
    confusion = Confusion.of(truth, given, sample_weight=weights)
    theirs = confusion_matrix(truth, given, sample_weight=weights)
    np.testing.assert_array_equal(confusion.counts, theirs)
    assert confusion.counts.dtype == theirs.dtype
    assert list(confusion.classes) == np.unique(truth).tolist()
    for ours, peer in (("truth", "true"), ("predicted", "pred"), ("all", "all")):
        shares = confusion_matrix(truth, given, sample_weight=weights, normalize=peer)
        np.testing.assert_allclose(confusion.normalized(ours).counts, shares, rtol=1e-12)
    rates = precision_recall_fscore_support(truth, given, sample_weight=weights, zero_division=0)
    table = confusion.per_class()
    assert table.columns == ["class", "precision", "recall", "f1", "support"]
    for name, expected in zip(table.columns[1:], rates, strict=True):
        np.testing.assert_allclose(table[name].to_numpy(), expected, rtol=1e-12)
    assert confusion.accuracy == pytest.approx(np.average(truth == given, weights=weights))


def test_the_iris_matrix(worked):
    matrix = np.array(worked["iris_confusion"]["matrix"])
    names = np.array(["setosa", "versicolor", "virginica"])
    truth, given = (np.repeat(names[axis.ravel()], matrix.ravel()) for axis in np.indices(matrix.shape))
    confusion = Confusion.of(truth, given)
    assert confusion.counts.tolist() == matrix.tolist()
    assert confusion.accuracy == worked["iris_confusion"]["accuracy"]
    assert str(confusion).splitlines() == [
        "truth \\ predicted  setosa  versicolor  virginica",
        "setosa                 50           0          0",
        "versicolor              0          44          6",
        "virginica               0           3         47",
        "",
        "class       precision  recall     f1  support",
        "setosa          1.000   1.000  1.000       50",
        "versicolor      0.936   0.880  0.907       50",
        "virginica       0.887   0.940  0.913       50",
        "accuracy 0.940 of 150 rows",
    ]


def test_named_axes():
    confusion = Confusion.of(["a", "b", "b"], ["b", "b", "a"])
    assert confusion.to_frame().to_dict(as_series=False) == {
        "truth": ["a", "b"],
        "predicted a": [0, 1],
        "predicted b": [1, 1],
    }


def test_classes_may_be_named():
    confusion = Confusion.of([1, 2], [2, 2], classes=[3, 2, 1])
    assert confusion.classes == (3, 2, 1)
    assert confusion.counts.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert Confusion.of([1, 2], [2, 2], classes=np.array([3, 2, 1])) == confusion
    assert confusion.rates()["f1"].tolist() == pytest.approx([0, 2 / 3, 0])
    assert Confusion.of([], [], classes=["a"]).counts.tolist() == [[0]]
    mixed = Confusion((1, "a"), [[1, 0], [1, 0]])
    assert mixed.to_frame()["truth"].to_list() == ["1", "a"]


def test_a_confusion_is_a_value():
    confusion = Confusion.of([1, 2], [2, 2])
    assert copy.deepcopy(confusion) == confusion
    assert confusion != Confusion.of([1, 2], [1, 2])
    assert confusion != 3
    for one in (confusion, copy.deepcopy(confusion)):
        with pytest.raises(ValueError, match="read-only"):
            one.counts[0, 0] = 1


def test_text_fits_80_columns(rng):
    truth = rng.integers(0, 25, 500)
    names = np.array([f"the species number {i} of many" for i in range(25)])
    text = str(Confusion.of(names[truth], names[rng.permutation(truth)], sample_weight=rng.exponential(size=500)))
    assert max(map(len, text.splitlines())) <= 80
    assert "…" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Confusion.of([1, 2], [1]), "y_true has 2 labels but y_pred has 1"),
        (lambda: Confusion.of([], []), "are empty"),
        (lambda: Confusion.of([1, 2], [1, 3], classes=[1, 2]), "labels '3' are not among"),
        (lambda: Confusion.of([1], [1], classes=[1, 1]), "twice"),
        (lambda: Confusion.of([1, None], [1, 1]), "missing"),
        (lambda: Confusion.of([0.5, 1.5], [1, 1]), "continuous"),
        (lambda: Confusion.of(["a"], [1]), "cannot be sorted"),
        (lambda: Confusion.of([1], [1], sample_weight=[-1]), "weight must be"),
        (lambda: Confusion.of([1], [1]).normalized("rows"), "'truth', 'predicted' or 'all', got 'rows'"),
        (lambda: Confusion((1, 2), [[1]]), "shape"),
        (lambda: Confusion((1,), [["a"]]), "must be numbers"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
