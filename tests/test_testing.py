"""The shipped checks pass on what we ship, and fail on what is broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.gaussian import Gaussian
from foldwise.testing import check_family, check_merging
from tests.slow import slow
from tests.summaries.small import small_moments


@pytest.mark.parametrize("missing", ["category", *slow("ignore")])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_keeps_the_laws(family, missing):
    check_family(family, alpha=0.0, missing=missing, n_rows=120)
    check_family(family, alpha=1.0, missing=missing, n_rows=120, gaps=0.5, seed=1, unseen="smooth")


def test_moments_merge(rng):
    X, y = rng.normal(1e8, 1, (3000, 2)), rng.integers(0, 3, 3000)

    def same(a, b):
        return bool((a.weight == b.weight).all() and np.allclose(a.m2, b.m2, rtol=1e-12, atol=0))

    check_merging(lambda rows: small_moments(X[rows].reshape(-1, 2), y[rows], 3), len(X), same)


def test_a_family_that_breaks_a_law_is_caught(monkeypatch):
    class Forgetful(Gaussian):
        """Learns the first rows only, so parts do not merge to the whole."""

        def summarize(self, view, columns, share):
            return super().summarize(view, columns, replace(share, stop=min(share.stop, share.start + 10)))

    monkeypatch.setitem(FAMILIES, "gaussian", Forgetful())
    with pytest.raises(AssertionError, match="differ"):
        check_family("gaussian")


def test_a_summary_that_does_not_merge_is_caught():
    with pytest.raises(AssertionError, match="do not merge to the summary"):
        check_merging(lambda rows: float(len(rows) ** 2), 50, lambda a, b: a == b)
