"""Failed calls leave models as they were; files and tables in disguise are seen through; threads change nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed

from foldwise import Column, NaiveBayes, Schema
from foldwise.errors import FoldwiseError, FoldwiseTypeError, FoldwiseWarning, ForgetError, InputError
from foldwise.summaries.passes import n_threads


def test_a_failed_call_changes_nothing(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = NaiveBayes().fit(X, y)
    before = model.to_json()
    bad = np.full((20, 5), np.inf)
    for call in (
        lambda: model.fit(bad, y),
        lambda: model.partial_fit(bad[:, :2], y),
        lambda: model.forget(X + 1e9, y),
        lambda: model.fit(X, y, sample_weight=-np.ones(20)),
    ):
        with pytest.raises(FoldwiseError):
            call()
        assert model.to_json() == before
    fixed = NaiveBayes(priors=[0.5, 0.5]).fit(pd.DataFrame({"c": pd.Categorical(["a", "b"])}), [0, 1])
    before = fixed.to_json()
    with pytest.raises(InputError, match="priors"):
        fixed.partial_fit(pd.DataFrame({"c": pd.Categorical(["z"])}), [2])
    assert fixed.to_json() == before


def test_a_stored_model_keeps_the_parameters_it_was_fitted_with(rng):
    X, y = pl.DataFrame({"c": ["a", "b", "a", "b"]}), [0, 1, 1, 1]
    model = NaiveBayes(alpha=1.0).fit(X, y)
    expected = model.predict_proba(X).tolist()
    model.set_params(alpha=50.0)
    np.testing.assert_allclose(NaiveBayes.from_json(model.to_json()).predict_proba(X), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m["blocks"][0]["facts"]["weight"].append([1.0, 1.0]),
        lambda m: m["blocks"][0]["facts"].pop("m2"),
        lambda m: m["blocks"][0].update(columns=[0]),
        lambda m: m["blocks"][0].update(columns=[0, 7]),
        lambda m: m["blocks"][0].update(family="evil"),
        lambda m: m.update(class_weight=[-1.0, float("nan")]),
        lambda m: m.update(class_weight=[1.0]),
        lambda m: m.pop("schema"),
        lambda m: m["params"].update(evil=1),
        lambda m: m["classes"].update(dtype="V8"),
        lambda m: m.update(log_prior=[0.5, float("nan")]),
        lambda m: m["setting"].update(alpha=-1),
        lambda m: m.update(class_weight=[10**400, 1]),
        lambda m: m.update(backend="x"),
        lambda m: m.update(feature_names_in=["a", "b"]),
    ],
)
def test_damaged_files_are_refused(damage, rng):
    model = NaiveBayes().fit(rng.normal(size=(20, 2)), np.arange(20) % 2)
    stored = json.loads(model.to_json())
    damage(stored)
    with pytest.raises(FoldwiseError):
        NaiveBayes.from_json(json.dumps(stored))


def test_cells_stored_twice_are_summed():
    twice = sp.csr_array((np.ones(4), [0, 0, 0, 1], [0, 3, 4]), shape=(2, 2))
    with pytest.raises(InputError, match="'x0' must contain only 0 and 1, got 3"):
        NaiveBayes(families="bernoulli").fit(twice, [0, 1])
    model = NaiveBayes().fit(twice, [0, 1])
    assert (model.predict_proba(twice) == model.predict_proba(twice.toarray())).all()
    with pytest.raises(InputError, match="got nan"):
        NaiveBayes().fit(sp.csr_array([[np.nan, 1.0], [1.0, 0.0]]), [0, 1])


def test_explain_refuses_what_predict_refuses():
    marks = NaiveBayes(families="bernoulli").fit([[0, 1], [1, 0]], [0, 1])
    counts = NaiveBayes(families="multinomial").fit([[0, 1], [1, 0]], [0, 1])
    numbers = NaiveBayes().fit([[0.0, 1], [1, 0]], [0, 1])
    for model, row in (
        (marks, [0.5, 1]),
        (marks, [-1, 1]),
        (counts, [-3, 0]),
        (counts, [np.inf, 0]),
        (numbers, [np.inf, 0]),
    ):
        for call in (model.predict, model.predict_proba, model.explain):
            with pytest.raises(InputError, match="x0"):
                call([row])
    for family in ("categorical",):
        model = NaiveBayes(families=family).fit([[0.0], [1.0]], [0, 1])
        with pytest.raises(InputError, match="inf"):
            model.predict([[np.inf]])


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_threads_and_odd_weights_change_nothing(missing, rng):
    n = 60_000
    X = np.c_[rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 5, n)].astype(float)
    families = {0: "categorical", 1: "bernoulli", 2: "gaussian"}
    y, w = rng.integers(0, 2, n), np.full(n, 0.1)
    models = [NaiveBayes(families=families, alpha=0.0, missing=missing, n_jobs=k).fit(X, y, w) for k in (1, 2, 3)]
    shown = [model.table().to_frame()["parameter"].to_list() for model in models]
    assert shown[0] == shown[1] == shown[2]
    assert "(missing)" not in shown[0]
    for model in models[1:]:
        np.testing.assert_allclose(model.predict_log_proba(X[:500]), models[0].predict_log_proba(X[:500]), rtol=1e-9)


def test_one_thread_inside_a_worker():
    assert n_threads(3) == 3
    for prefer in ("threads", "processes"):
        assert Parallel(n_jobs=2, prefer=prefer)(delayed(n_threads)(None) for _ in range(2)) == [1, 1]
    for n_jobs in (0, "a", 1.5):
        with pytest.raises(InputError, match="n_jobs"):
            NaiveBayes(n_jobs=n_jobs).fit(np.eye(2), [0, 1])


def test_merging_is_commutative_in_declared_levels():
    text = NaiveBayes().fit(pd.DataFrame({"c": ["a", "b", "a"]}), [0, 1, 1])
    declared = NaiveBayes().fit(pd.DataFrame({"c": pd.Categorical(["a", "b", "c"], list("abcd"))}), [0, 1, 0])
    Q = pd.DataFrame({"c": ["a", "b", "c"]})
    np.testing.assert_allclose((text + declared).predict_proba(Q), (declared + text).predict_proba(Q), rtol=1e-14)
    assert sum([text, declared]).class_count_.tolist() == [3, 3]
    schema = Schema((Column("c", "categorical", ("a", "b", "c")),))
    wide = pd.DataFrame({"c": pd.Categorical(["a", "b", "c", "a"], list("abcd"))})
    whole = NaiveBayes(families=schema).fit(wide, [0, 1, 0, 1])
    parts = NaiveBayes(families=schema).partial_fit(wide[:2], [0, 1]).partial_fit(wide[2:], [0, 1])
    np.testing.assert_allclose(whole.predict_proba(wide), parts.predict_proba(wide), rtol=1e-10)
    with pytest.raises(InputError, match="'c' contains numbers"):
        NaiveBayes(families=schema).fit(pd.DataFrame({"c": [1, 2]}), [0, 1])


def test_a_class_keeps_its_column_whatever_it_is_called():
    labels = ["attribute", "class attribute", "parameter", "x"]
    frame = NaiveBayes().fit(np.arange(4.0)[:, None], labels).table().to_frame()
    assert len(frame.columns) == 6


def test_tables_in_disguise(rng):
    masked = np.ma.MaskedArray([[1.0, 999.0], [3.0, 2.0], [4.0, 3.0]], mask=[[0, 1], [0, 0], [0, 0]])
    y = [0, 1, 1]
    gaps = np.array([[1.0, np.nan], [3.0, 2.0], [4.0, 3.0]])
    listed = [[1, None], [3, 2], [4, 3]]
    expected = NaiveBayes().fit(gaps, y).predict_proba(gaps).tolist()
    for table in (masked, listed):
        np.testing.assert_allclose(NaiveBayes().fit(table, y).predict_proba(table), expected, rtol=1e-10)
    batch = pa.RecordBatch.from_pydict({"a": ["x", "y", "x"], "b": [1.0, 2.0, 3.0]})
    assert NaiveBayes().fit(batch, y).families_ == {"a": "categorical", "b": "gaussian"}
    with pytest.warns(FoldwiseWarning, match="'x1' contains only numbers"):
        assert NaiveBayes().fit([["a", 1], ["b", 2], ["a", 1]], y).families_["x1"] == "categorical"


def test_numbers_as_objects_are_pointed_out():
    with pytest.warns(FoldwiseWarning, match="'x0' contains only numbers but has the type object.*infer_objects"):
        NaiveBayes().fit(np.array([[0.5], [1.0]], dtype=object), [0, 1])


def test_weights_that_sum_to_less_than_a_row_are_pointed_out(rng):
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.warns(FoldwiseWarning, match="rescale them"):
        NaiveBayes().fit(X, y, np.full(40, 1 / 40))
    NaiveBayes(ddof=0).fit(X, y, np.full(40, 1 / 40))


@pytest.mark.parametrize("n", [3, 10, 49, 93, 187, 197])
def test_weights_of_one_over_n_fall_to_the_floor_however_they_round(n):
    X, y = np.arange(n + 3.0)[:, None], np.r_[np.zeros(n, int), 1, 1, 1]
    w = np.r_[np.full(n, 1 / n), 1, 1, 1]
    with pytest.warns(FoldwiseWarning):
        sd = NaiveBayes().fit(X, y, w).table().to_frame(numeric=True)["0"][2]
    assert sd < 0.01


def test_large_counts_do_not_depend_on_the_container():
    X = np.array([[1e200, 1.0], [2.0, 1e200]])
    dense, sparse = (NaiveBayes(families="multinomial").fit(form(X), [0, 1]) for form in (np.array, sp.csr_array))
    assert dense.predict(X).tolist() == sparse.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' + "1" * 5000 + "}", "nonsense"])
def test_texts_that_are_no_model(text):
    with pytest.raises(InputError):
        NaiveBayes.from_json(text)
    with pytest.raises(FoldwiseTypeError):
        NaiveBayes.from_json(5)


def test_parameters_that_are_no_numbers():
    X, y = np.eye(2), [0, 1]
    for params, w in (({"priors": ["a", "b"]}, None), ({"alpha": 10**400}, None), ({}, ["a", "b"])):
        with pytest.raises(InputError):
            NaiveBayes(**params).fit(X, y, w)


def test_columns_with_numbers_for_names_keep_their_order():
    X = pd.DataFrame({0: [1.0, 2.0, 5.0], 1: [9.0, 8.0, 7.0]})
    model = NaiveBayes().fit(X, [0, 1, 1])
    with pytest.raises(InputError, match="same order"):
        model.predict(X[[1, 0]])
    with pytest.raises(InputError, match="does not have"):
        NaiveBayes(families={0: "categorical"}).fit(X.rename(columns={0: 5, 1: 6}), [0, 1, 1])
    assert (
        NaiveBayes(families={np.int64(1): "categorical"}).fit(X.to_numpy(), [0, 1, 1]).families_["x1"] == "categorical"
    )


def test_priors_by_a_series():
    X = pd.DataFrame({"v": [1.0, 2.0, 3.0]})
    model = NaiveBayes(priors=pd.Series({"c": 0.5, "a": 0.2, "b": 0.3})).fit(X, ["a", "b", "c"])
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.2, 0.3, 0.5])
    np.testing.assert_allclose(
        NaiveBayes.from_json(model.to_json()).predict_proba(X), model.predict_proba(X), rtol=1e-10
    )


def test_strange_columns_are_named():
    for strange in (
        pd.DataFrame({"s": pd.arrays.SparseArray([0, 1])}),
        pd.DataFrame({"s": pd.period_range("2026", periods=2)}),
        pd.DataFrame({"s": [1j, 2j]}),
        pl.DataFrame({"s": [object(), object()]}, schema={"s": pl.Object}),
    ):
        with pytest.raises((FoldwiseTypeError, InputError), match="'s'"):
            NaiveBayes().fit(strange, [0, 1])
    mixed = NaiveBayes(families={0: "bernoulli", 1: "multinomial"}).fit([[0, 1], [1, 2]], [0, 1])
    with pytest.raises(FoldwiseTypeError, match="several distribution families"):
        mixed.predict(sp.csr_array([[0, 1]]))
    with pytest.raises(InputError, match="Unknown label type"):
        NaiveBayes().fit(np.eye(2), np.array([0.5, 1.5], dtype=object))
    with pytest.raises(ForgetError, match="column 'x0'"):
        NaiveBayes(families="categorical").fit([[0], [1]], [0, 1]).forget([[5]], [0])
    with pytest.raises(InputError, match="can be forgotten"):
        NaiveBayes().fit([[0.0], [1.0]], [0, 1]).forget([[0.0]], [7])


def test_wide_explanations_are_kept_short(rng):
    X = sp.csr_array(rng.poisson(0.01, (30, 3000)))
    model = NaiveBayes().fit(X, np.arange(30) % 2)
    text = str(model.explain(X[:1]))
    assert len(text.split("\n")) < 60
    assert "less informative columns are not shown" in text
    assert "more lines are not shown" in str(model.table())
    evidence = NaiveBayes(missing="category").fit(pl.DataFrame({"v": [None, 2.0, 3.0]}), [0, 1, 1])
    shown = str(evidence.explain(pl.DataFrame({"v": [2.0]})))
    assert "v = 2*" in shown
    assert "* includes the probability that the value is present" in shown
    broken = NaiveBayes().fit(pl.DataFrame({"c": ["a\nb", "c"]}), [0, 1])
    assert "a⏎b" in str(broken.table())


def test_memory_stays_bounded_on_wide_tables(rng):
    from foldwise.data.view import view

    wide = view(np.asfortranarray(np.zeros((2000, 5000)))).numbers(range(5000))
    assert wide.chunk_rows * 5000 * 8 <= 50_000_000
