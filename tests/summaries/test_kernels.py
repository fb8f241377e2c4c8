"""Each layout of cells and each kernel against the plain one: by row, by column, few classes, many, odd sizes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from foldwise.data.cells import BUFFER_ROWS, CHUNK_ROWS, ChunkedCells, common_block
from foldwise.data.transpose import transpose_into
from foldwise.data.view import view
from foldwise.summaries.counts import counts_of
from foldwise.summaries.moments import moments_of
from foldwise.summaries.passes import ThreadShare, class_weights_of, map_rows, windows

SHAPES = [(1, 1), (1, 5), (7, 1), (13, 3), (100, 4), (1025, 9), (16_385, 5)]


def layouts(X):
    """The same table in every way it may lie in memory."""
    yield "C", X
    yield "Fortran", np.asfortranarray(X)
    yield "pandas", pd.DataFrame(X)
    yield "pandas slice", pd.DataFrame(np.vstack([X, X])).iloc[: len(X)]
    yield "separate columns", pd.DataFrame({f"c{j}": X[:, j].copy() for j in range(X.shape[1])})
    yield "strided", np.repeat(X, 2, axis=1)[:, ::2]
    yield "reversed", X[::-1].copy()[::-1]
    read_only = X.copy()
    read_only.flags.writeable = False
    yield "read-only", read_only


@pytest.mark.parametrize("n_classes", [1, 2, 4, 5, 30])
@pytest.mark.parametrize("shape", SHAPES)
def test_moments_in_every_layout(shape, n_classes, rng):
    X = rng.normal(3, 2, shape)
    y = rng.integers(0, n_classes, len(X))
    w = rng.integers(0, 3, len(X)).astype(float)
    weight = np.array([[w[y == c].sum()] * X.shape[1] for c in range(n_classes)])
    total = np.array([(w[y == c, None] * X[y == c]).sum(axis=0) for c in range(n_classes)])
    square = np.array([(w[y == c, None] * X[y == c] ** 2).sum(axis=0) for c in range(n_classes)])
    for name, table in layouts(X):
        found = moments_of(view(table).numbers(range(X.shape[1])), ThreadShare.of(y, n_classes, w))
        assert (found.weight == weight).all(), name
        assert found.rows[:, 0].tolist() == [np.sum((y == c) & (w > 0)) for c in range(n_classes)], name
        np.testing.assert_allclose(found.mean * weight, total, rtol=1e-11, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(found.m2 + found.mean**2 * weight, square, rtol=1e-11, err_msg=name)
    rows = [np.sum((y == c) & (w > 0)) for c in range(n_classes)]
    np.testing.assert_array_equal(class_weights_of(ThreadShare.of(y, n_classes, w)), [weight[:, 0], rows])


@pytest.mark.parametrize("n_classes", [1, 2, 5, 30])
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_in_every_layout(shape, n_classes, rng):
    X = rng.integers(-2, 6, shape)
    y = rng.integers(0, n_classes, len(X))
    for name, table in layouts(X):
        found = counts_of(view(table), range(X.shape[1]), ThreadShare.of(y, n_classes))
        for j, column in enumerate(found.columns):
            assert column.levels == tuple(np.unique(X[:, j]).tolist()), name
            for level, weight in zip(column.levels, column.weight, strict=True):
                expected = [np.sum((X[:, j] == level) & (y == c)) for c in range(n_classes)]
                assert weight.tolist() == expected, name


@pytest.mark.parametrize("n_rows", [CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_chunks_meet_without_gap_or_overlap(n_rows, rng):
    X = rng.integers(0, 4, (n_rows, 2))
    y = rng.integers(0, 2, n_rows)
    expected = [[int(np.sum((X[:, 0] == v) & (y == c))) for c in (0, 1)] for v in range(4)]
    for table in (X, np.asfortranarray(X), X.astype(np.int8), pd.DataFrame(X)):
        assert counts_of(view(table), [0, 1], ThreadShare.of(y, 2)).columns[0].weight.tolist() == expected
    gathered = view(X.astype(np.float32)).numbers([0, 1])
    assert gathered.chunk_rows == BUFFER_ROWS
    found = moments_of(gathered, ThreadShare.of(y, 2))
    assert found.weight.sum() == 2 * n_rows


def test_cells_that_lie_together_are_not_copied(rng):
    X = rng.normal(size=(10, 4))
    for table, by_column in ((X, False), (np.asfortranarray(X), True)):
        block = common_block(list(table.T), np.dtype(np.float64))
        assert block is not None
        assert block[1] is by_column
        assert np.shares_memory(block[0], table)
    frame = pd.DataFrame(X)
    chunk = view(frame).numbers(range(4)).chunk(2, 5)
    assert np.shares_memory(chunk.cells, frame[0].to_numpy())
    np.testing.assert_array_equal(chunk.rows, X[2:5])
    assert common_block([X[:, 0], X[:, 2]], np.dtype(np.float64)) is None
    assert common_block([X[:, 1], X[:, 0]], np.dtype(np.float64)) is None
    assert common_block([], np.dtype(np.float64)) is None


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (4, 4), (9, 1030)])
def test_transposition(shape, rng):
    cells = rng.normal(size=shape)
    for start, stop in ((0, shape[1]), (shape[1] // 3, shape[1])):
        rows = np.empty((stop - start, shape[0]))
        transpose_into(cells, start, stop, rows)
        np.testing.assert_array_equal(rows, cells[:, start:stop].T)


def test_a_reader_and_an_array_may_stand_side_by_side():
    def ones(start, stop, out):
        out[:] = 1.0

    cells = ChunkedCells(["a", "b"], 3, [np.arange(3.0), ones], np.float64)
    assert cells.chunk(1, 3).rows.tolist() == [[1.0, 1.0], [2.0, 1.0]]


@pytest.mark.parametrize("n_jobs", [1, 2, 3, None])
def test_threads_cover_the_rows_once_and_in_order(n_jobs):
    found = map_rows(1_000_003, 10, n_jobs, lambda start, stop: (start, stop))
    assert found[0][0] == 0
    assert found[-1][1] == 1_000_003
    assert all(a[1] == b[0] for a, b in pairwise(found))
    assert map_rows(5, 2, n_jobs, lambda start, stop: (start, stop)) == [(0, 5)]
    assert list(windows(3, 10, 4)) == [(3, 7), (7, 10)]
