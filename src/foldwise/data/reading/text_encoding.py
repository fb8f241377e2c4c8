"""Bytes as text: byte-order marks, UTF-8, UTF-16, else the encoding of Western Windows; line ends of old Macs."""

from __future__ import annotations

import codecs

from foldwise.data.notes import Note
from foldwise.errors import InputError

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def as_utf8(data: bytes, encoding: str | None, name: str) -> tuple[bytes, list[Note]]:
    """The same text in UTF-8 with no mark in front, and what was found out about it."""
    notes = []
    if encoding is not None:
        data = decoded(data, encoding, name).encode("utf-8", "surrogatepass").removeprefix(codecs.BOM_UTF8)
        if b"\x00" in data[:4096]:
            raise not_text(name)
        notes.append(Note("encoding", f"{encoding}, as requested."))
    else:
        found, why = encoding_of(data, name)
        if found == "utf-8-sig":
            data = data[len(codecs.BOM_UTF8) :]
        elif found != "utf-8":
            data = decoded(data.removeprefix(codecs.BOM_UTF8), found, name).encode().removeprefix(codecs.BOM_UTF8)
        notes.append(Note("encoding", f"{found} ({why})."))
    if b"\r" in data[: 1 << 20] and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
        notes.append(Note("lines", "end in a carriage return alone, as on old Macs."))
    return data, notes


def encoding_of(data: bytes, name: str) -> tuple[str, str]:
    """The encoding and the reason for it."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            if encoding == "utf-8-sig" and first_undecodable(data, "utf-8") is not None:
                return "latin-1", "the mark says UTF-8, but the bytes are not"
            return encoding, "a byte-order mark says so"
    head = data[:4096]
    if b"\x00" in head:
        return utf16_by_zeros(head, name), "every other byte is zero"
    if data.isascii():
        return "utf-8", "plain ASCII"
    broken = first_undecodable(data, "utf-8")
    if broken is None:
        return "utf-8", "every byte decodes"
    fitting = "cp1252" if first_undecodable(data, "cp1252") is None else "latin-1"
    return fitting, f"byte {data[broken]:#04x} at {broken:,} is not UTF-8"


def first_undecodable(data: bytes, encoding: str) -> int | None:
    """Where the first byte stands that is not text in an encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start
    return None


def utf16_by_zeros(head: bytes, name: str) -> str:
    """UTF-16 without its mark: the high byte of nearly every character is zero."""
    half = len(head) // 2
    if head[1::2].count(0) > 0.8 * half and head[::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if head[::2].count(0) > 0.8 * half and head[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    raise not_text(name)


def not_text(name: str) -> InputError:
    return InputError(
        f"{name} holds zero bytes, so it is not text.",
        "give the file the ending of its format, or pass encoding= if it is text in an unusual one.",
    )


def decoded(data: bytes, encoding: str, name: str) -> str:
    """The text, or an error that names the byte."""
    try:
        return data.decode(encoding)
    except LookupError as error:
        raise InputError(
            f"encoding must be one that Python knows, got {encoding!r}.", "for example 'utf-8' or 'cp1252'."
        ) from error
    except (UnicodeError, TypeError, ValueError) as error:
        where = f" (byte {error.start:,})" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(
            f"{name} is not text in {encoding}{where}.", "leave encoding out to have it found, or pass 'latin-1'."
        ) from error
