"""Read the bytes of a file and find its format: by its first bytes if they tell, else by its name."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from foldwise.addresses import is_like_address
from foldwise.data.reading.expansion import read_to_end, truncated
from foldwise.errors import InputError

SUFFIXES = {
    suffix: format
    for format, suffixes in {
        "text": ".csv .tsv .tab .txt .data .dat .test",
        "arff": ".arff",
        "parquet": ".parquet .pq",
        "feather": ".feather .arrow .ipc",
        "json": ".jsonl .ndjson .json",
        "excel": ".xlsx .xlsm .xls .xlsb .ods",
        "sqlite": ".db .sqlite .sqlite3",
        "duckdb": ".duckdb",
    }.items()
    for suffix in suffixes.split()
}
HEAD = 1 << 20  # bytes from which a format is recognized
GZIP = b"\x1f\x8b"
SQLITE = b"SQLite format 3\x00"
DUCKDB = b"DUCK"  # from the ninth byte on
OTHER_ARCHIVES = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstandard", b"7z\xbc\xaf": "7-Zip"}
DOCUMENTS = {
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML document",
    b"%pdf": "a PDF document",
    b"pk\x03\x04": "a workbook or a ZIP archive",
    b"\x89png": "an image",
}


@dataclass(frozen=True)
class SourceFile:
    """One file: its path, its decompressed bytes, its format and whether it is compressed with gzip."""

    path: Path
    data: bytes
    format: str
    packed: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def stem(self) -> str:
        return Path(self.path.stem).stem if self.packed else self.path.stem


def open_file(path: Path) -> SourceFile:
    """Read the file at a path, and decompress it if it is gzip."""
    format, packed = identify(path)
    if format in ("sqlite", "duckdb"):  # databases open their file themselves
        return SourceFile(path, b"", format)
    with opened(path, packed) as file:
        return SourceFile(path, read_rest(file, path, packed), format, packed)


def identify(path: Path) -> tuple[str, bool]:
    """Return the format of a file, and whether it is compressed with gzip, from its first bytes and its name."""
    start = first_bytes(path, packed=False)
    if start.startswith(SQLITE):
        return "sqlite", False
    if start[8:12] == DUCKDB:
        return "duckdb", False
    if not start.startswith(GZIP):
        return format_of(path.name, path.suffix, start), False
    inner = path.with_suffix("") if path.suffix.lower() in (".gz", ".gzip") else path
    return format_of(path.name, inner.suffix, first_bytes(path, packed=True)), True


def missing_file(path: Path) -> InputError:
    """Return the error for a file that does not exist; an address is not repeated, because it may hold a password."""
    if re.match(r"postgres(ql)?:/", str(path), re.IGNORECASE):
        return InputError(
            "a table must be a file on this computer, but the path is the address of a database.",
            "pass a frame, or use foldwise fit on the command line, which reads a database.",
        )
    if is_like_address(str(path)):
        return InputError(
            "a table must be a file on this computer, but the path is an address.", "download it, or export its rows."
        )
    return InputError(
        f"file {str(path)!r} does not exist.", f"check the path. The current folder is {str(Path.cwd())!r}."
    )


def first_bytes(path: Path, packed: bool) -> bytes:
    with opened(path, packed) as file:
        return read_bytes(file, HEAD, path.name)


def opened(path: Path, packed: bool) -> IO[bytes]:
    """Open a file to read bytes from it, decompressed."""
    try:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a folder, not a table.", "pass a file of the folder.")
        if not path.is_file():
            raise missing_file(path)
        # a buffer would copy all bytes once more
        found: Any = gzip.open(path) if packed else path.open("rb", buffering=0)  # noqa: SIM115
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, InputError):
            raise
        raise InputError(f"file {str(path)!r} cannot be opened: {error}.") from error
    return cast(IO[bytes], found)


def read_bytes(file: IO[bytes], n: int, name: str) -> bytes:
    """Read the next n bytes, or all remaining ones if n is -1."""
    try:
        return file.read(n)
    except (OSError, EOFError, zlib.error) as error:
        raise truncated(name, error) from error


def read_rest(file: IO[bytes], path: Path, packed: bool, n_before: int = 0) -> bytes:
    """Read all remaining bytes of a file. There is a limit if it is compressed."""
    return read_to_end(file, path, n_before) if packed else read_bytes(file, -1, path.name)


def format_of(name: str, suffix: str, data: bytes) -> str:
    """Return the format of a file by the ending of its name, unless its first bytes say otherwise."""
    for magic, archive in OTHER_ARCHIVES.items():
        if data.startswith(magic):
            raise InputError(
                f"{name} is compressed with {archive}, which is not supported.", "decompress it first, or use gzip."
            )
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"ARROW1"):
        return "feather"
    found = SUFFIXES.get(suffix.lower())
    if found is None and data.startswith(b"PK\x03\x04") and suffix.lower() == ".zip":
        raise InputError(f"{name} is a ZIP archive, which is not read.", "unpack it, and pass a file from it.")
    if found is None:
        raise InputError(
            f"{name} has the unknown ending {suffix!r}.",
            f"pass a file with one of the endings {', '.join(sorted(SUFFIXES))}, each also with .gz. If this file "
            "has one of these formats, rename it.",
        )
    if found == "text":
        refuse_documents(name, data)
        return "arff" if is_arff(data) else "text"
    if found == "excel" and suffix.lower() == ".xls" and not data.startswith((b"\xd0\xcf\x11\xe0", b"\x09\x08", b"PK")):
        refuse_documents(name, data)
        return "text"  # many programs save tab-separated text as .xls
    return found


def refuse_documents(name: str, data: bytes) -> None:
    """Refuse files that are not text in spite of their name, such as the web page of a failed download."""
    start = data[:1024].lstrip().lower()
    for magic, what in DOCUMENTS.items():
        if start.startswith(magic):
            hint = "open it to check, then download it again."
            if magic == b"pk\x03\x04":
                hint = "rename it to end in .xlsx if it is a workbook, or unpack it."
            raise InputError(f"{name} is {what}, not delimited text.", hint)


def is_arff(data: bytes) -> bool:
    """Whether text is ARFF: its first line that is neither blank nor a comment begins with @relation."""
    start = data[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    while start.startswith(b"%"):
        start = start.partition(b"\n")[2].lstrip()
    return start[:9].lower() == b"@relation"
