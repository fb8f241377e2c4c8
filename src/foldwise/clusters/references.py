"""Structureless tables of the same shape: uniform in the box of the principal axes (Tibshirani et al. 2001)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foldwise.arrays import Floats


def principal_scores(x: Floats) -> Floats:  # (n, d) -> (n, min(n, d))
    """Return the coordinates of rows on their principal axes, which keep all distances."""
    n, d = x.shape
    if d <= n:
        return np.asarray(x @ np.linalg.eigh(x.T @ x)[1])
    values, vectors = np.linalg.eigh(x @ x.T)  # n × n is the smaller product
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True)
class ReferenceBox:
    """The box that the rows fill along their principal axes."""

    low: Floats  # (d,)
    high: Floats  # (d,)

    @classmethod
    def of(cls, x: Floats) -> ReferenceBox:
        """Return the box of rows whose columns have mean 0."""
        scores = principal_scores(x)
        return cls(scores.min(axis=0), scores.max(axis=0))

    def draw(self, n: int, rng: np.random.Generator) -> Floats:  # (n, d)
        """Draw rows uniformly from the box, on its own axes; their columns have mean 0."""
        drawn = rng.uniform(self.low, self.high, size=(n, len(self.low)))
        return np.asarray(drawn - drawn.mean(axis=0))


def gap_statistic(own: Floats, references: Floats) -> tuple[Floats, Floats]:
    """Return the gap and its standard error for each k.

    `own` are the log inertias (n_ks,), `references` those of structureless tables (n_references, n_ks).
    """
    error = references.std(axis=0) * np.sqrt(1.0 + 1.0 / len(references))
    return references.mean(axis=0) - own, error


def gap_choice(ks: tuple[int, ...], gap: Floats, error: Floats) -> int:
    """Return the first k whose gap is at least that of the next k minus its standard error, else the last k."""
    for t in range(len(ks) - 1):
        if gap[t] >= gap[t + 1] - error[t + 1]:
            return ks[t]
    return ks[-1]
