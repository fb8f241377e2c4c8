"""Tables for the engines, and how facts of an engine are compared with those of a local pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.base import clone, is_regressor

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, TableFacts
from foldwise.engines.table_facts import CellFacts
from foldwise.summaries import Gram, gram_of


def mixed_table(n: int = 600, seed: int = 3) -> pl.DataFrame:
    """Columns of every kind, with missing cells, NaN beside null, a large mean, and a unique key."""
    rng = np.random.default_rng(seed)
    label = rng.choice(["no", "yes", 'it\'s "new"'], n, p=[0.5, 0.4, 0.1])
    far = 1e8 + rng.normal(size=n) + (label == "yes")
    gaps = [None if i % 11 == 0 else float("nan") if i % 13 == 0 else x for i, x in enumerate(rng.normal(size=n))]
    return pl.DataFrame(
        {
            "id": np.arange(n) * 7,
            "far": far,
            "gaps": pl.Series(gaps, dtype=pl.Float64, strict=False),
            "whole": rng.integers(0, 9, n),
            "by class": np.where(label == "no", 1e6, -1e6) + rng.normal(size=n),
            "color": [None if i % 17 == 0 else one for i, one in enumerate(rng.choice(["red", "Grün", "'); drop"], n))],
            "flag": rng.random(n) < 0.3,
            "label": label,
        }
    )


def assert_close(found: Any, wanted: Any, what: str) -> None:
    """Relative to 1e-12, and to rounding errors of values that are 0."""
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(wanted).max()), err_msg=what)


def assert_same_cell(
    facts: CellFacts, table: TableFacts, rows: pl.DataFrame, tolerance: float = 1e-12, spread: Any = None
) -> None:
    """Compare the facts of some rows with those that naive Bayes learns from the rows; `spread` is for products."""
    classes, y = table.classes, rows[table.target].to_numpy()
    assert_same_values(facts, table, rows)
    if facts.grams is not None:
        assert_same_grams(facts.grams, table, rows, max(1e-11, tolerance) * spread)
    if classes is None:  # all rows of a quantity are one class; naive Bayes wants two
        classes, y, facts = np.array([0, 1]), np.zeros(rows.height, dtype=int), facts.expand(np.array([0]), 2)
    own = NaiveBayes()
    own.partial_fit(rows.select(table.schema.names), y, classes=classes)
    local = dict(zip((block.family for block in own._blocks), own.facts_.summaries, strict=True))
    assert facts.class_rows.tolist() == own.facts_.class_rows.tolist()
    for name, column in zip(table.categorical, facts.counts.columns, strict=True):
        index = [table.schema.names[j] for j in own._blocks[0].columns].index(name)
        wanted = local["categorical"].columns[index]
        assert column.levels == wanted.levels
        assert column.rows.tolist() == wanted.rows.tolist()
    if table.numeric:
        assert_same_moments(facts.moments, local["gaussian"], tolerance)


def class_codes(table: TableFacts, rows: pl.DataFrame) -> Any:
    """The index of the class of each row; 0 for a quantity."""
    if table.classes is None:
        return np.zeros(rows.height, dtype=int)
    index = {label: i for i, label in enumerate(table.classes.tolist())}
    return np.array([index[label] for label in rows[table.target].to_list()], dtype=int)


def assert_same_values(facts: CellFacts, table: TableFacts, rows: pl.DataFrame) -> None:
    """Compare how often each value occurs in each class, or the rows between cut points, with a plain count."""
    codes = class_codes(table, rows)
    columns = [*zip(table.valued, [None] * len(table.valued), facts.values.columns, strict=True)]
    columns += [(name, edges, one) for (name, edges), one in zip(table.cuts.items(), facts.bins.columns, strict=True)]
    for name, edges, found in columns:
        x = rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        y, x = codes[~np.isnan(x)], x[~np.isnan(x)] + 0.0
        if edges is not None:
            x = edges[1:][np.searchsorted(edges[1:-1], x)]
        pairs, counts = np.unique(np.column_stack([y, x]), axis=0, return_counts=True)
        assert [found.y.tolist(), found.x.tolist(), found.rows.tolist()] == [*pairs.T.tolist(), counts.tolist()], name


def gram_columns(table: TableFacts) -> tuple[str, ...]:
    """The columns of sums of products: the numeric ones, and a quantity."""
    return (*table.numeric, *([table.target] if table.classes is None else []))


def assert_same_grams(grams: tuple[Gram, ...], table: TableFacts, rows: pl.DataFrame, tolerance: Any) -> None:
    """Compare sums of products by class with local ones; the tolerance is that of one row of each column."""
    codes = class_codes(table, rows)
    for c, gram in enumerate(grams):
        wanted = local_gram(rows.filter(pl.Series(codes == c)), gram_columns(table))
        assert gram.rows == wanted.rows
        assert (np.abs(gram.products - wanted.products) <= rows.height * tolerance).all()


def assert_same_moments(found: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    assert found.rows.tolist() == wanted.rows.tolist()
    pooled = wanted.pooled()
    spread = np.sqrt(pooled.m2 / np.maximum(pooled.weight, 1.0))
    apart = np.abs((found.high - wanted.high) + (found.low - wanted.low))
    assert (apart <= 1e-12 * spread).all()  # far better than relative to the mean
    scale = np.where(pooled.m2 > 0, pooled.m2, 1.0)  # rounding may leave 1e-17 of a column that is constant in a fold
    error = np.abs(found.m2 - wanted.m2) / np.maximum(wanted.m2, 1e-3 * scale)
    assert error.max(initial=0.0) < tolerance


def assert_same_facts(facts: TableFacts, frame: pl.DataFrame, tolerance: float = 1e-12) -> None:
    """Compare the facts of all cells with local ones."""
    cells = {(): frame}
    if facts.folds is not None:
        assigned = facts.folds.assign(frame[facts.folds.key].to_list())
        cells = {cell: frame.filter((assigned == cell).all(axis=1)) for cell in np.ndindex(*facts.folds.sizes)}
    spread = None
    if facts.total.grams is not None:
        deviations = np.sqrt(np.diag(local_gram(frame, gram_columns(facts)).products) / frame.height)
        spread = np.multiply.outer(deviations, deviations)
    for cell, rows in cells.items():
        if rows.height:
            assert_same_cell(facts.cells[cell], facts, rows, tolerance, spread)
        else:
            assert cell not in facts.cells


def local_gram(frame: pl.DataFrame, names: tuple[str, ...]) -> Any:
    return gram_of(frame.select(pl.col(names).cast(pl.Float64)).to_numpy())


class LocalNested(NamedTuple):
    """What a plain nested cross-validation found."""

    inner: Any  # (outer, settings)
    best: list[dict[str, Any]]
    outer: list[float]
    standard_error: float  # of the mean loss of all rows
    sample_error: float  # the mean over outer folds, of the inner score of the chosen setting


def local_nested(
    frame: pl.DataFrame,
    target: str,
    folds: KeyFolds,
    estimator: Any,
    settings: list[dict[str, Any]],
    sampled: Any = None,
) -> LocalNested:
    """A plain nested cross-validation by refits; settings are compared on all rows, or on those that are `sampled`."""
    assigned = folds.assign(frame[folds.key].to_list())
    X, y = frame.drop(folds.key, target), frame[target].to_numpy()
    outer_fold, inner_fold = assigned.T
    sampled = np.ones(frame.height, dtype=bool) if sampled is None else sampled

    def losses(setting: dict[str, Any], train: Any, test: Any) -> Any:
        """The losses of the test rows."""
        model = clone(estimator).set_params(**setting)
        if is_regressor(estimator):
            return (model.fit(X.filter(train), y[train]).predict(X.filter(test)) - y[test]) ** 2
        shares = model.fit(X.filter(train), y[train]).predict_proba(X.filter(test))
        index = {label: i for i, label in enumerate(model.classes_.tolist())}
        own = [shares[i, index[label]] if label in index else 0.0 for i, label in enumerate(y[test].tolist())]
        return -np.log(np.maximum(own, np.finfo(np.float64).eps))  # as scikit-learn clips probabilities

    root = np.sqrt if is_regressor(estimator) else np.asarray
    inner_scores, best, outer, errors = [], [], [], []
    for o in range(folds.outer):
        rest = outer_fold != o
        splits = [(rest & (inner_fold != i), rest & (inner_fold == i) & sampled) for i in range(folds.inner or 0)]
        tested = [np.concatenate([losses(one, *split) for split in splits]) for one in settings]
        inner_scores.append([one.mean() for one in tested])
        chosen = int(np.argmin(inner_scores[-1]))
        best.append(settings[chosen])
        errors.append(tested[chosen].std(ddof=1) / np.sqrt(len(tested[chosen])))
        outer.append(losses(best[-1], rest, ~rest))
    every = np.concatenate(outer)
    means = [root(one.mean()) for one in outer]
    return LocalNested(
        root(np.array(inner_scores)), best, means, every.std() / np.sqrt(len(every)), float(np.mean(errors))
    )


NESTED = KeyFolds("id", outer=3, inner=2, seed=5)
