"""Parts of a model that have a file format of their own: taken out before the rest is written, and put back after.

Such an estimator may lie anywhere inside a model, as the last step of a pipeline or as a member of an ensemble. A
`Placeholder` stands where it was.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.storage.codecs import CODEC_TAGS, CODECS, Codec, Files

OPEN = ("foldwise", "sklearn")  # packages whose objects are searched for parts


@dataclass(frozen=True)
class Placeholder:
    """Where a part was."""

    number: int


@dataclass(frozen=True)
class EncodedPart:
    """A part that was taken out."""

    codec: str
    files: Files


def extract_parts(model: Any) -> tuple[Any, list[EncodedPart]]:
    """The model with placeholders for its parts, and the parts; the model itself stays as it is."""
    every = list(walk(model))
    found = [value for value in every if codec_of(value) is not None]
    parts = []
    memo: dict[int, Any] = {id(value): whole_numbers(value) for value in every if counts(value)}
    for number, value in enumerate(found):
        name, codec = codec_of(value) or ("", None)
        assert codec is not None
        parts.append(EncodedPart(name, codec.write(value)))
        memo[id(value)] = Placeholder(number)
    if not memo:
        return model, []
    if id(model) in memo:
        return memo[id(model)], parts
    return copy.deepcopy(model, memo), parts


def counts(value: Any) -> bool:
    """Whether it is a vocabulary: numbers of NumPy by their words, each of which would be a file of its own."""
    if type(value) is not dict or not any(isinstance(one, np.signedinteger) for one in value.values()):
        return False
    return all(
        isinstance(one, int | np.signedinteger) and not isinstance(one, np.timedelta64) for one in value.values()
    )


def whole_numbers(values: dict[Any, Any]) -> dict[Any, Any]:
    """The same numbers as Python writes them."""
    return {key: int(one) for key, one in values.items()}


def restore_parts(model: Any, parts: list[EncodedPart]) -> Any:
    """The model with its parts in place."""
    read = [CODECS[part.codec].read(part.files) for part in parts]
    if isinstance(model, Placeholder):
        return read[model.number]
    memo = {}
    for value in walk(model):
        if isinstance(value, Placeholder):
            if not 0 <= value.number < len(read):
                raise InputError("the model file is damaged: a part of the model is not there.")
            memo[id(value)] = read[value.number]
    return copy.deepcopy(model, memo) if memo else model


def codec_of(value: Any) -> tuple[str, Codec] | None:
    """The tag and the codec of a part, or None where an object has none."""
    kind = type(value)
    tag = CODEC_TAGS.get(f"{kind.__module__.split('.')[0]}.{kind.__qualname__}")
    return None if tag is None else (tag, CODECS[tag])


def walk(model: Any) -> Iterator[Any]:
    """All objects inside a model, each once; parts are not searched."""
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
    """What an object holds."""
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else []
    if type(value).__module__.split(".")[0] in OPEN and hasattr(value, "__dict__"):
        return list(vars(value).values())
    return []
