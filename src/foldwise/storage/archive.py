"""The container of a model file: a zip with a manifest, which lists the digest of each member.

The comment of the zip is the digest of the manifest. Digests reveal damage and careless editing, but they are not a
signature: whoever can write the file can also write its digests. That is why nothing in it is ever executed.
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
MOST_BYTES = 1 << 32  # of one member after decompression; no model of a table is larger
MOST_RATIO = 2_000  # of decompressed to compressed size; the limit of deflate is 1,032
STAMP = (1980, 1, 1, 0, 0, 0)  # a fixed time, so that the same model gives the same bytes
HINT = "fit the model again, or restore the file from a copy."
WRITTEN = "pass a model file, such as model.foldwise in the folder that fit wrote."


def damaged(what: str) -> InputError:
    """Return the error for a file whose content is wrong."""
    return InputError(f"the model file is damaged: {what}.", HINT)


@dataclass(frozen=True)
class Archive:
    """The content of a file: the manifest and the bytes of each member."""

    manifest: dict[str, Any]
    members: Mapping[str, bytes]


def write_archive(path: str | os.PathLike[str], archive: Archive) -> None:
    """Write the file. An existing file is replaced only after the new one is complete."""
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
        if not target.parent.is_dir():
            folder = str(target.parent)
            raise InputError(f"the folder {folder!r} of the model file does not exist.", "create it first.") from error
        raise InputError(f"the model cannot be written to {target.name!r}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Read the members of a file, and check its format, its version and every digest."""
    name = Path(path).name
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"model file {name!r} does not exist.", "check the path.") from error
    except IsADirectoryError as error:
        inside = Path(path) / "model.foldwise"
        hint = f"open {str(inside)!r}." if inside.is_file() else WRITTEN
        raise InputError(f"{name!r} is a folder, not a model file.", hint) from error
    except OSError as error:
        raise InputError(f"{name!r} cannot be read: {error.strerror}.") from error
    if not data.startswith(b"PK"):
        raise InputError(f"{name!r} is not a model file{pickled(data)}.", WRITTEN)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            return unpack(packed, name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise damaged(str(error)) from error


def unpack(packed: zipfile.ZipFile, name: str) -> Archive:
    """Read the members of an open zip."""
    entries = {entry.filename: entry for entry in packed.infolist()}
    if MANIFEST not in entries or len(entries) != len(packed.infolist()):
        raise InputError(f"{name!r} is a zip file, but not a model file.", WRITTEN)
    check_sizes(packed)
    text = packed.read(MANIFEST)
    manifest = read_manifest(text, name)
    digests = manifest["members"]
    members = {member: packed.read(member) for member in digests if member in entries}
    changed = [MANIFEST] if packed.comment.decode("ascii", "replace") != digest(text) else []
    changed += sorted(set(entries) ^ {MANIFEST, *digests})
    changed += [member for member, data in members.items() if digest(data) != digests[member]]
    if changed:
        raise InputError(f"the model file {name!r} was changed after it was written: {', '.join(changed)}.", HINT)
    return Archive(manifest, members)


def check_sizes(packed: zipfile.ZipFile) -> None:
    """Refuse a zip whose members would decompress to more than any model needs."""
    for entry in packed.infolist():
        if entry.file_size > MOST_BYTES or entry.file_size > MOST_RATIO * max(entry.compress_size, 1):
            raise damaged(f"{entry.filename} claims to have {entry.file_size:,} bytes")


def read_manifest(text: bytes, name: str) -> dict[str, Any]:
    """Return the manifest, if this version of Foldwise can read it."""
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged("its manifest is not JSON") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{name!r} is a zip file, but not a model file.", WRITTEN)
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise damaged(f"{version!r} is not a format version")
    if version > VERSION:
        raise InputError(
            f"the model file {name!r} has format version {version}, but this Foldwise reads versions up to {VERSION}.",
            "upgrade Foldwise, or fit and save the model again with the installed version.",
        )
    members = manifest.get("members")
    if not isinstance(members, dict) or not all(isinstance(value, str) for value in members.values()):
        raise damaged("its manifest does not list the members")
    return manifest


def pickled(data: bytes) -> str:
    """Say whether a file looks like a pickle, because opening one would run code."""
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return " but a pickle, which is never opened because it can run any code"
    if data[:2] in (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"):  # gzip, and zlib by level
        return " but a compressed file, perhaps a pickle, which is never opened because it can run any code"
    return ""


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
