"""From joint log-probabilities to posteriors, in place; the prior answers where every class is impossible."""

from __future__ import annotations

import numpy as np
from numba import njit

from foldwise.summaries.number_kernels import Floats


@njit(nogil=True, cache=True)
def shift_to_max(scores: Floats, log_prior: Floats) -> int:
    """Subtract each row's maximum: enough to choose a class. A row of only -inf becomes the prior; returns how many."""
    n, n_classes = scores.shape
    contradictions = 0
    for i in range(n):
        top = scores[i, 0]
        for c in range(1, n_classes):
            top = max(top, scores[i, c])
        if top == -np.inf:
            contradictions += 1
            top = log_prior.max()
            for c in range(n_classes):
                scores[i, c] = log_prior[c]
        for c in range(n_classes):
            scores[i, c] -= top
    return contradictions


@njit(nogil=True, cache=True)
def divide_by_sum(shares: Floats) -> None:
    """Make each row sum to 1."""
    n, n_classes = shares.shape
    for i in range(n):
        total = 0.0
        for c in range(n_classes):
            total += shares[i, c]
        share = 1.0 / total
        for c in range(n_classes):
            shares[i, c] *= share


def to_probabilities(scores: Floats, log_prior: Floats) -> int:
    """Joint log-probabilities become probabilities, in place; returns how many rows the prior answered."""
    contradictions = shift_to_max(scores, log_prior)
    np.exp(scores, out=scores)
    divide_by_sum(scores)
    return int(contradictions)


def to_log_probabilities(scores: Floats, log_prior: Floats) -> int:
    """Joint log-probabilities become log-probabilities, in place; returns how many rows the prior answered."""
    contradictions = shift_to_max(scores, log_prior)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return int(contradictions)
