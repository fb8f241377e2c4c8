"""Settings and results as JSON, and out-of-fold predictions as arrays: what a store holds never runs code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.folds.protocol import Params
from foldwise.folds.scoring import ScoreTable, TaskResult
from foldwise.npz import read_npz, to_npz
from foldwise.tuning.dimensions import Space, same

PLAIN = str | bool | int | float
CHOICE, TUPLE = "choice of the space", "tuple"  # the keys of values that JSON does not have


class RecordedError(Exception):
    """A fit or a metric that failed in another process, or before the search was resumed."""


def encode_settings(settings: Sequence[Params], space: Space, initial: Sequence[Params]) -> str:
    """Settings as JSON. Values that JSON does not have are named by where they stand in the space."""
    known = choices(space, initial)
    return json.dumps([{name: encode(name, value, known) for name, value in one.items()} for one in settings])


def decode_settings(text: str, space: Space, initial: Sequence[Params]) -> list[dict[str, Any]]:
    """Settings from JSON."""
    known = choices(space, initial)
    return [{name: decode(name, value, known) for name, value in one.items()} for one in json.loads(text)]


def choices(space: Space, initial: Sequence[Params]) -> dict[str, list[Any]]:
    """All values by parameter that a space and the first settings list, in their order."""
    found: dict[str, list[Any]] = {}
    for branch in [space] if isinstance(space, Mapping) else space:
        for name, values in branch.items():
            listed = getattr(values, "values", values)
            if isinstance(listed, Sequence | np.ndarray) and not isinstance(listed, str):
                found.setdefault(name, []).extend(listed)
    for setting in initial:
        for name, value in setting.items():
            found.setdefault(name, []).append(value)
    return found


def encode(name: str, value: Any, known: Mapping[str, list[Any]]) -> Any:
    """A value as JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple | list) and all(one is None or isinstance(one, PLAIN) for one in value):
        return {TUPLE: list(value)} if isinstance(value, tuple) else list(value)
    for number, one in enumerate(known.get(name, [])):
        if one is value or same(one, value):
            return {CHOICE: number}
    raise InputError(
        f"a search with a store can try numbers, strings and values that its space lists, but {name} is {value!r}.",
        "list the value in the space, or search without a store.",
    )


def decode(name: str, value: Any, known: Mapping[str, list[Any]]) -> Any:
    """A value from JSON."""
    if isinstance(value, dict):
        return tuple(value[TUPLE]) if TUPLE in value else known[name][value[CHOICE]]
    return value


def encode_result(result: TaskResult) -> tuple[str, bytes | None]:
    """Scores, times and errors as JSON, and predictions as npz."""
    text = json.dumps(
        {
            "scores": plain_scores(result.test),
            "train_scores": plain_scores(result.train),
            "seconds": result.seconds,
            "fits": result.fits,
            "failed": [[int(i), int(k), error_text(error)] for i, k, error in result.failed],
            "unscored": [[int(i), int(k), name, error_text(error)] for i, k, name, error in result.test.unscored],
            "recorded": [[int(a), int(b)] for a, b, _ in result.recorded],
            "train_unscored": [
                [int(i), int(k), name, error_text(error)] for i, k, name, error in result.train.unscored
            ],
        }
    )
    if not any(parts for *_, parts in result.recorded):
        return text, None
    held = {f"{a} {b} {name}": part for a, b, parts in result.recorded for name, part in parts.items()}
    return text, to_npz(held)


def plain_scores(table: ScoreTable) -> dict[str, list[Any]]:
    """Scores as lists."""
    if any(values.dtype == object for values in table.scores.values()):
        raise InputError(
            "in a search with a store each metric must return a number, but a scorer returned a dict.",
            "pass several metrics as scoring={name: metric, …}.",
        )
    return {name: values.tolist() for name, values in table.scores.items()}


def error_text(error: Exception) -> str:
    """An error as text."""
    return f"{type(error).__name__}: {error}"


def decode_result(text: str, answers: bytes | None) -> TaskResult:
    """The result of a block, as the engine would return it."""
    found = json.loads(text)
    tables = []
    for scores, unscored in (("scores", "unscored"), ("train_scores", "train_unscored")):
        table = ScoreTable([], 0, 0)
        table.scores = {name: np.array(values, dtype=float) for name, values in found[scores].items()}
        table.unscored = [(i, k, name, RecordedError(why)) for i, k, name, why in found[unscored]]
        tables.append(table)
    failed: list[tuple[int, int, Exception]] = [(i, k, RecordedError(why)) for i, k, why in found["failed"]]
    return TaskResult(
        tables[0],
        tables[1],
        found["seconds"],
        found["fits"],
        failed,
        decode_answers(answers, found.get("recorded", [])),
    )


def decode_answers(answers: bytes | None, recorded: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int, Any]]:
    """The recorded predictions of a block."""
    parts: dict[tuple[int, int], dict[str, Any]] = {(first, last): {} for first, last in recorded}
    if answers is not None:
        for key, part in read_npz(answers).items():
            first, last, name = key.split(" ", 2)
            parts.setdefault((int(first), int(last)), {})[name] = part
    return [(first, last, part) for (first, last), part in parts.items()]
