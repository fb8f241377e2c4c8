"""Scores of many settings at once against plain loops; screening in single precision must never change a label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from foldwise.folds.sums import CategoricalTerms, CodedTable, GaussianTerms, JointScores, LinearTerms
from foldwise.folds.sums.coding import PACK_SLOTS, pack


def random_table(rng, n, sizes):
    return np.stack([rng.integers(0, size, n) for size in sizes], axis=1), np.array(sizes, dtype=np.int64)


@given(st.integers(0, 10**6))
def test_counts_of_packed_columns_are_those_of_a_loop(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 14, int(rng.integers(1, 9))).tolist()
    codes, sizes = random_table(rng, 50, sizes)
    coded = CodedTable.of(codes, sizes)
    rows, n_classes = rng.integers(0, 50, 70), 3
    y, w = rng.integers(0, n_classes, 70), rng.integers(0, 3, 70) / 4
    for weights in (None, w):
        weight, held = coded.count(rows, y, weights, n_classes)
        plain = np.zeros((2, coded.n_slots, n_classes))
        for i, row in enumerate(rows):
            for j in range(len(sizes)):
                one = 1.0 if weights is None else weights[i]
                plain[0, coded.base[j] + codes[row, j], y[i]] += one
                plain[1, coded.base[j] + codes[row, j], y[i]] += one > 0
        np.testing.assert_array_equal(weight, plain[0])
        np.testing.assert_array_equal(held, plain[1])


def test_packs_are_runs_of_columns_with_few_combinations():
    first, sizes = pack([6] * 5)
    assert first.tolist() == [0, 2, 4, 5]
    assert sizes == [36, 36, 6]
    assert pack([PACK_SLOTS * 3, 2])[1] == [PACK_SLOTS * 3, 2]
    assert pack([2] * 6)[1] == [64]


def plain_labels(table, log_prior, coded, rows):
    """Column by column, then the prior; the first of equals."""
    labels = np.empty((len(rows), log_prior.shape[1]), dtype=int)
    for i, row in enumerate(rows):
        scores = np.zeros(log_prior.shape)
        for slot in coded.slots[row]:
            scores = scores + table[slot]
        labels[i] = (scores + log_prior).argmax(axis=0)
    return labels


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("spread", [1.0, 1e-9, 50.0])
def test_screened_labels_are_those_of_plain_sums_even_at_ties(n_classes, spread, rng):
    codes, sizes = random_table(rng, 900, [2, 3, 6, 5, 4, 6])
    coded = CodedTable.of(codes, sizes)
    n_settings = 9
    table = np.log(rng.random((coded.n_slots, n_classes, n_settings))) * spread
    table[:, :, 3] = np.round(table[:, :, 3] / spread) * spread / 7  # many sums tie but for their rounding
    table[:, 1, 4] = table[:, 0, 4]  # two classes are always alike
    table[:, 1, 5] = table[rng.permutation(coded.n_slots), 0, 5]
    log_prior = np.log(rng.dirichlet(np.ones(n_classes), n_settings)).T.copy()
    log_prior[:, 3:5] = -np.log(n_classes)
    scores = JointScores((CategoricalTerms(coded, table),), log_prior, by_prior=False)
    rows = rng.permutation(900)[:800]
    labels = scores.labels(rows)
    assert scores._screen(scores.parts[0], rows, np.empty_like(labels))
    np.testing.assert_array_equal(labels, plain_labels(table, log_prior, coded, rows))


def test_impossible_entries_are_not_screened(rng):
    codes, sizes = random_table(rng, 500, [3, 4, 5])
    coded = CodedTable.of(codes, sizes)
    table = np.log(rng.random((coded.n_slots, 2, 4)))
    table[0, :, 1] = -np.inf
    table[4, 0, 2] = -np.inf
    log_prior = np.log(np.full((2, 4), [[0.3], [0.7]]))
    rows = np.arange(500)
    by_prior = JointScores((CategoricalTerms(coded, table),), log_prior)
    labels = by_prior.labels(rows)
    lost = codes[:, 0] == 0
    assert (labels[lost, 1] == 1).all()  # the prior answers
    assert (JointScores(by_prior.parts, log_prior, by_prior=False).labels(rows)[lost, 1] == 0).all()
    proba = np.exp(by_prior.log_proba(rows))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(proba[lost][:, :, 1], [[0.3, 0.7]] * lost.sum())


def test_numbers_and_slopes_against_loops(rng):
    n, d, n_classes, n_settings = 30, 4, 3, 5
    x = rng.normal(size=(n, d))
    x[rng.random((n, d)) < 0.2] = np.nan
    mean, scale = rng.normal(size=(n_classes, d)), rng.random((n_classes, d, n_settings))
    log_norm, slope = rng.normal(size=scale.shape), rng.normal(size=(n_classes, n_settings, d))
    scale[:, 1], log_norm[:, 1] = 0.0, 0.0  # a silent column, with a cell whose square is infinite
    x[3, 1] = 1e200
    marks = rng.poisson(1.0, (n, d)).astype(float)
    log_prior = np.zeros((n_classes, n_settings))
    rows = rng.permutation(n)[:20]
    found = JointScores((GaussianTerms(x, mean, scale, log_norm), LinearTerms(marks, slope)), log_prior).of(rows)
    for i, row in enumerate(rows):
        for c in range(n_classes):
            for s in range(n_settings):
                total = 0.0
                for j in range(d):
                    if not np.isnan(x[row, j]) and scale[c, j, s] > 0:
                        total += log_norm[c, j, s] - scale[c, j, s] * (x[row, j] - mean[c, j]) ** 2
                    total += marks[row, j] * slope[c, s, j]
                np.testing.assert_allclose(found[i, c, s], total, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_classes", [1, 2, 3, 9])
def test_log_probabilities_are_those_of_scipy(n_classes, rng):
    cells, slope = rng.random((40, 3)), 30 * rng.normal(size=(n_classes, 5, 3))
    slope[-1, 1] = slope[0, 1]  # the first and the last class tie
    log_prior = np.log(rng.dirichlet(np.ones(n_classes), 5)).T.copy()
    scores = JointScores((LinearTerms(cells, slope),), log_prior, by_prior=False)
    rows = np.arange(40)
    joint = scores.of(rows) + log_prior
    np.testing.assert_allclose(scores.log_proba(rows), joint - logsumexp(joint, axis=1, keepdims=True), atol=1e-13)
