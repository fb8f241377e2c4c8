"""`GramRoot`: merging in any order gives the same products, and removed rows leave those of the rest."""

from __future__ import annotations

import numpy as np
import pytest

from foldwise.errors import ForgetError
from foldwise.summaries.gram_root import root_of


def rows_at(n: int, seed: int = 0):
    """Columns of a large mean, an exact combination of two others, and two that add up to 1."""
    rng = np.random.default_rng(seed)
    a, b, part = rng.normal(size=n), 1e8 + rng.normal(size=n), rng.integers(0, 2, n)
    return np.column_stack([a, b, 2 * a, part, 1 - part, a + rng.normal(size=n)]), rng.choice([0.5, 1.0, 4.0], n)


def products(found):
    return found.root.T @ found.root


def plain(Z, weights):
    w = np.ones(len(Z)) if weights is None else weights
    centered = Z - np.average(Z, axis=0, weights=w)
    return (centered * w[:, None]).T @ centered


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_merge_to_the_whole_and_are_removed_again(weighted):
    Z, w = rows_at(9_000)
    w = w if weighted else None
    parts = [slice(0, 3), slice(3, 5_000), slice(5_000, None)]
    some = [root_of(Z[part], None if w is None else w[part]) for part in parts]
    for whole in (root_of(Z, w), some[0] + some[1] + some[2], some[2] + (some[1] + some[0])):
        np.testing.assert_allclose(products(whole), plain(Z, w), rtol=1e-9, atol=1e-5)
        np.testing.assert_allclose(whole.mean, np.average(Z, axis=0, weights=w), rtol=1e-14, atol=1e-14)
        assert whole.rows == 9_000
    rest = (some[0] + some[1] + some[2]) - some[2]
    before = None if w is None else w[:5_000]
    np.testing.assert_allclose(products(rest), plain(Z[:5_000], before), rtol=1e-9, atol=1e-5)
    np.testing.assert_allclose(rest.mean, np.average(Z[:5_000], axis=0, weights=before), rtol=1e-14, atol=1e-13)


def test_a_level_whose_rows_are_all_removed_becomes_a_constant():
    Z, _ = rows_at(300)
    of_level = Z[:, 3] == 1
    rest = root_of(Z) - root_of(Z[of_level])
    np.testing.assert_allclose(products(rest), plain(Z[~of_level], None), atol=1e-5)
    assert np.abs(products(rest)[3]).max() < 1e-7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda Z: Z[:50] * 3.0, "not learned"),
        (lambda Z: Z[:50] + np.arange(6.0), "not learned"),  # the columns no longer add up
        (lambda Z: np.vstack([Z, Z]), "only 200 rows"),
        (lambda Z: Z, "no row would be left"),
    ],
)
def test_rows_that_were_not_learned_are_refused(change, words):
    Z, _ = rows_at(200)
    with pytest.raises(ForgetError, match=words):
        root_of(Z) - root_of(change(Z))


def test_what_would_not_be_precise_is_refused():
    rng = np.random.default_rng(0)
    a = rng.normal(size=100)
    Z = np.column_stack([a, np.where(np.arange(100) < 5, 1.0, 0.0) + 1e-4 * rng.normal(size=100)])
    with pytest.raises(ForgetError, match="precision would be lost"):  # nearly all variance of a column goes
        root_of(Z) - root_of(Z[:5])
    near = np.column_stack([a, a + 1e-8 * rng.normal(size=100)])
    with pytest.raises(ForgetError, match="nearly collinear"):
        root_of(near) - root_of(near[:5])
