"""Scores of subsets of columns of `NaiveBayes` against fits on these columns alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold

from foldwise import NaiveBayes
from foldwise.bayes import subsets as under_test
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.evaluation.metrics import metrics_of
from foldwise.folds import Need, Split, evaluate, open_subsets
from foldwise.folds.audit import disagreement
from foldwise.folds.engine import EvaluationTask, ScoringPlan
from foldwise.folds.model_session import SubsetRefitSession
from foldwise.testing import CELLS
from tests.conftest import mixed_columns

# no area under a curve of categories: whether two rows tie in rank hangs on the order in which their terms are added,
# which the estimator itself changes with the layout of the cells
METRICS = ("accuracy", "neg_log_loss", "balanced_accuracy", "neg_brier_score")


def all_subsets(d):
    return [subset for size in range(1, d + 1) for subset in combinations(range(d), size)]


def scores(session, subsets, splits, metrics):
    settings = [{"columns": subset} for subset in subsets]
    [outcome] = evaluate(session, [EvaluationTask(settings, splits)], ScoringPlan(metrics))
    assert not outcome.failures
    assert not outcome.unscored
    return outcome.scores


def check_as_refit(model, X, y, shares, subsets=None, splitter=None, metrics=METRICS, **fit_params):
    splits = [Split(a, b) for a, b in (splitter or StratifiedKFold(3, shuffle=True, random_state=0)).split(X, y)]
    subsets = subsets or all_subsets(X.shape[1])[::2]  # with single columns and all of them
    metrics = {name: metrics_of(name, model)[0]["score"] for name in metrics}
    session = open_subsets(model, X, y, fit_params)
    assert session.shares == shares
    ours = scores(session, subsets, splits, metrics)
    theirs = scores(SubsetRefitSession(model, X, y, fit_params), subsets, splits, metrics)
    for name in metrics:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-12, err_msg=name)
    need = Need.LABELS | Need.PROBA
    for subset in subsets[:: max(1, len(subsets) // 5)] if shares != "refit" else ():
        assert disagreement(session, {"columns": subset}, splits[0].train, splits[0].test, need) == ""


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayes(),
        NaiveBayes(missing="category", unseen="smooth"),
        NaiveBayes(priors="uniform", alpha=0.1, var_floor=0.1, ddof=0),
        NaiveBayes(alpha=0.0),
    ],
    ids=["plain", "category", "uniform", "alpha 0"],
)
def test_mixed_columns_with_missing_cells(model, rng):
    X, y = pl.DataFrame(mixed_columns(rng, 150, missing=0.2)), rng.integers(0, 3, 150)
    check_as_refit(model, X, y, "terms")


@pytest.mark.parametrize("family", sorted(set(CELLS) - {"multinomial"}))
def test_every_family_whose_columns_do_not_depend_on_each_other(family, rng):
    X = pl.DataFrame({f"c{j}": CELLS[family](rng, 120) for j in range(4)})
    check_as_refit(NaiveBayes(families=family), X, rng.integers(0, 3, 120), "terms")


def test_shares_of_a_block_of_counts_are_taken_of_the_subset(rng):
    X, y = rng.poisson(1.5, (120, 4)) * (1 + np.arange(4)), rng.integers(0, 3, 120)
    check_as_refit(NaiveBayes(families="multinomial"), X, y, "summaries")
    mixed = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": rng.normal(size=120), "d": X[:, 3]})
    families = {"a": "multinomial", "b": "multinomial", "d": "multinomial"}
    session = open_subsets(NaiveBayes(families=families), mixed, y)
    for columns in [(0, 1), (0, 2), (1, 2, 3)]:
        split = next(iter(KFold(3).split(X)))
        named = {
            name: family for j, (name, family) in enumerate(families.items()) if "abd"[j] in mixed[:, columns].columns
        }
        alone = NaiveBayes(families=named).fit(mixed[split[0]][:, columns], y[split[0]])
        [block] = session.answer([{"columns": columns}], *split, Need.PROBA)
        expected = alone.predict_log_proba(mixed[split[1]][:, columns])
        np.testing.assert_allclose(block.answer.log_proba[0], expected, rtol=1e-11)


@pytest.mark.parametrize("family", ["multinomial", "bernoulli"])
def test_sparse_matrices(family, rng):
    X, y = sp.csr_array((rng.random((90, 4)) < 0.4).astype(float)), rng.integers(0, 3, 90)
    check_as_refit(NaiveBayes(families=family), X, y, "summaries", splitter=KFold(3))


def test_families_that_are_chosen_from_the_rows_are_refitted(rng):
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    check_as_refit(NaiveBayes(families="best"), X, y, "refit", subsets=[(0,), (0, 2)])
    assert open_subsets(NaiveBayes(columns=[0, 1]), X, y).shares == "refit"


def test_columns_called_by_other_numbers_than_their_places(rng):
    import pandas as pd

    X, y = pd.DataFrame(rng.normal(size=(80, 3)), columns=[1, 0, 2]), rng.integers(0, 3, 80)
    check_as_refit(NaiveBayes(), X, y, "refit")
    check_as_refit(NaiveBayes(), X.set_axis([0, 1, 2], axis=1), y, "terms")


def test_areas_under_curves_of_numbers(rng):
    X, y = rng.normal(size=(150, 4)), rng.integers(0, 2, 150)
    check_as_refit(NaiveBayes(), X, y, "terms", metrics=("roc_auc",))


def test_weights(rng):
    X, y = pl.DataFrame(mixed_columns(rng, 150)), rng.integers(0, 3, 150)
    check_as_refit(NaiveBayes(), X, y, "terms", sample_weight=rng.integers(0, 4, 150).astype(float))


def test_a_class_that_a_training_set_lacks(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    split = np.arange(40), np.arange(40, 60)
    [block] = open_subsets(NaiveBayes(), X, y).answer([{"columns": (0, 1)}], *split, Need.PROBA | Need.LABELS)
    assert (block.answer.probabilities()[0][:, 2] == 0).all()
    assert set(np.unique(block.answer.labels)) <= {0, 1}


def test_terms_that_are_not_kept_give_the_same(rng, monkeypatch):
    X, y = pl.DataFrame(mixed_columns(rng, 150)), rng.integers(0, 3, 150)
    monkeypatch.setattr(under_test, "KEPT_BYTES", 3000)  # one split of three
    monkeypatch.setattr(under_test, "HELD_CELLS", 100)
    check_as_refit(NaiveBayes(), X, y, "terms")
    session = open_subsets(NaiveBayes(), X, y)
    monkeypatch.setattr(under_test, "KEPT_BYTES", 1 << 28)
    whole = open_subsets(NaiveBayes(), X, y)
    splits = [Split(a, b) for a, b in KFold(3).split(X)]
    metrics = {"score": metrics_of("neg_log_loss", NaiveBayes())[0]["score"]}
    for _ in range(2):  # the second question finds terms
        a, b = (scores(one, all_subsets(5), splits, metrics)["score"] for one in (session, whole))
        np.testing.assert_allclose(a, b, rtol=1e-10)
    assert len(session._kept) < 3
    assert len(whole._kept) == 3


def test_facts_are_learned_once_a_split(rng, monkeypatch):
    calls = []
    learn = NaiveBayesFacts.learn
    monkeypatch.setattr(NaiveBayesFacts, "learn", lambda *a, **k: calls.append(1) or learn(*a, **k))
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 2, 90)
    session = open_subsets(NaiveBayes(), X, y)
    splits = [Split(a, b) for a, b in KFold(3).split(X)]
    for subsets in ([(0,), (1,)], [(0, 1), (0, 2)], [(0, 1, 2)]):
        scores(session, subsets, splits, {"score": metrics_of("accuracy", NaiveBayes())[0]["score"]})
    assert len(calls) == 3
