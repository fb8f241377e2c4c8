"""Families chosen by cross-validation: the right ones for made-up columns, as by plain refits, again in each fold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from foldwise import GridSearchCV, NaiveBayes
from foldwise.bayes.best import CANDIDATES, clear_winner, contents, deal_folds
from foldwise.bayes.session import NaiveBayesSession
from foldwise.evaluation.metrics.probabilities import LEAST_LOG
from foldwise.testing import check_foldable


def table(rng, n=600):
    """One column each for which a family is made: a bell, two lumps around another, steps."""
    y = rng.integers(0, 2, n)
    bell = rng.normal(y, 1.0)
    lumps = np.where(y == 1, rng.choice([-4.0, 4.0], n), 0.0) + rng.normal(0, 0.7, n)
    return pl.DataFrame({"bell": bell, "lumps": lumps, "city": rng.choice(["A", "B"], n)}), y


def test_columns_get_the_family_they_were_made_for(rng):
    X, y = table(rng)
    model = NaiveBayes(families="best").fit(X, y)
    assert model.families_["city"] == "categorical"
    assert model.families_["lumps"] in ("kde", "binned")
    assert model.families_["bell"] in ("gaussian", "kde")
    some = NaiveBayes(families={"lumps": "best"}).fit(X, y)
    assert some.families_["bell"] == "gaussian"
    assert some.families_["lumps"] in ("kde", "binned")
    by_place = NaiveBayes(families={1: "best"}).fit(X.select("bell", "lumps").to_numpy(), y)
    assert by_place.families_["x1"] in ("kde", "binned")


def test_the_choice_is_that_of_plain_refits(rng):
    X, y = table(rng, 200)
    X = X.drop("city")
    w = rng.integers(0, 3, 200).astype(float)
    splits = deal_folds(X.to_numpy(), y, w)

    def likelihoods(families, columns):
        found = []
        for split in splits:
            model = NaiveBayes(families=families, columns=columns).fit(X[split.train], y[split.train], w[split.train])
            log_p = model.predict_log_proba(X[split.test])[np.arange(len(split.test)), y[split.test]]
            found.append(w[split.test] @ np.maximum(log_p, LEAST_LOG))
        return found

    def winner(scores):
        gains = [np.array(one) - scores[0] for one in scores]
        clear = [k for k, g in enumerate(gains) if k and g.mean() > g.std(ddof=1) / np.sqrt(len(g))]
        return max(clear, key=lambda k: gains[k].mean(), default=0)

    alone = {name: CANDIDATES[winner([likelihoods(f, [name]) for f in CANDIDATES])] for name in X.columns}
    wholes = [dict.fromkeys(X.columns, f) for f in CANDIDATES] + [alone]
    expected = wholes[winner([likelihoods(families, None) for families in wholes])]
    assert NaiveBayes(families="best").fit(X, y, w).families_ == expected


def test_a_gain_within_its_noise_is_none():
    assert clear_winner(np.array([[1.0, 1.0, 1.0], [3.0, 0.9, 0.2], [1.2, 1.1, 1.3]])) == 2
    assert clear_winner(np.array([[1.0, 1.0], [9.0, -6.0]])) == 0
    assert clear_winner(np.array([[1.0, 1.0], [9.0, np.nan], [2.0, 2.1]])) == 2
    assert clear_winner(np.array([[np.nan, 1.0], [9.0, 9.0]])) == 0
    assert clear_winner(np.array([[1.0, 1.0], [1.0, 1.0]])) == 0


def test_folds_part_the_rows_by_their_contents(rng):
    y = np.repeat([0, 1, 2], [50, 7, 1])
    X, w = rng.normal(size=(58, 2)), np.ones(58)
    X[3, 0] = np.nan
    w[::5] = 0
    splits = deal_folds(X, y, w)
    tested = np.sort(np.concatenate([split.test for split in splits]))
    assert tested.tolist() == np.flatnonzero(w).tolist()
    order = rng.permutation(58)
    for split, other in zip(splits, deal_folds(X[order], y[order], w[order]), strict=True):
        assert not set(split.train) & set(split.test)
        assert {*split.train, *split.test} == set(tested)
        assert sorted(order[other.test]) == split.test.tolist()
    assert [np.sum(y[split.test] == 1) for split in splits].count(1) >= 3
    assert deal_folds(np.zeros((4, 1)), np.zeros(4, int), None) == ()


def test_the_order_of_rows_does_not_matter(rng):
    X, y = table(rng, 150)
    order = rng.permutation(150)
    a, b = NaiveBayes(families="best").fit(X, y), NaiveBayes(families="best").fit(X[order], y[order])
    assert a.families_ == b.families_
    np.testing.assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=1e-10, atol=1e-12)


def test_rows_that_differ_in_other_columns_only_are_dealt_by_these(rng):
    y = rng.integers(0, 2, 60)
    X = pl.DataFrame(
        {"n": rng.integers(0, 2, 60), "city": rng.choice(list("abcdef"), 60), "flag": rng.random(60) < 0.5}
    )
    X = X.with_columns(text=pl.Series([None if k % 9 == 0 else f"word{k} of this" for k in range(60)]))
    X = X.with_columns(city=pl.when(pl.int_range(60) % 7 == 0).then(None).otherwise("city"), n=pl.col("n").cast(float))
    order = rng.permutation(60)

    def folds(rows):
        model = NaiveBayes(families={"text": "text"})
        view = NaiveBayesSession(model, X[rows], y[rows], {}).settings.table(model.families).view
        return [{tuple(X.row(rows[i])) for i in split.test} for split in deal_folds(contents(view), y[rows], None)]

    assert X.n_unique() > 55  # by the number and the class there would be four kinds of rows
    assert folds(np.arange(60)) == folds(order)


def test_few_rows_keep_what_the_types_say():
    model = NaiveBayes(families="best").fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    assert model.families_ == {"x0": "gaussian"}
    assert NaiveBayes(families="best").fit(sp.csr_array(np.eye(3)), [0, 1, 1]).families_["x0"] == "multinomial"


def test_more_rows_keep_the_choice(rng):
    X, y = table(rng, 300)
    assert NaiveBayes(families="best").partial_fit(X, y).families_ == NaiveBayes(families="best").fit(X, y).families_
    model = NaiveBayes(families="best").fit(X, y)
    chosen = dict(model.families_)
    model.partial_fit(X[:50], y[:50]).forget(X[:50], y[:50])
    assert model.families_ == chosen
    same = NaiveBayes(families=chosen).fit(X, y)
    np.testing.assert_allclose(model.predict_log_proba(X), same.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    stored = NaiveBayes.from_json(model.to_json())
    assert stored.families_ == chosen
    np.testing.assert_allclose(stored.predict_proba(X), model.predict_proba(X), rtol=1e-10)
    assert clone(model).families == "best"


@pytest.mark.parametrize("weighted", [False, True])
def test_the_fold_law(weighted, rng):
    X, y = table(rng, 120)
    settings = [{}, {"families": "auto"}, {"families": {"bell": "best"}}, {"alpha": 0.1}, {"columns": ["lumps"]}]
    splits = [(np.arange(40, 120), np.arange(40)), (np.arange(70), np.arange(70, 110))]
    weights = {"sample_weight": rng.integers(0, 3, 120).astype(float)} if weighted else None
    check_foldable(NaiveBayes(families="best"), X, y, settings[: 3 if weighted else None], splits, weights)


def test_best_is_one_more_setting_of_a_search(rng):
    X, y = table(rng, 200)
    search = GridSearchCV(NaiveBayes(), {"families": ["gaussian", "best", {"lumps": "kde"}][1:]}, cv=3)
    search.fit(X, y)
    assert search.best_score_ > 0.8
