"""partial_fit, forget, a + b, weights: one model however its rows arrive. JSON: one model wherever it goes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from foldwise import NaiveBayes, Schema
from foldwise.errors import ForgetError, InputError
from tests.conftest import mixed_columns


@pytest.fixture
def table(rng):
    n = 240
    return pl.DataFrame(mixed_columns(rng, n)), np.array(["low", "mid", "high"])[rng.integers(0, 3, n)]


def equal(a, b, X, rtol=1e-11):
    np.testing.assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=rtol, atol=1e-12)


def test_classes_that_arrive_late(table):
    X, y = table
    order = np.argsort(y)
    model = NaiveBayes()
    for rows in np.array_split(order, 6):
        model.partial_fit(X[rows], y[rows])
    assert model.classes_.tolist() == ["high", "low", "mid"]
    equal(model, NaiveBayes().fit(X, y), X)


def test_classes_told_at_the_first_call(table):
    X, _ = table
    model = NaiveBayes().partial_fit(X[:2], ["low", "low"], classes=["low", "mid", "high", "top"])
    assert model.classes_.tolist() == ["high", "low", "mid", "top"]
    assert model.predict(X[:3]).tolist() == ["low"] * 3
    with pytest.raises(InputError, match="'odd'"):
        model.partial_fit(X[:1], ["odd"])
    with pytest.raises(InputError, match="pass all classes in the first call"):
        model.partial_fit(X[:1], ["low"], classes=["low", "mid"])


def test_fit_starts_anew(table):
    X, y = table
    model = NaiveBayes().fit(X, y)
    model.fit(X[:50].select("size"), y[:50])
    assert model.families_ == {"size": "gaussian"}


def test_merging_models_of_different_classes_and_categories():
    a = NaiveBayes().fit(pl.DataFrame({"c": ["x", "y"], "v": [1.0, 2.0]}), [0, 1])
    b = NaiveBayes().fit(pl.DataFrame({"c": ["z", "y"], "v": [5.0, 3.0]}), [2, 1])
    whole = NaiveBayes().fit(pl.DataFrame({"c": ["x", "y", "z", "y"], "v": [1.0, 2.0, 5.0, 3.0]}), [0, 1, 2, 1])
    Q = pl.DataFrame({"c": ["x", "y", "z", None], "v": [1.0, None, 4.0, 2.0]})
    for merged in (a + b, b + a):
        equal(merged, whole, Q)
        assert merged.classes_.tolist() == [0, 1, 2]
    assert a.classes_.tolist() == [0, 1]  # neither side is changed


def test_models_of_other_columns_do_not_merge(table):
    X, y = table
    model = NaiveBayes().fit(X, y)
    with pytest.raises(InputError, match="can be merged"):
        model + NaiveBayes().fit(X.drop("size"), y)
    with pytest.raises(TypeError):
        model + 1


def test_forget_is_exact_for_counts_and_undoes_categories(table):
    X, y = table
    X = X.select("color", "grade", "member")
    model = NaiveBayes().fit(X, y)
    before = model.to_json()
    strange = pl.DataFrame({"color": ["mauve"], "grade": ["z"], "member": [True]})
    model.partial_fit(strange, ["low"])
    assert model.to_json() != before
    model.forget(strange, ["low"])
    assert json.loads(model.to_json())["blocks"] == json.loads(before)["blocks"]
    model.forget(X[:100], y[:100])
    rest = NaiveBayes().fit(X[100:], y[100:])
    np.testing.assert_allclose(model.predict_log_proba(X), rest.predict_log_proba(X), rtol=1e-10)


def test_forget_with_weights_and_numbers(table, rng):
    X, y = table
    w = rng.exponential(size=len(y))
    model = NaiveBayes().fit(X, y, w).forget(X[:80], y[:80], w[:80])
    equal(model, NaiveBayes().fit(X[80:], y[80:], w[80:]), X, rtol=1e-9)


def test_forget_raises_where_it_cannot_be_exact_and_changes_nothing():
    X = pl.DataFrame({"income": [1.0, 2.0, 3.0, 1e12]})
    model = NaiveBayes().partial_fit(X, [0, 0, 0, 0])
    before = model.to_json()
    with pytest.raises(ForgetError, match=r"column 'income', class .*0.*fit the model again"):
        model.forget(X[3:], [0])
    assert model.to_json() == before
    with pytest.raises(ForgetError, match="than were learned"):
        model.forget(pl.concat([X, X]), [0] * 8)
    with pytest.raises(ForgetError, match="leave at least one row"):
        model.forget(X, [0] * 4)


def test_a_column_may_not_change_from_text_to_numbers(table):
    model = NaiveBayes(families="categorical").fit(pl.DataFrame({"a": ["1", "2"]}), [0, 1])
    numbers = pl.DataFrame({"a": [1, 2]})
    for call in (model.predict, lambda X: model.partial_fit(X, [0, 1]), lambda X: model.forget(X, [0, 1])):
        with pytest.raises(InputError, match="'a'"):
            call(numbers)


def test_whole_and_broken_numbers_are_one_category():
    model = NaiveBayes(families="categorical").fit(pl.DataFrame({"a": [1, 2, 2]}), [0, 1, 1])
    assert (model.predict_proba(pl.DataFrame({"a": [2.0]})) == model.predict_proba(pl.DataFrame({"a": [2]}))).all()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"alpha": 0.25, "missing": "category", "unseen": "smooth", "ddof": 0, "var_floor": 0.01, "n_jobs": 2},
        {"priors": [0.2, 0.3, 0.5], "families": {"rings": "categorical", "size": "gaussian"}},
        {"priors": {"low": 0.2, "mid": 0.3, "high": 0.5}},
    ],
)
def test_json_round_trip_is_exact(table, params):
    X, y = table
    model = NaiveBayes(**params).fit(X, y)
    text = model.to_json()
    again = NaiveBayes.from_json(text)
    assert again.to_json() == text
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-10)
    assert again.get_params() == model.get_params()
    assert again.schema_ == model.schema_
    assert str(again.table()) == str(model.table())
    more = again.partial_fit(X[:5], y[:5])
    np.testing.assert_allclose(more.predict_proba(X), model.partial_fit(X[:5], y[:5]).predict_proba(X), rtol=1e-10)


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", "b"], [1.0, 2.0], np.array([3, 5], dtype=np.int8)])
def test_json_keeps_the_type_of_labels(labels):
    model = NaiveBayes().fit(np.array([[0.0], [1.0]]), labels)
    again = NaiveBayes.from_json(model.to_json())
    assert again.classes_.dtype == model.classes_.dtype
    assert (again.predict([[0.9]]) == model.predict([[0.9]])).all()


def test_json_of_a_sparse_model_and_a_schema(rng):
    import scipy.sparse as sp

    X = sp.csr_array(rng.poisson(1.0, (20, 4)))
    model = NaiveBayes().fit(X, np.arange(20) % 2)
    np.testing.assert_allclose(
        NaiveBayes.from_json(model.to_json()).predict_proba(X), model.predict_proba(X), rtol=1e-10
    )
    frame = pl.DataFrame({"a": [1, 2, 1, 2]})
    schema = Schema.from_json('[{"name": "a", "kind": "categorical", "levels": [1, 2, 3]}]')
    declared = NaiveBayes(families=schema).fit(frame, [0, 1, 0, 0])
    assert declared.families_ == {"a": "categorical"}
    assert declared.table().to_frame()["0"].to_list()[1:] == ["3/6", "2/6", "1/6"]
    assert NaiveBayes.from_json(declared.to_json()).get_params()["families"] == schema


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"format": "foldwise.NaiveBayes", "version": 99}'])
def test_other_texts_are_refused(text):
    with pytest.raises(InputError):
        NaiveBayes.from_json(text)


def test_declared_levels_of_two_batches_are_joined():
    a = pd.DataFrame({"c": pd.Categorical(["x"], categories=["x", "y"])})
    b = pd.DataFrame({"c": pd.Categorical(["z"], categories=["z", "y"])})
    model = NaiveBayes().partial_fit(a, [0], classes=[0, 1]).partial_fit(b, [1])
    assert model.schema_["c"].levels == ("x", "y", "z")


@pytest.mark.parametrize("family", ["categorical", "poisson", "multinomial", "binomial", "kde", "binned", "text"])
def test_a_weight_that_rounding_spoilt_is_not_forgotten_silently(family):
    cells = ["ab cd", "ab cd", "ef gh", "ab cd"] if family in ("categorical", "text") else [1.0, 1.0, 2.0, 1.0]
    X, y = pl.DataFrame({"x": cells}), [0, 0, 0, 1]
    # a large weight was added to a small one, of which six digits are left; the class itself keeps a large weight
    model = NaiveBayes(families=family).fit(X, y, [1e7, 1e-3, 0.5e7, 1.0])
    before = model.to_json()
    if family not in ("poisson", "multinomial"):  # sums over all rows keep their digits
        with pytest.raises(ForgetError, match=r"column 'x'.* only 0\.00.* would remain"):
            model.forget(X[:1], y[:1], [1e7])
    with pytest.raises(ForgetError, match=r"only 0\.00.* would remain"):
        model.forget(X[[0, 2]], [0, 0], [1e7, 0.5e7])
    assert model.to_json() == before
    whole = NaiveBayes(families=family).fit(X, y, [1e12, 1, 1, 1]).forget(X[:1], y[:1], [1e12])
    np.testing.assert_allclose(
        whole.predict_proba(X), NaiveBayes(families=family).fit(X[1:], y[1:]).predict_proba(X), rtol=1e-10
    )


@pytest.mark.parametrize(("family", "name"), [("gamma", "mean"), ("kde", "weight")])
def test_stored_facts_that_kernels_would_divide_by_are_checked(family, name):
    stored = json.loads(NaiveBayes(families=family).fit([[1.0], [2.0], [3.0]], [0, 1, 1]).to_json())
    facts = stored["blocks"][0]["facts"]
    if family == "gamma":
        facts[name][0][0] = 0.0
    else:
        facts["columns"][0][name][0] = 0.0
    with pytest.raises(InputError, match="stored"):
        NaiveBayes.from_json(json.dumps(stored))
