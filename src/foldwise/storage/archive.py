"""The container: a zip of named members, each with its digest in the manifest, the manifest's own in the zip's comment.

Digests find damage and careless editing. They are not a signature: whoever can write the file can write its digests,
which is why nothing in it is ever executed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foldwise.errors import InputError

FORMAT = "foldwise-model"
VERSION = 1
MANIFEST = "manifest.json"
MOST_BYTES = 1 << 32  # unpacked, of one member: no model of a table is larger
MOST_RATIO = 2_000  # unpacked to packed; deflate's own limit is 1,032
STAMP = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
HINT = "save the model again with save_model."


@dataclass(frozen=True)
class Archive:
    """What a file holds: the manifest and the bytes of each member."""

    manifest: dict[str, Any]
    members: Mapping[str, bytes]


def write_archive(path: str | os.PathLike[str], archive: Archive) -> None:
    """Write the file; an existing file is replaced only when the new one is complete."""
    digests = {name: digest(data) for name, data in archive.members.items()}
    manifest = {"format": FORMAT, "version": VERSION, **archive.manifest, "members": digests}
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, data in {MANIFEST: text, **archive.members}.items():
            entry = zipfile.ZipInfo(name, STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, data, compresslevel=6)
        packed.comment = digest(text).encode()
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(buffer.getvalue())
        draft.replace(target)
    except OSError as error:
        raise InputError(f"the model cannot be written to {target.name!r}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """The members of a file, after its format, its version and every digest were checked."""
    name = Path(path).name
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"there is no file {name!r}.", "check the path.") from error
    except OSError as error:
        raise InputError(f"{name!r} cannot be read: {error.strerror}.") from error
    if not data.startswith(b"PK"):
        raise InputError(f"{name!r} is not a model file{pickled(data)}.", "pass a file that save_model wrote.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return unpack(packed, name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"the model file {name!r} is damaged: {error}.", HINT) from error


def unpack(packed: zipfile.ZipFile, name: str) -> Archive:
    """The members of an open zip."""
    entries = {entry.filename: entry for entry in packed.infolist()}
    if MANIFEST not in entries or len(entries) != len(packed.infolist()):
        raise InputError(f"{name!r} is a zip, but not a model file.", "pass a file that save_model wrote.")
    check_sizes(packed, name)
    text = packed.read(MANIFEST)
    manifest = read_manifest(text, name)
    if packed.comment.decode("ascii", "replace") != digest(text):
        raise InputError(f"the model file {name!r} was changed after it was written: its manifest.", HINT)
    digests = manifest["members"]
    if set(entries) != {MANIFEST, *digests}:
        odd = sorted(set(entries) ^ {MANIFEST, *digests})
        raise InputError(f"the model file {name!r} was changed after it was written: {', '.join(odd)}.", HINT)
    members = {}
    for member, expected in digests.items():
        members[member] = packed.read(member)
        if digest(members[member]) != expected:
            raise InputError(f"the model file {name!r} was changed after it was written: {member}.", HINT)
    return Archive(manifest, members)


def check_sizes(packed: zipfile.ZipFile, name: str) -> None:
    """Refuse a zip whose members would unpack to more than any model needs."""
    for entry in packed.infolist():
        if entry.file_size > MOST_BYTES or entry.file_size > MOST_RATIO * max(entry.compress_size, 1):
            raise InputError(f"the model file {name!r} is damaged: {entry.filename} claims {entry.file_size:,} bytes.")


def read_manifest(text: bytes, name: str) -> dict[str, Any]:
    """The manifest, if it is one that this version reads."""
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the model file {name!r} is damaged: its manifest is not JSON.", HINT) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{name!r} is a zip, but not a model file.", "pass a file that save_model wrote.")
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"the model file {name!r} has an unknown version: {version!r}.", HINT)
    if version > VERSION:
        raise InputError(
            f"the model file {name!r} has the format version {version}; versions up to {VERSION} are read here.",
            "upgrade Foldwise, or save the model with this version.",
        )
    members = manifest.get("members")
    if not isinstance(members, dict) or not all(isinstance(value, str) for value in members.values()):
        raise InputError(f"the model file {name!r} is damaged: its manifest lists no members.", HINT)
    return manifest


def pickled(data: bytes) -> str:
    """What else a file looks like; a pickle is named, because opening it would run code."""
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return " but a pickle, which is never opened because that can run any code"
    if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
        return " but a compressed file, perhaps a pickle, which is never opened because that can run any code"
    return ""


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
