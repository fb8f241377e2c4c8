"""Decode bytes as text: byte-order marks, UTF-8, UTF-16, else Windows-1252; and line ends of old Macs."""

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
    """Return the text in UTF-8 without a byte-order mark, with notes on its encoding."""
    if encoding is not None:
        data = decoded(data, encoding, name).encode("utf-8", "surrogatepass").removeprefix(codecs.BOM_UTF8)
        if b"\x00" in data[:4096]:
            raise not_text(name)
        found, why = encoding, "as requested"
    else:
        found, why = encoding_of(data, name)
        if found == "utf-8-sig":
            data = data[len(codecs.BOM_UTF8) :]
        elif found != "utf-8":
            data = decoded(data.removeprefix(codecs.BOM_UTF8), found, name).encode().removeprefix(codecs.BOM_UTF8)
    notes = [Note("encoding", f"the text is encoded as {found} ({why}).")]
    if b"\r" in data[: 1 << 20] and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
        notes.append(Note("lines", "lines end with a carriage return, as on old Macs."))
    return data, notes


def encoding_of(data: bytes, name: str) -> tuple[str, str]:
    """Return the encoding and the reason for it."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            if encoding == "utf-8-sig" and first_undecodable(data, "utf-8") is not None:
                return "latin-1", "the byte-order mark says UTF-8, but not all bytes are"
            return encoding, "by its byte-order mark"
    head = data[:4096]
    if b"\x00" in head:
        return utf16_by_zeros(head, name), "every other byte is zero"
    if data.isascii():
        return "utf-8", "plain ASCII"
    broken = first_undecodable(data, "utf-8")
    if broken is None:
        return "utf-8", "every byte is valid"
    fitting = "cp1252" if first_undecodable(data, "cp1252") is None else "latin-1"
    return fitting, f"byte {data[broken]:#04x} at {broken:,} is not UTF-8"


def first_undecodable(data: bytes, encoding: str) -> int | None:
    """Return the index of the first byte that is not valid in an encoding."""
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return error.start
    return None


def utf16_by_zeros(head: bytes, name: str) -> str:
    """Recognize UTF-16 without a byte-order mark: the high byte of nearly every character is zero."""
    half = len(head) // 2
    if head[1::2].count(0) > 0.8 * half and head[::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if head[::2].count(0) > 0.8 * half and head[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    raise not_text(name)


def not_text(name: str) -> InputError:
    return InputError(
        f"{name} contains zero bytes, so it is not text.",
        "rename the file if it has another format, or pass encoding= if it is text in an unusual encoding.",
    )


def decoded(data: bytes, encoding: str, name: str) -> str:
    """Decode text, or raise an error that names the byte."""
    try:
        return data.decode(encoding)
    except LookupError as error:
        raise InputError(
            f"encoding must be one that Python knows, got {encoding!r}.", "pass 'utf-8' or 'cp1252', for example."
        ) from error
    except (UnicodeError, TypeError, ValueError) as error:
        where = f" (byte {error.start:,})" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(
            f"{name} is not valid {encoding}{where}.", "omit encoding= to have it detected, or pass 'latin-1'."
        ) from error
