"""Trials as a table, and tables that a person has edited as settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.errors import FoldwiseTypeError
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial

RESULTS = ("score", "std", "state")  # columns of a table that are not parameters


def trials_to_frame(trials: Sequence[Trial], names: Iterable[str] = (), **more: Sequence[Any]) -> pl.DataFrame:
    """One row per trial: its parameters, its score, and further columns."""
    every = dict.fromkeys([*names, *(name for one in trials for name in one.setting)])
    columns: dict[str, list[Any]] = {
        name: booleans_apart([as_cell(one.setting.get(name)) for one in trials]) for name in every
    }
    columns["score"] = [one.score if np.isfinite(one.score) else None for one in trials]
    columns |= {name: list(values) for name, values in more.items()}
    return pl.DataFrame(columns, strict=False)


def booleans_apart(cells: list[Any]) -> list[Any]:
    """The cells as text if some are booleans and some are not: a frame would make 1 of True."""
    is_mixed = len({isinstance(one, bool) for one in cells if one is not None}) > 1
    return [None if one is None else str(one) for one in cells] if is_mixed else cells


def as_frame(table: Any) -> pl.DataFrame:
    """The frame of a list of dicts, a frame or a CSV file."""
    if isinstance(table, str | Path):
        return pl.read_csv(table, infer_schema_length=None)
    if isinstance(table, pl.DataFrame):
        return table
    if hasattr(table, "to_dict"):  # pandas
        return pl.DataFrame(pl.from_pandas(table))
    if not isinstance(table, Sequence) or not all(isinstance(one, Mapping) for one in table):
        raise FoldwiseTypeError(
            f"settings must be a list of dicts, a frame or the path of a CSV file, got {type(table).__name__}."
        )
    return pl.DataFrame([{name: as_cell(value) for name, value in one.items()} for one in table], strict=False)


def read_settings(table: Any, space: SearchSpace) -> list[dict[str, Any]]:
    """The settings of a list, a frame or a CSV file.

    A missing cell means that the parameter is not set, or that it is None where the space needs it to be.
    """
    if isinstance(table, Sequence) and not isinstance(table, str) and all(isinstance(one, Mapping) for one in table):
        return [dict(one) for one in table]
    rows = as_frame(table).drop(RESULTS, strict=False).to_dicts()
    cells = [{name: cell for name, cell in row.items() if cell is not None and cell == cell} for row in rows]
    return [with_none({name: as_value(name, cell, space) for name, cell in row.items()}, space) for row in cells]


def with_none(setting: dict[str, Any], space: SearchSpace) -> dict[str, Any]:
    """The setting with None for missing parameters, if it is in the space with them only."""
    for number in range(len(space.branches)) if not space.contains(setting) else ():
        filled = dict(setting)
        for name, dimension in space.active(number, filled):  # conditions may depend on what was filled in before
            if name not in filled and any(one is None for one in getattr(dimension, "values", ())):
                filled[name] = None
        if space.in_branch(number, filled):
            return filled
    return setting


def as_value(name: str, cell: Any, space: SearchSpace) -> Any:
    """The value of the space that a cell of a table means: 3 for 3.0, and (8, 4) for the text "[8, 4]"."""
    dimensions = [branch[name] for branch in space.branches if name in branch]
    if any(one.contains(cell) for one in dimensions):
        whole = isinstance(cell, float) and cell == int(cell) and any(one.n_values < np.inf for one in dimensions)
        return int(cell) if whole and not any(one.contains(0.5) for one in dimensions) else cell
    values = [value for one in dimensions for value in getattr(one, "values", ())]
    values += numbers_in(cell) if isinstance(cell, str) else []  # a column of numbers and texts is read as texts
    allowed = [one for one in values if any(dimension.contains(one) for dimension in dimensions)]
    return next((value for value in allowed if as_cell(value) == cell or is_text_of(value, cell)), cell)


def is_text_of(value: Any, cell: Any) -> bool:
    """Whether a cell is what a table of texts contains for a value; frames write booleans in lower case."""
    text = str(cell).capitalize() if isinstance(value, bool) else str(cell)
    return str(value) == text


def numbers_in(text: str) -> list[int | float]:
    """The number that a text stands for, if it is one."""
    for kind in (int, float):
        try:
            return [kind(text)]
        except ValueError:
            continue
    return []


def as_cell(value: Any) -> Any:
    """A value as a cell of a table: a number or a text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    try:
        return json.dumps(value)
    except TypeError:
        return str(value)
