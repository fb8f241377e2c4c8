"""The bytes of a file and the format they are in: by what they begin with where that says it, else by the name."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

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
HEAD = 1 << 20  # bytes by which a format is told
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
    """One file: where it is, its bytes (unpacked), its format, the name of its table."""

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
    """The file at a path, unpacked where it is gzip."""
    format, packed = identify(path)
    if format in ("sqlite", "duckdb"):  # databases open their file themselves
        return SourceFile(path, b"", format)
    with opened(path, packed) as file:
        return SourceFile(path, read_bytes(file, -1, path.name), format, packed)


def identify(path: Path) -> tuple[str, bool]:
    """The format of a file, and whether it is packed by gzip, from its first bytes and its name."""
    start = first_bytes(path, packed=False)
    if start.startswith(SQLITE):
        return "sqlite", False
    if start[8:12] == DUCKDB:
        return "duckdb", False
    if not start.startswith(GZIP):
        return format_of(path.name, path.suffix, start), False
    inner = path.with_suffix("") if path.suffix.lower() in (".gz", ".gzip") else path
    return format_of(path.name, inner.suffix, first_bytes(path, packed=True)), True


def first_bytes(path: Path, packed: bool) -> bytes:
    with opened(path, packed) as file:
        return read_bytes(file, HEAD, path.name)


def opened(path: Path, packed: bool) -> IO[bytes]:
    """A file to read bytes from, unpacked on the way."""
    try:
        if not path.is_file():
            raise InputError(f"there is no file {str(path)!r}.", f"the working folder is {str(Path.cwd())!r}.")
        # without a buffer, which would copy all bytes once more
        found: Any = gzip.open(path) if packed else path.open("rb", buffering=0)  # noqa: SIM115
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, InputError):
            raise
        raise InputError(f"{str(path)!r} cannot be opened: {error}.") from error
    return cast(IO[bytes], found)


def read_bytes(file: IO[bytes], n: int, name: str) -> bytes:
    """The next n bytes, or all that are left where n is -1."""
    try:
        return file.read(n)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}.", "fetch it again; it may be cut off.") from error


def format_of(name: str, suffix: str, data: bytes) -> str:
    """The format of a file by the end of its name, unless its first bytes say otherwise."""
    for magic, archive in OTHER_ARCHIVES.items():
        if data.startswith(magic):
            raise InputError(f"{name} is packed by {archive}, which is not read here.", "unpack it first, or use gzip.")
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"ARROW1"):
        return "feather"
    found = SUFFIXES.get(suffix.lower())
    if found is None:
        raise InputError(
            f"{name} ends in {suffix!r}, which no reader here knows.",
            f"formats read: {', '.join(sorted(SUFFIXES))}, and gzip of these; rename the file to what it is.",
        )
    if found == "text":
        refuse_documents(name, data)
        return "arff" if is_arff(data) else "text"
    if found == "excel" and suffix.lower() == ".xls" and not data.startswith((b"\xd0\xcf\x11\xe0", b"\x09\x08", b"PK")):
        refuse_documents(name, data)
        return "text"  # many programs call their tab-separated text .xls
    return found


def refuse_documents(name: str, data: bytes) -> None:
    """Refuse what is text by its name only: web pages, as failed downloads leave them, and packed documents."""
    start = data[:1024].lstrip().lower()
    for magic, what in DOCUMENTS.items():
        if start.startswith(magic):
            raise InputError(f"{name} is {what}, not a table of text.", "look into the file; fetch or export it again.")


def is_arff(data: bytes) -> bool:
    """Whether text declares itself: its first line that is neither blank nor a comment begins with @relation."""
    start = data[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    while start.startswith(b"%"):
        start = start.partition(b"\n")[2].lstrip()
    return start[:9].lower() == b"@relation"
