"""Feature selection before a model: the columns that help are kept, also if a class is too rare for every fold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from foldwise.models.feature_selection import SelectInformative


def rows_of(counts):
    """Rows of classes with these counts: `a` and `b` tell the classes apart, `c` and `d` are noise."""
    noise = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    known = {name: y + noise.normal(scale=0.1, size=len(y)) for name in "ab"}
    return pl.DataFrame({**known, **{name: noise.normal(size=len(y)) for name in "cd"}}), y


@pytest.mark.parametrize("rare", [1, 2, 3])
def test_a_class_that_is_not_in_every_fold(rare):
    X, y = rows_of([30, 30, rare])
    chosen = SelectInformative(("a", "b", "c", "d"), share=0.25).fit(X, y)
    assert len(chosen.kept_) == 1
    assert set(chosen.kept_) <= {"a", "b"}
    assert set(chosen.blank_) >= {"c", "d"}
    assert chosen.transform(X)["c"].null_count() == X.height


def test_no_column_is_left_out_if_the_classes_are_too_rare_to_choose():
    X, y = rows_of([30, 2, 1])
    chosen = SelectInformative(("a", "b", "c", "d"), share=0.25).fit(X, y)
    assert chosen.kept_ == ["a", "b", "c", "d"]
    assert chosen.blank_ == []
