"""Keys of folds: integers and text of any kind give the same folds on every engine; other keys are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from foldwise import NaiveBayes
from foldwise.engines import KeyFolds, facts_of
from foldwise.errors import InputError
from foldwise.evaluation import nested_in_engine
from tests.engines.conftest import loader
from tests.engines.tables import assert_same_facts, local_nested, mixed_table
from tests.slow import slow

ENGINES = ["duckdb", "postgres", *slow("sqlite", "spark")]
PARTS = ["it's {}", 'é "{}"', "e\u0301 {}", "'); drop table t; -- {}", " {} ", "雪\\{}", "%s {}", "-{}", "{}.0", "0{}"]


def text_keys(n: int) -> list[str]:
    """Different texts with quotes, accents, blanks and digits."""
    return [PARTS[i % len(PARTS)].format(i) for i in range(n)]


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_of_text(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    frame = mixed_table(400).with_columns(pl.Series("id", text_keys(400)))
    folds = KeyFolds("id", 3, 2, seed=2)
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        assert_same_facts(facts_of(table, "label", folds=folds), frame)
        found = nested_in_engine(
            NaiveBayes(), [{}, {"alpha": 9.0}], table, "label", key="id", outer=3, inner=2, seed=2, sample=300
        )
    sampled = folds.sampled(frame["id"].to_list(), 0.75)
    plain = local_nested(frame, "label", folds, NaiveBayes(), [{}, {"alpha": 9.0}], sampled)
    assert found.sample_rows == sampled.sum() < 400
    np.testing.assert_allclose(found.inner_scores, plain.inner, rtol=1e-9)
    np.testing.assert_allclose(found.fold_scores, plain.outer, rtol=1e-9)


def refused_keys() -> dict[str, list[Any]]:
    """Keys of 60 rows that are missing or repeated, dense and sparse, of integers and of text."""
    dense, sparse, text = list(range(60)), [10**6 * i for i in range(60)], text_keys(60)
    found = {"dense": dense, "sparse": sparse, "text": text}
    repeated = {f"{name}, repeated": [*keys[:-1], keys[0]] for name, keys in found.items()}
    missing = {f"{name}, missing": [*keys[:-1], None] for name, keys in found.items()}
    return {**repeated, **missing, "all missing": [None] * 60}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_must_be_present_and_unique(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    keys = refused_keys()
    rows = {
        name: pl.Series(name, cells, dtype=pl.String if "text" in name else pl.Int64) for name, cells in keys.items()
    }
    frame = mixed_table(60).select("whole", "far", "label").with_columns(**rows)
    given: dict[str, Any] = {"columns": ["whole"]}
    with loader(engine, request, tmp_path) as load:
        table = load(frame)
        for key in keys:
            with pytest.raises(InputError, match=f"column '{key}' has missing or repeated values"):
                facts_of(table, "label", folds=KeyFolds(key, 2), **given)
            with pytest.raises(InputError, match=f"column '{key}' has missing or repeated values"):
                nested_in_engine(NaiveBayes(), [{}], table, "label", key=key, outer=2, inner=2, **given)
        with pytest.raises(InputError, match="integers or text"):
            nested_in_engine(NaiveBayes(), [{}], table, "label", key="far", **given)
