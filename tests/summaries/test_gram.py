"""Gram matrices merge exactly, also at large means, and integer weights equal repeated rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from foldwise.summaries import Gram, gram_of
from foldwise.testing import check_merging


def same(a: Gram, b: Gram) -> bool:
    spread = np.sqrt(np.diag(a.products))
    scale = np.multiply.outer(spread, spread)
    return (
        (a.rows, a.weight) == (b.rows, b.weight)
        and bool((np.abs(a.mean - b.mean) <= 1e-15 * (np.abs(a.mean) + spread)).all())
        and bool((np.abs(a.products - b.products) <= 1e-13 * scale).all())
    )


@pytest.mark.parametrize("mean", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_merge_to_the_whole(mean, weighted, rng):
    Z = rng.normal(size=(1500, 3)) @ rng.normal(size=(3, 3)) + mean
    weights = rng.integers(0, 3, 1500).astype(float) if weighted else None
    check_merging(lambda rows: gram_of(Z[rows], None if weights is None else weights[rows]), len(Z), same)


@pytest.mark.parametrize("mean", [0.0, 1e8, -1e12])
def test_exact_sums_of_products(mean, rng):
    Z = np.round(rng.normal(size=(40, 2)) * 8) / 8 + mean
    columns = [[Fraction(z) for z in column] for column in Z.T.tolist()]
    means = [sum(column) / 40 for column in columns]
    exact = [
        [
            float(sum((x - a) * (z - b) for x, z in zip(one, other, strict=True)))
            for other, b in zip(columns, means, strict=True)
        ]
        for one, a in zip(columns, means, strict=True)
    ]
    found = gram_of(Z[:7]) + gram_of(Z[7:])
    np.testing.assert_allclose(found.products, exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.mean, [float(m) for m in means], rtol=1e-15)


def test_weights_are_repetitions_and_no_row_is_neutral(rng):
    Z, weights = rng.normal(size=(50, 3)) + 2, rng.integers(0, 4, 50)
    weighted, repeated = gram_of(Z, weights.astype(float)), gram_of(np.repeat(Z, weights, axis=0))
    np.testing.assert_allclose(weighted.products, repeated.products, rtol=1e-12)
    assert weighted.weight == repeated.weight == weights.sum()
    assert same(weighted + Gram.empty(3), weighted)
    assert same(Gram.empty(3) + weighted, weighted)
    np.testing.assert_allclose(weighted.about_zero(), Z.T @ (weights[:, None] * Z), rtol=1e-12)
    chosen = weighted.select([2, 0])
    np.testing.assert_allclose(chosen.products, gram_of(Z[:, [2, 0]], weights.astype(float)).products, rtol=1e-12)
