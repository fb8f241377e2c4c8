"""The estimator against the textbook written out in loops, on random mixed tables and all parameters."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from foldwise import NaiveBayes
from foldwise.errors import FoldwiseWarning
from tests.bayes.plain import PlainNaiveBayes
from tests.slow import slow

FAMILIES = {
    "color": "categorical",
    "size": "gaussian",
    "flag": "bernoulli",
    "word": "multinomial",
    "rings": "gaussian",
    "other": "multinomial",
    "shape": "categorical",
    "visits": "poisson",
    "hits": "binomial",
    "amount": "gamma",
    "dose": "binned",
    "depth": "kde",
    "note": "text",
}
SCHEMA = {
    "color": pl.String,
    "size": pl.Float64,
    "flag": pl.Int64,
    "word": pl.Int64,
    "rings": pl.Int64,
    "other": pl.Float64,
    "shape": pl.String,
    "visits": pl.Int64,
    "hits": pl.Int64,
    "amount": pl.Float64,
    "dose": pl.Float64,
    "depth": pl.Float64,
    "note": pl.String,
}


def cells(values):
    return st.one_of(st.none(), values)


row = st.fixed_dictionaries(
    {
        "color": cells(st.sampled_from(["red", "green", "blue"])),
        "size": cells(st.integers(-40, 40).map(lambda v: v / 8)),
        "flag": cells(st.integers(0, 1)),
        "word": cells(st.integers(0, 5)),
        "rings": cells(st.integers(-3, 3)),
        "other": cells(st.integers(0, 8).map(lambda v: v / 2)),
        "shape": cells(st.sampled_from(["round", "square"])),
        "visits": cells(st.integers(0, 6)),
        "hits": cells(st.integers(0, 4)),
        "amount": cells(st.integers(1, 60).map(lambda v: v / 4)),
        "dose": cells(st.integers(-9, 9).map(lambda v: v / 2)),
        "depth": cells(st.integers(-30, 30).map(lambda v: v / 3)),
        "note": cells(st.lists(st.sampled_from(["win", "cash", "now", "mother", "née"]), max_size=4).map(" ".join)),
    }
)
queries = st.lists(
    st.one_of(
        row,
        row.map(lambda r: {**r, "color": "violet", "hits": 9, "note": "new words win", "depth": 50.0, "dose": -99.0}),
        row.map(lambda r: {**r, "size": 1e3}),
    ),
    min_size=1,
)


@st.composite
def problems(draw):
    n = draw(st.integers(2, 25))
    rows = draw(st.lists(row, min_size=n, max_size=n))
    y = [0, 1, *draw(st.lists(st.integers(0, 2), min_size=n - 2, max_size=n - 2))]
    # weights whose sums round, so that what is there must be known from rows, not from differences of weights
    weight = st.one_of(st.integers(0, 12).map(lambda v: v / 4), st.sampled_from([0.1, 0.3, 1 / 3, 1e-3]))
    w = draw(st.one_of(st.none(), st.lists(weight, min_size=n, max_size=n)))
    if w is not None and not any(w):
        w[0] = 1.0
    params = {
        "alpha": draw(st.sampled_from([0.0, 0.25, 1.0, 3.0])),
        "var_floor": draw(st.sampled_from([1e-9, 1e-3, 0.5])),
        "ddof": draw(st.sampled_from([0, 1])),
        "missing": draw(st.sampled_from(["ignore", "category"])),
        "unseen": draw(st.sampled_from(["ignore", "smooth"])),
    }
    return rows, y, w, params, draw(queries)


def close(found, expected, terms=()):
    """Equal to 1e-9 of the answer, or to rounding of the terms it is the small difference of."""
    largest = max((abs(t) for t in terms if math.isfinite(t)), default=0.0)
    for a, b in zip(found, expected, strict=True):
        if math.isinf(b):
            assert a == b
        else:
            assert abs(a - b) <= max(1e-9 * max(1.0, abs(b)), 1e-14 * largest), (found, expected)


@pytest.mark.filterwarnings("ignore:the sample weights of a class")
@given(problems())
@settings(max_examples=20, deadline=None)
def test_random_mixed_tables(problem):
    check_against_the_plain_twin(problem)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the sample weights of a class")
@given(problems())
@settings(max_examples=300, deadline=None)
def test_many_random_mixed_tables(problem):
    check_against_the_plain_twin(problem)


def check_against_the_plain_twin(problem):
    rows, y, w, params, new = problem
    twin = PlainNaiveBayes(FAMILIES, **params).fit(rows, y, w)
    twin.classes = sorted(set(y))
    X = pl.DataFrame(rows, schema=SCHEMA)
    model = NaiveBayes(families=FAMILIES, **params).fit(X, y, w)
    Q = pl.DataFrame(new, schema=SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldwiseWarning)
        joint, proba, log_proba = (
            model.predict_joint_log_proba(Q),
            model.predict_proba(Q),
            model.predict_log_proba(Q),
        )
        labels = model.predict(Q)
    explanations = model.explain(Q)
    for i, query in enumerate(new):
        close(joint[i], twin.joint(query))
        close(log_proba[i], twin.log_proba(query), joint[i])
        assert np.isfinite(proba[i]).all()
        assert abs(proba[i].sum() - 1) < 1e-12
        assert log_proba[i][list(model.classes_).index(labels[i])] >= log_proba[i].max() - 1e-10
        assert np.abs(np.exp(log_proba[i]) - proba[i]).max() < 1e-13
        # the worked calculation sums to the answer
        close(explanations[i].log_proba, log_proba[i], joint[i])
        terms = [explanations[i].prior, *explanations[i].factors]
        for c in range(len(model.classes_)):
            if not explanations[i].contradictory and np.isfinite(log_proba[i][c]):
                total = math.fsum([*(t.log[c] for t in terms), -explanations[i].log_normalizer])
                assert abs(total - log_proba[i][c]) <= 1e-12 * max(1.0, max(abs(t.log[c]) for t in terms))


LIBRARIES = {
    "polars": lambda data: pl.DataFrame(data),
    "pandas": lambda data: pd.DataFrame(data),
    "pandas nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "pandas arrow": lambda data: pd.DataFrame(data).convert_dtypes(dtype_backend="pyarrow"),
    "pandas object": lambda data: pd.DataFrame(data).astype(object),
    "pyarrow": lambda data: pa.table(data),
    "polars chunked": lambda data: pl.concat([pl.DataFrame(data)[:5], pl.DataFrame(data)[5:]], rechunk=False),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_every_frame_library_gives_the_answers_of_the_twin(library, missing, rng):
    from tests.conftest import mixed_columns

    data = mixed_columns(rng, 60)
    families = dict.fromkeys(("color", "member", "grade"), "categorical") | {"size": "gaussian", "rings": "gaussian"}
    y = rng.integers(0, 2, 60).tolist()
    rows = [{name: data[name][i] for name in data} for i in range(60)]
    # bool declares two levels; where a library keeps truth values as objects, both occur anyway
    twin = PlainNaiveBayes(families, missing=missing).fit(rows, y)
    model = NaiveBayes(missing=missing, families=families).fit(LIBRARIES[library](data), y)
    found = model.predict_log_proba(LIBRARIES[library](data))
    for i, query in enumerate(rows):
        close(found[i], twin.log_proba(query))
    if library != "pandas object":
        assert NaiveBayes().fit(LIBRARIES[library](data), y).families_ == families


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array, lambda X: X])
def test_sparse_and_dense_counts(family, alpha, form, rng):
    X = rng.integers(0, 2 if family == "bernoulli" else 4, (40, 6)) * (rng.random((40, 6)) < 0.4)
    X[:, 5] = 0  # never occurs: impossible for alpha 0
    y = rng.integers(0, 3, 40)
    names = [f"x{j}" for j in range(6)]
    rows = [dict(zip(names, r, strict=True)) for r in X.tolist()]
    twin = PlainNaiveBayes(dict.fromkeys(names, family), alpha=alpha).fit(rows, y.tolist())
    model = NaiveBayes(families=family, alpha=alpha).fit(form(X), y)
    new = np.vstack([X[:8], np.eye(6, dtype=int)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FoldwiseWarning)
        found, explained = model.predict_joint_log_proba(form(new)), model.explain(form(new))
    for i, r in enumerate(new.tolist()):
        expected = twin.joint(dict(zip(names, r, strict=True)))
        close(found[i], expected)
        close(explained[i].joint, expected)


LAYOUTS = [(np.ascontiguousarray, 2), (np.asfortranarray, 5), (pd.DataFrame, 30)]


@pytest.mark.parametrize(
    ("layout", "n_classes"),
    [*LAYOUTS, *slow(*((layout, n) for layout, _ in LAYOUTS for _, n in LAYOUTS if (layout, n) not in LAYOUTS))],
)
def test_large_tables_in_every_layout_have_the_answers_of_small_ones(layout, n_classes, rng):
    # big enough for threads, chunks and tiles; each row alone goes the simple way
    n = 40_000
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.01] = np.nan
    y = rng.integers(0, n_classes, n)
    codes = rng.integers(0, 7, (n, 6))
    some = rng.choice(n, 60, replace=False)
    for table, families in ((X, "gaussian"), (codes, "categorical")):
        model = NaiveBayes(families=families, n_jobs=3).fit(layout(table), y)
        all_rows = model.predict_log_proba(layout(table))
        alone = np.vstack([model.predict_log_proba(layout(table[i : i + 1])) for i in some])
        np.testing.assert_allclose(all_rows[some], alone, rtol=1e-12)
        np.testing.assert_allclose(
            [e.log_proba for e in model.explain(layout(table[some]))], alone, rtol=1e-12, atol=1e-14
        )
        serial = NaiveBayes(families=families, n_jobs=1).fit(layout(table), y)
        np.testing.assert_allclose(serial.predict_log_proba(layout(table)), all_rows, rtol=1e-10)
