"""A small file that would fill the memory is refused while it is read, with a message that says what to do."""

from __future__ import annotations

import gzip
import io

import polars as pl
import pytest

from foldwise import read_table
from foldwise.data.reading import batches, expansion
from foldwise.data.reading.batches import read_batches
from foldwise.errors import InputError
from tests.data.workbooks import write_workbook

ROWS = b"a,b\n" + b"1,2\n" * 100_000


@pytest.fixture
def low_limits(monkeypatch):
    monkeypatch.setattr(expansion, "FREE", 100_000)
    monkeypatch.setattr(expansion, "PIECE", 10_000)


class CountingFile(io.BytesIO):
    """Bytes that count how many of them were read."""

    n_read = 0

    def read(self, n=-1):
        found = super().read(n)
        self.n_read += len(found)
        return found


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv.gz", ROWS),
        ("a.arff.gz", b"@relation r\n@attribute a numeric\n@data\n" + b"1\n" * 100_000),
        ("a.jsonl.gz", b'{"a": 1}\n' * 100_000),
    ],
)
def test_gzip_that_expands_too_far_is_refused(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text))
    with pytest.raises(
        InputError, match=r"may expand to at most .* kB here, but a\.\w+\.gz expands to more"
    ) as refused:
        read_table(path)
    assert "decompress it first" in str(refused.value)
    plain = tmp_path / name.removesuffix(".gz")
    plain.write_bytes(text)
    assert read_table(plain).X.height == 100_000


@pytest.mark.usefixtures("low_limits")
def test_reading_stops_at_the_limit(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(b"x" * 500)
    endless = CountingFile(bytes(10_000_000))
    with pytest.raises(InputError, match="a compressed file of 500 bytes may expand to at most 100 kB"):
        expansion.read_to_end(endless, path)
    assert endless.n_read == 110_000
    assert expansion.read_to_end(io.BytesIO(b"y" * 90_000), path) == b"y" * 90_000
    with pytest.raises(InputError, match="expands to more"):
        expansion.read_to_end(io.BytesIO(b"y" * 90_000), path, n_before=20_000)


def test_the_limit_grows_with_the_file_up_to_a_share_of_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    for size, memory, most in ((10, 1 << 34, 1 << 28), (4_000_000, 1 << 34, 400_000_000), (1 << 27, 1 << 34, 1 << 32)):
        monkeypatch.setattr(expansion, "memory", lambda memory=memory: memory)
        with path.open("wb") as file:
            file.truncate(size)
        assert expansion.most_expanded(path) == most


def test_memory_of_this_process(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(expansion, "CONTAINER_LIMIT", limit)
    whole = expansion.memory()
    assert whole > 1 << 28
    limit.write_text("max\n")
    assert expansion.memory() == whole
    limit.write_text("123456789\n")
    assert expansion.memory() == 123456789
    monkeypatch.delattr("os.sysconf", raising=False)
    assert expansion.memory() == 1 << 62


@pytest.mark.usefixtures("low_limits")
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_repeated_cells_of_typed_files(tmp_path, monkeypatch, ending):
    path, frame = tmp_path / f"a.{ending}", pl.DataFrame({"a": [1] * 50_000, "b": ["some text"] * 50_000})
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path, compression="zstd")
    assert read_table(path).X.equals(frame)  # few cells are always read
    monkeypatch.setattr(expansion, "FEW_CELLS", 1000)
    assert read_table(path).X.equals(frame)
    monkeypatch.setattr(expansion, "memory", lambda: 1_000_000)
    with pytest.raises(InputError, match=r"at most 500 kB of memory here, but the 50,000 rows of a\.\w+ need about"):
        read_table(path)
    assert sum(batch.height for batch in read_batches(path, {}, block=100_000)) == 50_000  # never in memory at once


def test_workbook_that_expands_too_far(tmp_path, monkeypatch):
    pytest.importorskip("fastexcel")
    path = write_workbook(tmp_path / "a.xlsx", [["a", "b"], *([1, 2] for _ in range(2000))])
    assert read_table(path).X.height == 2000
    monkeypatch.setattr(expansion, "FREE", 50_000)
    monkeypatch.setattr(expansion, "RATIO", 0.5)
    with pytest.raises(InputError, match=r"may expand to at most .* but a.xlsx expands to .* Hint: check .* as CSV"):
        read_table(path)


@pytest.mark.usefixtures("low_limits")
def test_duckdb_with_too_many_rows(tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, 2 AS b FROM range(20_000)")
    assert read_table(path).X.height == 20_000
    monkeypatch.setattr(expansion, "memory", lambda: 1_000_000)
    with pytest.raises(InputError, match=r"the 20,000 rows of a.duckdb need about 640 kB"):
        read_table(path)


def test_batches_hold_little_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(expansion, "FREE", 100_000)
    monkeypatch.setattr(expansion, "RATIO", 1)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    kinds = {"a": "numeric", "b": "numeric"}
    assert sum(batch.height for batch in read_batches(path, kinds, block=50_000)) == 100_000
    path.write_bytes(gzip.compress(ROWS.decode().encode("utf-16")))  # is read as a whole
    with pytest.raises(InputError, match="expands to more"):
        list(read_batches(path, kinds, block=50_000))
    monkeypatch.setattr(batches, "LONGEST_ROW", 200_000)
    path.write_bytes(gzip.compress(b'a,b\n"x",2\n' * 10_000 + b'"' + b"1,2\n" * 200_000))
    with pytest.raises(InputError, match=r"a row of a.csv.gz may have at most 200 kB, but one has more"):
        list(read_batches(path, {"a": "categorical", "b": "numeric"}, block=50_000))
