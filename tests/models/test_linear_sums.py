"""`LinearSums`: pipelines from updated sums equal pipelines that are fitted on all rows, to the law."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from foldwise import open_model, save_model
from foldwise.errors import ForgetError, InputError
from foldwise.models import catalogue, outline
from foldwise.models.linear_sums import sums_of, why_not
from tests.models.tables import mixed, table_of
from tests.slow import slow

N, FIRST = 360, 240


def table(seed: int = 0):
    """Numbers, dates and categories with gaps; a large mean; a column and its double; a level of late rows only."""
    rng = np.random.default_rng(seed)
    X = mixed(N, seed).X.drop("said")
    large = 1e6 + rng.normal(size=N)
    late = pl.when(pl.int_range(N) >= FIRST + 40).then(pl.lit("late")).otherwise("color").alias("color")
    X = X.with_columns(late, large=pl.Series(large), double=X["size"] * 2)
    y = 40 + 3 * rng.normal(size=N) + X["size"].fill_null(3).to_numpy() + 2 * (large - 1e6)
    return X, y, rng.choice([0.2, 1.0, 3.0], N)


def member_of(name: str, X, y, **params):
    return catalogue()[name].suited("regression").pipeline(outline(table_of(X, y))).set_params(**params)


class Fitting:
    """Fits a pipeline on some rows."""

    def __init__(self, member, X, y, weights):
        self.member, self.X, self.y, self.weights = member, X, y, weights

    def rows(self, some):
        return self.X[some], self.y[some], None if self.weights is None else self.weights[some]

    def fitted(self, some):
        X, y, weights = self.rows(some)
        return clone(self.member).fit(X, y, **({} if weights is None else {"model__sample_weight": weights}))


def assert_lawful(found, fitting, some):
    """Regression values to 1e-10 of their size, or ten times as far as the peer moves when its rows are permuted."""
    order = np.random.default_rng(0).permutation(np.arange(N)[some])
    by_law, moved = (fitting.fitted(rows).predict(fitting.X) for rows in (np.sort(order), order))
    size = np.maximum(np.abs(by_law), fitting.y.std())
    allowed = np.maximum(1e-10 * size, 10 * np.abs(moved - by_law).max())
    np.testing.assert_array_less(np.abs(found.predict(fitting.X) - by_law), allowed)


@pytest.mark.parametrize("weighted", [True, *slow(False)])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("linear_regression", {}),
        ("ridge", {"model__regressor__alpha": 1e-3}),
        ("ridge", {"model__regressor__alpha": 50.0}),
    ],
)
def test_updated_sums_equal_training_on_all_rows_to_the_law(name, params, weighted, tmp_path):
    X, y, weights = table()
    fitting = Fitting(member_of(name, X, y, **params), X, y, weights if weighted else None)
    first = fitting.fitted(slice(0, FIRST))
    sums = sums_of([first], *fitting.rows(slice(0, FIRST)))
    assert sums.fits(first)
    assert_lawful(sums.finished(first), fitting, slice(0, FIRST))
    more = sums.plus(first, *fitting.rows(slice(FIRST, N)))
    updated = more.finished(first)
    assert_lawful(updated, fitting, slice(0, N))
    rest = more.minus(first, *fitting.rows(slice(0, 100)))
    assert_lawful(rest.finished(updated), fitting, slice(100, N))
    back = more.minus(updated, *fitting.rows(slice(FIRST, N)))  # the late level goes with its rows
    assert_lawful(back.finished(updated), fitting, slice(0, FIRST))
    unseen = X[:5].with_columns(pl.lit("violet").alias("color"), pl.lit(None, pl.Float64).alias("large"))
    every = fitting.fitted(slice(0, N))
    np.testing.assert_allclose(updated.predict(unseen), every.predict(unseen), rtol=1e-9)
    save_model(tmp_path / "model.foldwise", updated, X)
    np.testing.assert_array_equal(open_model(tmp_path / "model.foldwise").predict(X), updated.predict(X))


def test_gaps_that_appear_only_in_new_rows_get_an_indicator():
    X, y, _ = table(1)
    X = X.with_columns(large=pl.when(pl.int_range(N) % 7 == 0, pl.int_range(N) >= FIRST).then(None).otherwise("large"))
    fitting = Fitting(member_of("ridge", X, y), X, y, None)
    first = fitting.fitted(slice(0, FIRST))
    more = sums_of([first], *fitting.rows(slice(0, FIRST))).plus(first, *fitting.rows(slice(FIRST, N)))
    assert_lawful(more.finished(first), fitting, slice(0, N))


@pytest.mark.parametrize(
    ("name", "params", "column", "words"),
    [
        ("lasso", {}, None, "it contains lasso, and only linear and ridge regression"),
        ("ridge", {"model__transform": "log"}, None, "its target was transformed (log)"),
        (
            "ridge",
            {},
            pl.Series("said", ["some free text here", "and more of it", "again"] * (N // 3)),
            "contains text",
        ),
        (
            "ridge",
            {},
            pl.Series("code", [f"c{i // 2}" for i in range(N)]),
            "column 'code' has more than 100 categories",
        ),
    ],
)
def test_what_is_not_a_sum_is_refused_by_name(name, params, column, words):
    X, y, _ = table()
    X = X if column is None else X.with_columns(column)
    roles = {} if column is None or column.name != "said" else {"said": "text"}
    about = outline(table_of(X, y))
    about = about if not roles else about.__class__(**{**vars(about), "roles": {**about.roles, **roles}})
    member = catalogue()[name].suited("regression").pipeline(about).set_params(**params).fit(X, y)
    assert words in why_not(member)
    assert sums_of([member], X, y, None) is None


def test_rows_that_cannot_be_added_or_removed_are_refused_by_name():
    X, y, weights = table()
    fitting = Fitting(member_of("ridge", X, y), X, y, None)
    first = fitting.fitted(slice(0, FIRST))
    sums = sums_of([first], *fitting.rows(slice(0, FIRST)))
    new, values, _ = fitting.rows(slice(FIRST, FIRST + 30))
    with pytest.raises(InputError, match="column 'large' contains an infinite number"):
        sums.plus(first, new.with_columns(large=pl.lit(np.inf)), values, None)
    with pytest.raises(InputError, match="must have weights"):
        sums.plus(first, new, values, weights[:30])
    with pytest.raises(ForgetError, match="none of its rows has 'violet'"):
        sums.minus(first, new.with_columns(color=pl.lit("violet")), values, None)
    with pytest.raises(ForgetError, match="not learned these rows"):
        sums.minus(first, new.with_columns(large=pl.col("large") + 100), values, None)
    many = pl.Series("city", [f"place {i}" for i in range(120)])
    with pytest.raises(InputError, match="column 'city' would have more than 100 categories"):
        sums.plus(first, X[:120].with_columns(many), y[:120], None).finished(first)


def test_sums_of_a_damaged_file_do_not_fit():
    X, y, _ = table()
    member = member_of("ridge", X, y).fit(X, y)
    sums = sums_of([member], X, y, None)
    for name, value in {"pivots": np.zeros(2), "levels": [], "plain": None, "ranges": np.zeros((2, 1))}.items():
        damaged = sums.__class__(**{**vars(sums), name: value})
        assert not damaged.fits(member)
