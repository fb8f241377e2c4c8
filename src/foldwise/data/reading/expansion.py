"""Limit what a small file may become in memory. Compressed bytes are counted while they are decompressed."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO

import polars as pl

from foldwise.errors import InputError

FREE = 1 << 28  # bytes to which any file may expand; with rows of six bytes, reading them takes 2.2 GB of memory
RATIO = 100  # of expanded to compressed bytes: 24 for the most repetitive of our real tables, gzip allows 1,032
SHARE = 0.25  # of the memory: text of very short rows takes up to four times its size while it is read
TYPED_SHARE = 0.5  # of the memory, for cells that have their final types
PIECE = 1 << 20
FIRST_ROWS = 1000
FEW_CELLS = 4_000_000
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def read_to_end(file: IO[bytes], path: Path, n_before: int = 0) -> bytes:
    """Return the remaining bytes of a compressed file, and stop as soon as they are too many.

    Parameters
    ----------
    file : file
        The opened file, which returns decompressed bytes.
    path : path
        The compressed file.
    n_before : int
        Decompressed bytes that were read before.
    """
    most, kept = most_expanded(path), io.BytesIO()
    try:
        while piece := file.read(PIECE):
            kept.write(piece)
            if n_before + kept.tell() > most:
                raise too_large(path, most)
    except (OSError, EOFError, zlib.error) as error:
        raise truncated(path.name, error) from error
    return kept.getvalue()  # without a copy


def truncated(name: str, error: Exception) -> InputError:
    hint = "download or copy the file again; it may be truncated."
    return InputError(f"{name} cannot be read to its end: {error}.", hint)


def most_expanded(path: Path) -> int:
    """Return the number of bytes to which a compressed file may expand."""
    return max(FREE, min(RATIO * path.stat().st_size, int(SHARE * memory())))


def too_large(path: Path, most: int) -> InputError:
    size = in_words(path.stat().st_size)
    return InputError(
        f"a compressed file of {size} may expand to at most {in_words(most)} here, but {path.name} expands to more.",
        "check that it is the file you expect. If it is, decompress it first: there is no limit for plain files.",
    )


def check_workbook(data: bytes, path: Path) -> None:
    """Refuse a workbook whose parts expand to too many bytes. Their sizes are listed in it."""
    if not data.startswith(b"PK"):
        return
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        expanded = sum(part.file_size for part in book.infolist())
    most = most_expanded(path)
    if expanded > most:
        raise InputError(
            f"a workbook of {in_words(len(data))} may expand to at most {in_words(most)} here, but {path.name} expands "
            f"to {in_words(expanded)}.",
            "check that it is the file you expect. If it is, save the sheet as CSV.",
        )


def check_rows(lazy: pl.LazyFrame, path: Path) -> None:
    """Refuse a file whose cells would fill the memory: repeated cells take almost no space in Parquet and Feather."""
    n_rows, n_columns = int(lazy.select(pl.len()).collect().item()), len(lazy.collect_schema())
    if n_rows * n_columns > FEW_CELLS:
        first = lazy.head(FIRST_ROWS).collect()
        check_cells(n_rows, first.estimated_size() / first.height, path)


def check_cells(n_rows: int, row_bytes: float, path: Path) -> None:
    """Refuse a table that would fill the memory, by its number of rows and the size of a row."""
    needed, most = int(n_rows * row_bytes), max(FREE, int(TYPED_SHARE * memory()))
    if needed > most:
        raise InputError(
            f"a table may take at most {in_words(most)} of memory here, but the {n_rows:,} rows of {path.name} need "
            f"about {in_words(needed)}.",
            "keep fewer rows or columns in the file, or use a machine with more memory.",
        )


def memory() -> int:
    """Return the bytes of memory that this process may use; very many where the system does not tell."""
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return 1 << 62
    try:
        return min(most, int(CONTAINER_LIMIT.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return most


def in_words(n_bytes: int) -> str:
    """Write a number of bytes with its unit."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
