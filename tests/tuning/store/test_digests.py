"""Rows of a table have one digest, however they are selected and whatever holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from foldwise.folds.rows import take_rows
from foldwise.folds.splits import Split
from foldwise.tuning.store.digests import (
    FIRST,
    SECOND,
    RowHashes,
    described,
    digest_of_splits,
    mixed_sums,
    offsets,
)

rng = np.random.default_rng(0)
N = 40
ROWS = rng.permutation(N)[:25]
COLUMNS: dict[str, list[Any]] = {
    "number": rng.normal(size=N).tolist(),
    "gaps": [None if i % 7 == 0 else float(i) for i in range(N)],
    "count": rng.integers(0, 5, N).tolist(),
    "flag": (rng.random(N) < 0.5).tolist(),
    "text": [None if i % 11 == 0 else f"word {i % 3}" for i in range(N)],
}
TABLES: dict[str, Any] = {
    "floats": rng.normal(size=(N, 4)),
    "integers": rng.integers(0, 9, (N, 3)),
    "objects": np.array([[i, f"a{i % 4}"] for i in range(N)], dtype=object),
    "polars": pl.DataFrame(COLUMNS),
    "pandas": pd.DataFrame(COLUMNS),
    "sparse": sp.random_array((N, 6), density=0.3, rng=rng, format="csr"),
    "texts": [f"document {i}" for i in range(N)],
}
Y = np.array(list("ab" * (N // 2)))
WEIGHTS = rng.random(N)


@pytest.mark.parametrize("kind", TABLES)
def test_the_digest_of_some_rows_is_that_of_a_table_of_these_rows(kind: str) -> None:
    X = TABLES[kind]
    whole = RowHashes.of(X, Y, {"sample_weight": WEIGHTS, "other": 3}, groups=list(range(N)))
    part = RowHashes.of(take_rows(X, ROWS), Y[ROWS], {"sample_weight": WEIGHTS[ROWS], "other": 3}, groups=ROWS)
    assert whole.digest(ROWS) == part.digest()
    others = {whole.digest(), whole.digest(ROWS[::-1]), whole.digest(ROWS[1:]), whole.digest(np.append(ROWS, ROWS[0]))}
    assert len(others | {part.digest()}) == 5


def test_frames_of_other_libraries_have_the_same_digest() -> None:
    names = ["number", "count", "flag", "text"]
    digests = {RowHashes.of(TABLES[kind][names], Y, {}).digest() for kind in ("polars", "pandas")}
    assert len(digests) == 1


@pytest.mark.parametrize("kind", ["floats", "integers", "polars", "sparse"])
def test_every_cell_counts(kind: str) -> None:
    def digest(X: Any, **changes: Any) -> str:
        return RowHashes.of(X, **{"y": Y, "fit_params": {"sample_weight": WEIGHTS}, **changes}).digest()

    X = TABLES[kind]
    found = {digest(X), digest(X, y=Y[::-1]), digest(X, fit_params={}), digest(X, groups=np.arange(N))}
    if isinstance(X, pl.DataFrame):
        found |= {digest(X.with_columns(pl.col(name).shift(1))) for name in X.columns}
        found |= {digest(X.rename({name: "new"})) for name in X.columns}
        assert len(found) == 4 + 2 * X.width
        return
    dense = X.toarray() if sp.issparse(X) else X
    for i, j in zip(*np.unravel_index(np.arange(dense.size), dense.shape), strict=True):
        changed = dense.copy()
        changed[i, j] += 1
        found.add(digest(sp.csr_array(changed) if sp.issparse(X) else changed))
    swapped = dense[:, [1, 0, *range(2, dense.shape[1])]]
    found.add(digest(sp.csr_array(swapped) if sp.issparse(X) else swapped))
    assert len(found) == 4 + dense.size + 1


def test_sums_are_those_of_python() -> None:
    cells, added = rng.integers(0, 2**64, (5, 3), dtype=np.uint64), offsets(2, 3)

    def mixed(cell: int, more: int) -> int:
        found = (cell + more) * int(FIRST) % 2**64
        return (found ^ (found >> 32)) * int(SECOND) % 2**64

    sums = [sum(mixed(int(c), int(a)) for c, a in zip(row, added, strict=True)) % 2**64 for row in cells]
    assert [int(one) for one in mixed_sums(cells, added)] == sums
    assert [int(one) for one in added] == [k * 0x9E3779B97F4A7C15 % 2**64 for k in (3, 4, 5)]


def test_the_rows_of_splits_and_their_order_count() -> None:
    def digest(*pairs: tuple[list[int], list[int]]) -> str:
        return digest_of_splits([Split(np.array(train), np.array(test)) for train, test in pairs])

    found = [
        digest(([0, 1, 2], [3])),
        digest(([1, 0, 2], [3])),
        digest(([0, 1], [2, 3])),
        digest(([0, 1, 3], [2])),
        digest(([0, 1, 2], [3]), ([0, 1, 2], [3])),
    ]
    assert len(set(found)) == 5
    assert digest(([0, 1, 2], [3])) == found[0]


def test_descriptions_do_not_contain_addresses() -> None:
    assert described(object()) == described(object())
    assert described({"a": np.array([1.0])}) != described({"a": np.array([2.0])})


def test_a_class_of_a_script_is_the_same_in_processes_that_the_script_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        pass

    monkeypatch.setattr(Model, "__module__", "__main__")
    before = described(Model())
    monkeypatch.setattr(Model, "__module__", "__mp_main__")
    assert described(Model()) == before
