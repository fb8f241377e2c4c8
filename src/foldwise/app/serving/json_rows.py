"""Rows of a JSON body, straight into the columns of a model.

Cells that already have the type of their column take this path. A row with any other cell is not judged here: it is
read like a JSON file, with the same conversions and the same errors as on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from foldwise.errors import InputError
from foldwise.storage.table_check import EMPTY

Cells = tuple[Any, ...]  # of one row, in the order of the model's columns

LARGEST = float(1 << 53)  # up to here, integers and floats are the same numbers
ABSENT = object()


class NotJsonError(InputError):
    """The body of a request is not JSON."""


def records_in(body: bytes) -> list[dict[str, Any]]:
    """Return the rows of a body: one object, a list of objects, or `{"rows": [...]}`.

    >>> records_in(b'{"age": 30}') == records_in(b'[{"age": 30}]') == records_in(b'{"rows": [{"age": 30}]}')
    True
    """
    try:
        found = json.loads(body.decode("utf-8-sig"), parse_constant=refuse_constant)
        if b"\\ud" in body or b"\\uD" in body:  # half of a pair of surrogates is not a character
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).partition("\n")[0] or "it is nested too deeply"
        raise NotJsonError(f"the body is not JSON: {reason}.", 'send {"rows": [{"column": value, ...}]}.') from error
    if isinstance(found, dict):
        rows = found.get("rows")
        found = rows if len(found) == 1 and isinstance(rows, list) else [found]
    if not isinstance(found, list):
        raise InputError(
            f"the body must be an object or a list of objects, got {json_kind(found)}.",
            'send {"rows": [{"column": value, ...}]}.',
        )
    for number, row in enumerate(found):
        if not isinstance(row, dict):
            raise InputError(f"row {number} must be an object, got {json_kind(row)}.", 'send {"column": value, ...}.')
    return found


def json_kind(value: Any) -> str:
    """Name the kind of a JSON value as JSON does.

    >>> json_kind([1]), json_kind(None), json_kind(2.5)
    ('an array', 'null', 'a number')
    """
    if value is None:
        return "null"
    kinds = {str: "a string", bool: "true or false", list: "an array", dict: "an object"}
    return kinds.get(type(value), "a number")


def refuse_constant(name: str) -> Any:
    raise NotJsonError(f"the body is not JSON: it contains {name}.", "send null for a missing cell.")


class RowReader:
    """Takes the cells of rows that need no conversion.

    Parameters
    ----------
    kinds : mapping of str to str
        What each column must contain, as in `StoredModel.kinds`.

    Examples
    --------
    >>> reader = RowReader({"age": "number", "sex": "text"})
    >>> reader.cells({"sex": "f", "age": 30, "id": 7})
    (30, 'f')
    >>> reader.cells({"sex": "f", "age": "30"}) is None  # must be converted
    True
    >>> reader.frame([(30, "f"), (None, "m")])["age"].to_list()
    [30.0, None]
    """

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._kinds = tuple(kinds.items())
        self._names = frozenset(kinds)
        self.types: tuple[str, ...] = tuple(str(EMPTY[kind]) for kind in kinds.values())

    def cells(self, row: Mapping[str, Any]) -> Cells | None:
        """Return the cells of a row in the order of the model; None if one is absent or must be converted."""
        cells = []
        for name, kind in self._kinds:
            value = row.get(name, ABSENT)
            if value is not None:
                given = type(value)
                if kind == "number":
                    if (given is not float and given is not int) or not -LARGEST <= value <= LARGEST:
                        return None
                elif kind == "text":
                    if given is not str:
                        return None
                elif kind != "truth" or given is not bool:
                    return None
            cells.append(value)
        return tuple(cells)

    def frame(self, rows: Sequence[Cells]) -> pl.DataFrame:
        """Return rows as a frame with the columns of the model."""
        columns = zip(self._kinds, zip(*rows, strict=True), strict=True)
        return pl.DataFrame([pl.Series(name, cells, dtype=EMPTY[kind]) for (name, kind), cells in columns])

    def extra_names(self, row: Mapping[str, Any]) -> set[str]:
        """Names in a row that the model does not know."""
        return set() if len(row) == len(self._kinds) else set(row) - self._names
