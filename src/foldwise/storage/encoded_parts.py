"""Parts of a model with a file format of their own: removed before the rest is written, and inserted again on reading.

Such an estimator may be anywhere inside a model, as the last step of a pipeline or as a member of an ensemble. A
`Placeholder` takes its place.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.storage.archive import damaged
from foldwise.storage.codecs import CODEC_TAGS, CODECS, Codec, Files

OPEN = ("foldwise", "sklearn")  # packages whose objects are searched for parts


@dataclass(frozen=True)
class Placeholder:
    """Stands for a part that was removed."""

    number: int


@dataclass(frozen=True)
class EncodedPart:
    """A part that was removed, as files."""

    codec: str
    files: Files


def extract_parts(model: Any) -> tuple[Any, list[EncodedPart]]:
    """Return a copy of the model with placeholders for its parts, and the parts."""
    parts: list[EncodedPart] = []
    memo: dict[int, Any] = {}
    for value in walk(model):
        codec = codec_of(value)
        if codec is not None:
            memo[id(value)] = Placeholder(len(parts))
            parts.append(EncodedPart(codec[0], codec[1].write(value)))
        elif is_vocabulary(value):
            memo[id(value)] = {key: int(one) for key, one in value.items()}
    if not memo:
        return model, []
    if id(model) in memo:
        return memo[id(model)], parts
    return copy.deepcopy(model, memo), parts


def is_vocabulary(value: Any) -> bool:
    """Whether it maps words to numpy integers, of which skops would write each to a file of its own."""
    if type(value) is not dict or not any(isinstance(one, np.signedinteger) for one in value.values()):
        return False
    return all(
        isinstance(one, int | np.signedinteger) and not isinstance(one, np.timedelta64) for one in value.values()
    )


def restore_parts(model: Any, parts: list[EncodedPart]) -> Any:
    """Insert the parts into the model."""
    read = [CODECS[part.codec].read(part.files) for part in parts]
    if isinstance(model, Placeholder):
        return read[model.number]
    memo = {}
    for value in walk(model):
        if isinstance(value, Placeholder):
            if not 0 <= value.number < len(read):
                raise damaged("a part of the model is missing")
            memo[id(value)] = read[value.number]
    return copy.deepcopy(model, memo) if memo else model


def codec_of(value: Any) -> tuple[str, Codec] | None:
    """Return the tag and the codec of a part, or None for other objects."""
    kind = type(value)
    tag = CODEC_TAGS.get(f"{kind.__module__.split('.')[0]}.{kind.__qualname__}")
    return None if tag is None else (tag, CODECS[tag])


def walk(model: Any) -> Iterator[Any]:
    """Yield all objects inside a model once each, without searching parts."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, str | bytes | int | float | bool | type | None):
            continue
        seen.add(id(value))
        yield value
        if codec_of(value) is not None or isinstance(value, Placeholder):
            continue
        waiting += children(value)


def children(value: Any) -> list[Any]:
    """Return the objects that an object contains."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    if type(value).__module__.split(".")[0] in OPEN and hasattr(value, "__dict__"):
        return list(vars(value).values())
    return []
