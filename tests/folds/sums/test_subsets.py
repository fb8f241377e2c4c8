"""Sums of terms for many subsets of columns against plain sums."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise.folds.sums.subsets import SharedSums


def plain_scores(terms, log_prior, subset):
    return log_prior + sum((terms[j].T for j in subset), np.zeros((terms.shape[2], len(log_prior))))


GROWN = [(1, 3, 4), (0, 3, 4), (2, 3, 4)]
SHRUNK = [(0, 1, 2), (1, 2, 5), (0, 2, 5), (0, 1, 5)]
ANY = [(0,), (0, 1, 2, 3, 4, 5), (2, 5), (2, 5)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("subsets", [GROWN, SHRUNK, ANY, [(4,)], [(1,), (2,)]])
def test_sums_are_those_of_a_plain_loop(subsets, n_classes, rng):
    terms, log_prior = rng.normal(size=(6, n_classes, 3000)) * 10, np.log(rng.dirichlet(np.ones(n_classes)))
    shared = SharedSums.of(subsets)
    scores, labels = np.empty((len(subsets), 3000, n_classes)), np.empty((len(subsets), 3000), dtype=np.int16)
    shared.scores(terms, log_prior, scores)
    shared.labels(terms, log_prior, labels)
    for s, subset in enumerate(subsets):
        np.testing.assert_allclose(scores[s], plain_scores(terms, log_prior, subset), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(labels, scores.argmax(axis=2))


def test_one_column_less_is_summed_around_it_not_taken_away():
    terms = np.zeros((3, 2, 1))
    terms[1, 0] = -np.inf  # taken away from a sum it would leave nothing
    terms[2] = 1e20
    scores = np.empty((3, 1, 2))
    SharedSums.of([(1, 2), (0, 2), (0, 1)]).scores(terms, np.log([0.25, 0.75]), scores)
    assert scores[:, 0, 0].tolist() == [-np.inf, 1e20, -np.inf]
    assert scores[2, 0, 1] == np.log(0.75)


def test_the_prior_answers_where_every_class_is_impossible():
    terms = np.full((2, 3, 4), -np.inf)
    labels = np.empty((2, 4), dtype=np.int16)
    SharedSums.of([(0,), (0, 1)]).labels(terms, np.log([0.2, 0.5, 0.3]), labels)
    assert (labels == 1).all()


def test_only_the_columns_asked_for_are_needed(rng):
    terms, log_prior = rng.normal(size=(6, 2, 50)), np.log([0.5, 0.5])
    for subsets in (GROWN, SHRUNK, [(1, 3), (1, 5)]):
        shared = SharedSums.of(subsets)
        whole, part = np.empty((2, len(subsets), 50, 2))
        shared.scores(terms, log_prior, whole)
        columns = shared.columns
        assert columns == sorted({j for subset in subsets for j in subset})
        shared.among(columns).scores(np.ascontiguousarray(terms[columns]), log_prior, part)
        np.testing.assert_allclose(whole, part, rtol=1e-12)
