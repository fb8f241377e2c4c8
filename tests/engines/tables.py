"""Tables for the engines, and how facts of an engine are compared with those of a local pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.base import clone, is_regressor

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, TableFacts
from foldwise.summaries import gram_of


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
    facts: Any, table: TableFacts, rows: pl.DataFrame, families: dict[str, str], tolerance: float = 1e-12
) -> None:
    """Compare the facts of some rows with those that naive Bayes learns from the rows."""
    if not rows.height:
        return
    assert table.classes is not None
    own = NaiveBayes(families=families)
    own.partial_fit(rows.select(table.schema.names), rows[table.target].to_numpy(), classes=table.classes)
    local = dict(zip((block.family for block in own._blocks), own.facts_.summaries, strict=True))
    assert facts.class_rows.tolist() == own.facts_.class_rows.tolist()
    for name, column in zip(table.categorical, facts.counts.columns, strict=True):
        index = [table.schema.names[j] for j in own._blocks[0].columns].index(name)
        wanted = local["categorical"].columns[index]
        assert column.levels == wanted.levels
        assert column.rows.tolist() == wanted.rows.tolist()
    if table.numeric:
        assert_same_moments(facts.moments, local["gaussian"], tolerance)


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
    for cell, rows in cells.items():
        if rows.height:
            assert_same_cell(facts.cells[cell], facts, rows, {}, tolerance)
        else:
            assert cell not in facts.cells


def local_gram(frame: pl.DataFrame, names: tuple[str, ...]) -> Any:
    return gram_of(frame.select(pl.col(names).cast(pl.Float64)).to_numpy())


def local_nested(
    frame: pl.DataFrame, target: str, folds: KeyFolds, estimator: Any, settings: list[dict[str, Any]]
) -> tuple[Any, list[Any], list[float]]:
    """A plain nested cross-validation by refits, on all rows: inner scores, chosen settings, scores of outer folds."""
    assigned = folds.assign(frame[folds.key].to_list())
    X, y = frame.drop(folds.key, target), frame[target].to_numpy()
    outer_fold, inner_fold = assigned.T

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
    inner_scores, best, outer = [], [], []
    for o in range(folds.outer):
        rest = outer_fold != o
        splits = [(rest & (inner_fold != i), rest & (inner_fold == i)) for i in range(folds.inner or 0)]
        scores = [np.concatenate([losses(one, *split) for split in splits]).mean() for one in settings]
        inner_scores.append(scores)
        best.append(settings[int(np.argmin(scores))])
        outer.append(root(losses(best[-1], rest, ~rest).mean()))
    return root(np.array(inner_scores)), best, outer


NESTED = KeyFolds("id", outer=3, inner=2, seed=5)
