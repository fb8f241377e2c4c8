"""Batches: the same cells as a file read whole, wherever it is cut."""

from __future__ import annotations

import gzip

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from foldwise import read_table
from foldwise.data.reading import batches
from foldwise.data.reading.batches import read_batches
from foldwise.errors import InputError
from tests.conftest import mixed_columns
from tests.tables import available, table_path

KINDS = {"size": "numeric", "color": "categorical", "code": "categorical", "member": "binary"}


@pytest.fixture
def frame(rng):
    columns = mixed_columns(rng, 3000)
    columns["code"] = [f"{i % 30:03d}" for i in range(3000)]
    columns["remark"] = ['plain, "quoted"\nand a second line' if i % 7 == 0 else "ß short" for i in range(3000)]
    return pl.DataFrame(columns)


@pytest.fixture(autouse=True)
def small_tail(monkeypatch):
    monkeypatch.setattr(batches, "TAIL", 200)


def joined(path, kinds=KINDS, block=4096):
    parts = list(read_batches(path, kinds, block))
    return pl.concat(parts, how="vertical_relaxed"), len(parts)


def same(path, **kinds):
    """Read in small batches, in one, and by `read_table` with the same kinds."""
    kinds = kinds or KINDS
    small, n_small = joined(path, kinds)
    large, n_large = joined(path, kinds, 1 << 25)
    assert n_large == 1 < n_small
    assert_frame_equal(small, large, check_dtypes=False)
    assert_frame_equal(large, read_table(path, kinds=kinds, index=False).X, check_dtypes=False)
    return small


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_with_quotes_over_lines(frame, tmp_path, separator):
    path = tmp_path / "t.csv"
    frame.write_csv(path, separator=separator)
    found = same(path)
    assert found["code"].to_list() == frame["code"].to_list()
    assert found["remark"].to_list() == frame["remark"].to_list()
    assert found["member"].to_list() == frame["member"].to_list()
    assert found["size"].to_list() == pytest.approx(frame["size"].to_list(), nan_ok=True)


def test_decimal_commas_missing_tokens_and_footnotes(tmp_path, rng):
    lines = ["title of the table", "", "size;color;code;member"]
    for i in range(2000):
        size = "?" if i % 50 == 3 else "-" if i % 500 == 7 else f"{i / 7:.3f}".replace(".", ",")
        lines.append(f"{size};{'NA' if i % 9 == 0 else 'red'};{i % 12:02d};{i % 2 == 0}")
    lines += [";;;", "", "Source: nobody in particular, of no year"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    found = same(path)
    assert found.height == 2000
    assert found["size"].null_count() == 44
    assert found["color"].null_count() == 223


def test_other_encodings_and_packed_files(frame, tmp_path):
    text = frame.drop("remark").with_columns(place=pl.lit("Köln")).write_csv()
    for name, encoding in (("a.csv", "cp1252"), ("b.csv", "utf-8-sig"), ("c.csv", "utf-16")):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        found, n = joined(path)
        assert (n > 1) == (encoding != "utf-16")
        assert set(found["place"]) == {"Köln"}
        assert found.height == 3000
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert joined(path)[0].height == 3000
    path.write_bytes(gzip.compress(text.encode())[:-3000])
    with pytest.raises(InputError, match="cannot be read to its end"):
        joined(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_slices_of_columnar_files(frame, tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    (frame.write_parquet if ending == "parquet" else frame.write_ipc)(path)
    found, n = joined(path, block=100_000)
    assert n > 1
    assert_frame_equal(found, frame)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match="cannot be read as"):
        joined(path)


def test_a_table_without_rows(frame, tmp_path):
    frame[:0].write_parquet(tmp_path / "t.parquet")
    assert joined(tmp_path / "t.parquet")[0].shape == (0, 7)


def test_other_formats_are_read_whole(frame, tmp_path):
    path = tmp_path / "t.jsonl"
    frame.write_ndjson(path)
    found, n = joined(path)
    assert (found.height, n) == (3000, 1)


def test_errors_say_where(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.drop("remark").with_columns(
        size=pl.when(pl.int_range(3000) == 2500).then(pl.lit("tall")).otherwise(pl.col("size").cast(pl.String))
    ).write_csv(path)
    with pytest.raises(InputError, match=r"t\.csv \(row 0 is row [\d,]+ of the file\): .* contains 'tall'"):
        joined(path)
    lines = frame.drop("remark").write_csv().splitlines(keepends=True)
    path.write_text("".join([*lines[:2000], "1,2\n", *lines[2000:]]))
    with pytest.raises(InputError, match=r"row 0 is row [\d,]+ of the file\): row \d+ has 2 cells"):
        joined(path)
    path.write_bytes("".join(lines[:2000]).encode() + b"K\xf6ln,1,true,1,a,001\n" + "".join(lines[2000:]).encode())
    with pytest.raises(InputError, match="byte 0xf6 is not UTF-8, but the rows before it are"):
        joined(path)
    with pytest.raises(InputError, match="does not exist"):
        joined(tmp_path / "none.csv")


@pytest.mark.parametrize(
    "name", available("penguins", "survey", "messages", "eucalyptus", "titanic", "sms_spam", "letter")
)
def test_real_tables(name):
    path = table_path(name)
    kinds = {n: "numeric" if t.is_numeric() else "categorical" for n, t in read_table(path).X.schema.items()}
    small, _ = joined(path, kinds, 8192)
    large, _ = joined(path, kinds, 1 << 26)
    assert_frame_equal(small, large, check_dtypes=False)
