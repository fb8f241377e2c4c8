"""Column weights and temperature: the definition, repeated columns as a peer, the fold law, files, explanations."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn import naive_bayes as peer
from sklearn.base import clone
from sklearn.model_selection import KFold

from foldwise import NaiveBayes
from foldwise.bayes.nomogram import nomogram
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.folds import Need, open_subsets
from foldwise.testing import CELLS, check_explanation, check_foldable
from tests.bayes.test_leave_one_out import AT_ONCE, check_against_refits
from tests.bayes.test_nomogram import cells, draws, posterior
from tests.conftest import mixed_columns

RNG = np.random.default_rng(4)
N = 90
WEIGHTS = [0.5, 2.0, 0.0]
FAMILIES = sorted(set(CELLS) - {"text"})


def with_gaps(values):
    return [None if gap else value for value, gap in zip(values, RNG.random(len(values)) < 0.1, strict=True)]


def table_of(family, n=N):
    return pl.DataFrame({f"c{j}": with_gaps(list(CELLS[family](RNG, n))) for j in range(3)}, strict=False)


def mixed(n=N):
    return pl.DataFrame(mixed_columns(RNG, n), strict=False), RNG.integers(0, 3, n)


@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_score_is_a_weighted_sum_over_columns(family, missing):
    X, y = table_of(family), RNG.integers(0, 3, N)
    model = NaiveBayes(families=family, missing=missing, column_weights=WEIGHTS, temperature=2.5).fit(X, y)
    expected = np.repeat(model.class_log_prior_[None], N, axis=0)
    if family == "multinomial":  # the shares are those of all columns in use, so one column cannot be fitted alone
        whole = NaiveBayes(families=family, missing=missing, columns=[0, 1]).fit(X, y)
        for i, row in enumerate(whole.explain(X)):
            for factor, weight in zip(row.factors, WEIGHTS, strict=False):
                expected[i] += weight * np.array(factor.log)
    else:
        for j, weight in enumerate(WEIGHTS):
            alone = NaiveBayes(families=family, missing=missing, columns=[j]).fit(X, y)
            if weight:
                expected += weight * (alone.predict_joint_log_proba(X) - alone.class_log_prior_)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-10, atol=1e-10)
    tempered = log_softmax(expected / 2.5, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(X), tempered, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(tempered), rtol=1e-9)
    assert (model.predict(X) == model.classes_[tempered.argmax(axis=1)]).all()
    check_weighted_explanation(model, X)


def check_weighted_explanation(model, X):
    proba = model.predict_proba(X)
    for row, expected in zip(model.explain(X), proba, strict=True):
        np.testing.assert_allclose(row.proba, expected, rtol=1e-9)
        assert row.to_dict()["temperature"] == model.temperature
        assert "^(1/2.5)" in str(row)


@pytest.mark.parametrize("theirs", [peer.GaussianNB(var_smoothing=0), peer.BernoulliNB(), peer.CategoricalNB()])
def test_a_whole_weight_repeats_the_column_in_scikit_learn(theirs):
    family = type(theirs).__name__.removesuffix("NB").lower()
    y = RNG.integers(0, 3, N)
    X = RNG.normal(y[:, None], 2, (N, 3)) if family == "gaussian" else RNG.integers(0, 2, (N, 3))
    ours = NaiveBayes(families=family, ddof=0, var_floor=0, column_weights=[2, 1, 3]).fit(X, y)
    repeated = X[:, [0, 0, 1, 2, 2, 2]]
    expected = clone(theirs).fit(repeated, y).predict_log_proba(repeated)
    np.testing.assert_allclose(ours.predict_log_proba(X), expected, rtol=1e-9, atol=1e-9)


def test_texts_and_sparse_counts():
    texts = pl.DataFrame({"a": ["win cash", "hello you", "cash", "you"] * 10, "b": ["x y", "y", "x", "z y"] * 10})
    y = np.tile([1, 0, 1, 0], 10)
    families = {"a": "text", "b": "text"}
    model = NaiveBayes(families=families, column_weights={"a": 0.5}).fit(texts, y)
    parts = [NaiveBayes(families=families, columns=[name]).fit(texts, y) for name in ("a", "b")]
    a, b = (part.predict_joint_log_proba(texts) - part.class_log_prior_ for part in parts)
    found = model.predict_joint_log_proba(texts)
    np.testing.assert_allclose(found, model.class_log_prior_ + 0.5 * a + b, rtol=1e-12)
    counts, y = RNG.integers(0, 3, (40, 4)), RNG.integers(0, 2, 40)
    for family in ("multinomial", "bernoulli"):
        X = counts if family == "multinomial" else counts > 1
        dense = NaiveBayes(families=family, column_weights=[0.3, 1, 2, 0]).fit(X.astype(float), y)
        sparse = clone(dense).fit(sp.csr_array(X.astype(float)), y)
        found = sparse.predict_log_proba(sp.csr_array(X.astype(float)))
        np.testing.assert_allclose(found, dense.predict_log_proba(X.astype(float)), rtol=1e-10)


SETTINGS = [
    {},
    {"temperature": 0.3},
    {"temperature": 4.0, "alpha": 0.0},
    {"column_weights": [0.5, 2.0, 0.0, 1.0, 0.1][:3]},
    {"column_weights": {1: 0.25}, "temperature": 2.0, "priors": "uniform"},
    {"column_weights__c0": 3.0, "columns": [0, 2]},
    {"priors__0": 1.0, "priors__1": 2.0, "priors__2": 0.5},
    {"column_weights": [1.0, 2.0]},  # one too few
    {"temperature": 0.0},
    {"priors__0": 1.0},  # not all classes
]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_fold_law(family):
    X, y = table_of(family, 60), RNG.integers(0, 3, 60)
    check_foldable(NaiveBayes(families=family), X, y, SETTINGS, list(KFold(3).split(X)))


def test_the_fold_law_with_mixed_columns_and_weights_of_rows():
    X, y = mixed(60)
    first = X.columns[0]
    settings = [{}, {"column_weights": {first: 0.0}}, {f"column_weights__{first}": 2.0, "missing": "category"}]
    settings += [{"temperature": 3.0, "missing": "category"}, {"temperature": 0.5, "unseen": "smooth", "alpha": 0.0}]
    weights = {"sample_weight": RNG.random(60) * 2}
    check_foldable(NaiveBayes(), X, y, settings, list(KFold(3).split(X)), weights)


@pytest.mark.parametrize("family", AT_ONCE)
def test_leave_one_out(family):
    X = {f"c{j}": with_gaps(list(CELLS[family](RNG, 24))) for j in range(3)}
    settings = [{"column_weights": WEIGHTS, "temperature": 2.0}, {"column_weights": {"c1": 3.0}, "missing": "category"}]
    check_against_refits(NaiveBayes(families=family), X, RNG.integers(0, 2, 24), settings)


def test_column_subsets():
    X, y = mixed(60)
    model = NaiveBayes(column_weights={X.columns[0]: 0.5, X.columns[1]: 2.0}, temperature=3.0)
    session, (train, test) = open_subsets(model, X, y, {}), next(KFold(3).split(X))
    assert session.shares == "terms"
    subsets = [(0,), (0, 1), (1, 2)]
    blocks = list(session.answer([{"columns": one} for one in subsets], train, test, Need.PROBA))
    found = np.concatenate([block.answer.log_proba for block in blocks])
    for one, log_proba in zip(subsets, found, strict=True):
        expected = clone(model).set_params(columns=list(one)).fit(X[train], y[train]).predict_log_proba(X[test])
        np.testing.assert_allclose(log_proba, expected, rtol=1e-9, atol=1e-10)


def test_files_explanations_and_nomograms():
    X, y = mixed()
    model = NaiveBayes(column_weights={X.columns[0]: 0.5, X.columns[2]: 2.0}, temperature=2.5).fit(X, y)
    again = NaiveBayes.from_json(model.to_json())
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    check_weighted_explanation(model, X[:20])
    check_explanation(clone(model).set_params(temperature=1.0).fit(X, y), X[:20])
    table = model.table().to_frame()
    assert table.filter(pl.col("parameter") == "weight").height > 0
    assert table.filter(pl.col("parameter") == "temperature").height == 1
    facts = nomogram(model, X)
    for chosen in draws(facts, RNG, 10):
        row = {name: [value] for name, value in cells(facts, chosen).items()}
        row["member"] = [None if value is None else value == "True" for value in row["member"]]
        frame = pl.DataFrame(row, schema={name: X.schema[name] for name in row}, strict=False)
        expected = model.predict_proba(frame.select(X.columns))[0]
        np.testing.assert_allclose(posterior(facts, chosen), expected, rtol=1e-9, atol=1e-12)


def test_entries_of_mappings_are_parameters():
    model = NaiveBayes(column_weights={"a": 0.5})
    assert model.get_params()["column_weights__a"] == 0.5
    assert "column_weights__a" not in model.get_params(deep=False)
    model.set_params(column_weights__b=2.0, priors__yes=3.0, priors__no=1.0)
    assert model.column_weights == {"a": 0.5, "b": 2.0}
    X, y = pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": [2.0, 1.0, 7.0, 3.0]}), ["yes", "no", "yes", "no"]
    np.testing.assert_allclose(np.exp(model.fit(X, y).class_log_prior_), [0.25, 0.75])
    assert clone(model).get_params() == model.get_params()
    numbered = NaiveBayes(priors={0: 0.5, 1: 0.5}).set_params(priors__1=1.5).fit(X, [0, 1, 0, 1])
    np.testing.assert_allclose(np.exp(numbered.class_log_prior_), [0.25, 0.75])
    with pytest.raises(InputError, match="column_weights is a mapping"):
        NaiveBayes(column_weights=[1.0, 2.0]).set_params(column_weights__a=1.0)


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"column_weights": [1.0]}, InputError, "one number per column, 2"),
        ({"column_weights": [1.0, -1.0]}, InputError, r"column_weights\[1\] must be finite and at least 0"),
        ({"column_weights": {"nowhere": 1.0}}, InputError, "nowhere"),
        ({"column_weights": "all"}, FoldwiseTypeError, "a mapping from columns to numbers"),
        ({"temperature": 0}, InputError, "temperature must be above 0"),
        ({"temperature": "hot"}, FoldwiseTypeError, "temperature must be a number"),
    ],
)
def test_invalid_values(params, error, words):
    with pytest.raises(error, match=words):
        NaiveBayes(**params).fit([[1.0, 2.0], [2.0, 3.0]], [0, 1])


def test_a_row_that_every_class_excludes_is_predicted_by_the_tempered_prior():
    X = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["p", "p", "q", "q"]})
    model = NaiveBayes(alpha=0, temperature=2.0, priors=[0.2, 0.8]).fit(X, [0, 0, 1, 1])
    with pytest.warns(UserWarning, match="likelihood 0"):
        found = model.predict_proba(pl.DataFrame({"a": ["x"], "b": ["q"]}))[0]
    expected = np.sqrt([0.2, 0.8])
    np.testing.assert_allclose(found, expected / expected.sum())
    [row] = model.explain(pl.DataFrame({"a": ["x"], "b": ["q"]}))
    np.testing.assert_allclose(row.proba, found)
