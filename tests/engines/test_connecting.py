"""Connections that Foldwise opens itself."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import polars as pl
import pytest

from foldwise.engines import table_of


def test_duckdb_spills_into_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary, current = tmp_path / "temporary", tmp_path / "current"
    temporary.mkdir()
    current.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.chdir(current)
    pl.DataFrame({"x": range(1000)}).write_parquet(tmp_path / "a.parquet")
    table = table_of(tmp_path / "a.parquet", memory="40MB")
    raw = table.get_backend().con
    raw.execute("set threads = 1")
    raw.execute("set preserve_insertion_order = false")
    # sorting 80 MB in 40 MB of memory
    sorted_rows = raw.sql("select i, hash(i) as h from range(5000000) t(i) order by h").to_arrow_reader(100_000)
    sorted_rows.read_next_batch()
    [folder] = temporary.iterdir()
    assert list(folder.iterdir())
    assert not list(current.iterdir())
    del sorted_rows
    table.get_backend().disconnect()
    del raw, table
    gc.collect()
    assert not list(temporary.iterdir())
