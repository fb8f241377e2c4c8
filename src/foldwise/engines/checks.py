"""Checks of a table in an engine: its columns, its target, its key, and what its answers must be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.schema import Column, choose_among
from foldwise.data.target import MOST_NUMERIC_CLASSES, are_quantities, encode_labels, label_array, task_of
from foldwise.engines.asking import Asker
from foldwise.engines.statements import Statements
from foldwise.engines.table_facts import Cell, TableFacts
from foldwise.errors import InputError
from foldwise.summaries.moments import Moments

MOST_BITS = 10**9  # of DuckDB's bitstring_agg
MOST_DECIMALS = 2**52  # floats from here on have no decimals


def check_there(names: Iterable[str], known: Sequence[str]) -> None:
    """Raise for a column that the table does not have."""
    for name in names:
        if name not in known:
            raise InputError(f"the table has no column {name!r}.", choose_among(known, name))


def list_of_names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple, and refuse a text instead of a list."""
    if isinstance(names, str):
        raise InputError(f"{what} must be a list of names, got the text {names!r}.", f"pass {what}=[{names!r}].")
    return tuple(names)


def check_names(columns: Sequence[str] | None, target: str) -> None:
    """Raise for a repeated column, and for the target among the columns."""
    given = [] if columns is None else list_of_names("columns", columns)
    if repeated := [name for j, name in enumerate(given) if name in given[:j]]:
        raise InputError(f"columns must name each column once, got {repeated[0]!r} twice.")
    if target in given:
        raise InputError(
            f"the target {target!r} is also one of the columns, so models would know what they predict.",
            "leave it out of columns=.",
        )


def column_of(name: str, kind: Any) -> Column:
    """Describe a column of an engine by its type."""
    if kind.is_boolean():
        return Column(name, "binary", (False, True))
    if kind.is_numeric():
        return Column(name, "numeric")
    if kind.is_string() or kind.is_uuid():
        return Column(name, "categorical")
    raise InputError(
        f"column {name!r} must contain numbers, text or booleans, but has {type_in_words(kind)}.",
        "convert it in the table expression, or leave it out with columns=.",
    )


def type_in_words(kind: Any) -> str:
    """Name a type; Ibis does not know those that users of a database define."""
    return "a type that Ibis does not know" if kind.is_unknown() else f"the type {kind}"


def check_target(target: str, kind: Any) -> None:
    """Refuse a target whose values cannot be read."""
    if kind.is_unknown():
        raise InputError(
            f"the target {target!r} has {type_in_words(kind)}.", "convert it to text in the table expression."
        )


def decide_task(asker: Asker, target: str, task: str | None) -> str:
    """Decide the task by the rule of `task_of`, from as few distinct values as it takes. Missing values are ignored."""
    kind = asker.table.schema()[target]
    if task is not None:
        found: str = task_of([], task)
        if found == "regression" and not (kind.is_numeric() or kind.is_boolean()):
            raise InputError(f"a quantity must be numeric, but {target!r} has the type {kind}.")
        return found
    if not kind.is_numeric():
        return "classification"
    column = asker.table[target]
    has_decimals, n_distinct = False, 0
    if not kind.is_integer():
        small = column.abs() < MOST_DECIMALS  # larger numbers are whole, and `floor` of NaN or infinity may be an error
        broken = asker.table.filter(asker.ibis.cases((small, column != column.floor()), else_=False)).limit(1).count()
        has_decimals = bool(asker.ask(broken.name("n").as_table())["n"][0])
    if not has_decimals:  # else no further statement is needed
        few = asker.table.select(label=column).distinct().limit(MOST_NUMERIC_CLASSES + 3)  # one more, null and NaN
        known = asker.ask(few)["label"].drop_nulls()
        n_distinct = (known.drop_nans() if known.dtype.is_float() else known).n_unique()
    return "regression" if are_quantities(has_decimals=has_decimals, n_distinct=n_distinct) else "classification"


def check_unique(asker: Asker, key: str, answer: pl.DataFrame) -> None:
    """Refuse a key that is missing or that two rows share, because folds would not be reproducible."""
    n_rows = int(answer["n"].sum())
    if is_dense(asker, asker.table[key], answer):
        return
    if "most" not in answer.columns:
        answer = asker.ask(Statements(asker, key, is_quantity=True, folds=None).count_keys(key))
    if answer["most"].max() != 1 or int(answer["keys"].sum()) != n_rows:
        raise InputError(
            f"the key must have a different value in every row, but column {key!r} has missing or repeated values.",
            "choose another column as the key.",
        )


def is_dense(asker: Asker, column: Any, answer: pl.DataFrame) -> bool:
    """Whether integers are present and unique in every row: one bit per possible value is enough, if they are dense."""
    ends = range_of_key(answer)
    if ends is None:
        return False
    base = asker.compile(asker.table.select(key=column.cast("int64")))
    text = f"SELECT bit_count(bitstring_agg(key, {ends[0]}, {ends[1]})) AS n FROM ({base}) AS base"
    return int(asker.ask_sql(text, {"n": "int64"}, 1)["n"][0]) == int(answer["n"].sum())


def range_of_key(answer: pl.DataFrame) -> tuple[int, int] | None:
    """Return the least and the largest value of an integer key, if it is present in every row and dense."""
    if "low" not in answer.columns:
        return None
    low, high, n_rows = answer["low"].min(), answer["high"].max(), int(answer["n"].sum())
    if int(answer["keys"].sum()) != n_rows or not isinstance(low, int) or not isinstance(high, int):
        return None
    fits = low >= -(2**63) and high < 2**63 and high - low < min(16 * n_rows, MOST_BITS)
    return (low, high) if fits else None


def sorted_classes(answer: pl.DataFrame, target: str) -> NDArray[Any]:
    """Return the sorted classes, and refuse rows without one."""
    missing = answer["label"].is_null()
    if answer["label"].dtype.is_float():
        missing = missing | answer["label"].is_nan().fill_null(value=True)
    if missing.any():
        n = int(answer.filter(missing)["n"].sum())
        raise InputError(
            f"the target {target!r} is missing in {n:,} rows.", "filter these rows out of the table expression."
        )
    classes: NDArray[Any] = encode_labels(label_array(np.array(answer["label"].unique().to_list()))).classes
    return classes


def refuse_infinite_sums(s2: Floats, names: Sequence[str]) -> None:
    """Raise for a column with an infinite value, or with one whose square is too large."""
    broken = np.flatnonzero(~np.isfinite(s2).all(axis=0))
    if broken.size:
        raise InputError(
            f"column {names[int(broken[0])]!r} contains infinity, or a number whose square is too large for float64.",
            "replace it, or mark it as missing, in the table expression.",
        )


def check_complete(moments: Mapping[Cell, Moments], rows: Mapping[Cell, Floats], names: Sequence[str]) -> None:
    """Raise if a cell is missing, because sums of products need complete rows."""
    for cell, part in moments.items():
        gaps = np.flatnonzero((part.rows != rows[cell][:, None]).any(axis=0))
        if gaps.size:
            raise InputError(
                f"linear models need complete numeric columns, but {names[int(gaps[0])]!r} has missing cells.",
                "filter these rows out or fill the cells in the table expression, or leave the column out.",
            )


def check_folds(facts: TableFacts) -> None:
    """Raise if there are no training or no test rows in a fold, as may happen with few rows."""
    assert facts.folds is not None
    outer, inner = facts.folds.sizes
    for o in range(outer):
        inner_folds = {cell[1] for cell in facts.cells if cell[0] != o}
        is_tested = any(cell[0] == o for cell in facts.cells)
        if not is_tested or len(inner_folds) < inner:
            where = f"inner fold {min(set(range(inner)) - inner_folds)} of outer fold {o}" if is_tested else f"fold {o}"
            raise InputError(
                f"no row is in {where}, because the table has only {facts.n_rows:,} rows.", "use fewer folds."
            )
