"""Property tests of the estimator's laws on random mixed tables: however rows arrive, the model is the same."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from foldwise import NaiveBayes
from foldwise.errors import FoldwiseWarning, ForgetError
from tests.bayes.test_plain_twin import FAMILIES, SCHEMA, problems


def answers(model, Q):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldwiseWarning)
        return model.predict_joint_log_proba(Q), model.predict_proba(Q)


def same(a, b, Q, tolerance=1e-10):
    (joint_a, proba_a), (joint_b, proba_b) = answers(a, Q), answers(b, Q)
    assert a.classes_.tolist() == b.classes_.tolist()
    assert (np.isfinite(joint_a) == np.isfinite(joint_b)).all()
    finite = np.isfinite(joint_b)
    gaps = np.abs(joint_a[finite] - joint_b[finite])
    assert (gaps <= tolerance * np.maximum(1.0, np.abs(joint_b[finite]))).all()
    # probabilities are small differences of the terms of the joint
    largest = np.max(np.abs(joint_b[finite]), initial=1.0)
    assert np.abs(proba_a - proba_b).max() <= tolerance * largest


pytestmark = pytest.mark.filterwarnings("ignore:the sample weights of a class")


@given(problems(), st.data())
@settings(max_examples=12, deadline=None)
def test_parts_permutations_and_weights(problem, data):
    check_parts_permutations_and_weights(problem, data)


@pytest.mark.slow
@given(problems(), st.data())
@settings(max_examples=100, deadline=None)
def test_parts_permutations_and_weights_of_many_tables(problem, data):
    check_parts_permutations_and_weights(problem, data)


def check_parts_permutations_and_weights(problem, data):
    rows, y, w, params, new = problem
    X, Q, y = pl.DataFrame(rows, schema=SCHEMA), pl.DataFrame(new, schema=SCHEMA), np.array(y)
    w = np.ones(len(y)) if w is None else np.array(w)
    whole = NaiveBayes(families=FAMILIES, **params).fit(X, y, w)

    order = np.array(data.draw(st.permutations(range(len(y)))))
    same(NaiveBayes(families=FAMILIES, **params).fit(X[order], y[order], w[order]), whole, Q)

    n_parts = data.draw(st.integers(1, 5))
    streamed, merged = NaiveBayes(families=FAMILIES, **params), None
    for part in np.array_split(order, min(n_parts, len(order))):
        streamed.partial_fit(X[part], y[part], classes=np.unique(y), sample_weight=w[part])
        model = NaiveBayes(families=FAMILIES, **params)
        model.partial_fit(X[part], y[part], classes=np.unique(y), sample_weight=w[part])
        merged = model if merged is None else merged + model
    same(streamed, whole, Q)
    same(merged, whole, Q)
    np.testing.assert_allclose(answers(NaiveBayes.from_json(merged.to_json()), Q)[1], answers(merged, Q)[1], rtol=1e-10)


@given(problems(), st.data())
@settings(max_examples=10, deadline=None)
def test_forgotten_rows_leave_no_trace(problem, data):
    check_forgotten_rows_leave_no_trace(problem, data)


@pytest.mark.slow
@given(problems(), st.data())
@settings(max_examples=60, deadline=None)
def test_forgotten_rows_leave_no_trace_of_many_tables(problem, data):
    check_forgotten_rows_leave_no_trace(problem, data)


def check_forgotten_rows_leave_no_trace(problem, data):
    rows, y, _, params, new = problem
    X, Q, y = pl.DataFrame(rows, schema=SCHEMA), pl.DataFrame(new, schema=SCHEMA), np.array(y)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    assume(gone.any() and not gone.all())
    model = NaiveBayes(families=FAMILIES, **params).partial_fit(X, y, classes=np.unique(y))
    try:
        model.forget(X.filter(pl.Series(gone)), y[gone])
    except ForgetError as error:
        # a variance that cannot be had to 1e-9 any more: said, not guessed; nothing else may stand in the way
        if "spread would have a relative error" not in str(error):
            raise
        event("refused")
        return
    event("forgotten")
    rest = NaiveBayes(families=FAMILIES, **params)
    rest.partial_fit(X.filter(pl.Series(~gone)), y[~gone], classes=np.unique(y))
    same(model, rest, Q, tolerance=1e-7)


@given(problems(), st.sampled_from([0.5, 2.0, 1e6]))
@settings(max_examples=10, deadline=None)
def test_weights_are_frequencies_whatever_their_unit(problem, unit):
    check_weights_are_frequencies_whatever_their_unit(problem, unit)


@pytest.mark.slow
@given(problems(), st.sampled_from([0.5, 2.0, 1e6]))
@settings(max_examples=60, deadline=None)
def test_weights_are_frequencies_whatever_their_unit_of_many_tables(problem, unit):
    check_weights_are_frequencies_whatever_their_unit(problem, unit)


def check_weights_are_frequencies_whatever_their_unit(problem, unit):
    # with alpha 0, ddof 0 and bandwidths given (Silverman's depend on the number of rows) only proportions count
    rows, y, w, params, new = problem
    params = {**params, "alpha": 0.0, "ddof": 0, "bandwidth": 0.8}
    w = np.ones(len(y)) if w is None else np.array(w)
    X, Q = pl.DataFrame(rows, schema=SCHEMA), pl.DataFrame(new, schema=SCHEMA)
    model = NaiveBayes(families=FAMILIES, **params).fit(X, y, w)
    same(NaiveBayes(families=FAMILIES, **params).fit(X, y, w * unit), model, Q)


@given(problems(), st.data())
@settings(max_examples=10, deadline=None)
def test_counts_are_always_forgotten(problem, data):
    check_counts_are_always_forgotten(problem, data)


@pytest.mark.slow
@given(problems(), st.data())
@settings(max_examples=60, deadline=None)
def test_counts_are_always_forgotten_of_many_tables(problem, data):
    check_counts_are_always_forgotten(problem, data)


def check_counts_are_always_forgotten(problem, data):
    # without gaussian and gamma columns nothing may refuse, and weights that round leave no phantom level
    rows, y, w, params, new = problem
    columns = [name for name, family in FAMILIES.items() if family not in ("gaussian", "gamma")]
    families = {name: FAMILIES[name] for name in columns}
    X, Q = pl.DataFrame(rows, schema=SCHEMA).select(columns), pl.DataFrame(new, schema=SCHEMA).select(columns)
    y, w = np.array(y), np.full(len(y), 0.1) if w is None else np.array(w)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    assume(gone.any() and w[~gone].any())
    model = NaiveBayes(families=families, **params).partial_fit(X, y, np.unique(y), w)
    for part in np.array_split(np.flatnonzero(gone), 3):
        if part.size:
            model.forget(X[part], y[part], w[part])
    rest = NaiveBayes(families=families, **params)
    rest.partial_fit(X.filter(pl.Series(~gone)), y[~gone], np.unique(y), w[~gone])
    same(model, rest, Q, tolerance=1e-9)
    assert model.table().to_frame()["parameter"].to_list() == rest.table().to_frame()["parameter"].to_list()
