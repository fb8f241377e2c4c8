"""Which family each column gets: from its declared kind or its type, never from its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.protocol import AnyView, Setting
from foldwise.data.schema import Column, Schema, listing
from foldwise.data.view import SparseView
from foldwise.errors import InputError

OF_KIND = {"numeric": "gaussian", "categorical": "categorical", "binary": "categorical", "text": "text"}


BEST = "best"  # chosen when rows are learned (`foldwise.bayes.best`)


@dataclass(frozen=True)
class FamilyBlock:
    """The columns of one family, by their indices in the table."""

    family: str
    columns: tuple[int, ...]


def in_use(block: FamilyBlock, summary: Any, setting: Setting) -> tuple[FamilyBlock, Any]:
    """The part of a block and of its facts that a setting uses."""
    kept = [k for k, j in enumerate(block.columns) if setting.uses(j)]
    if len(kept) == len(block.columns):
        return block, summary
    return FamilyBlock(block.family, tuple(block.columns[k] for k in kept)), summary.select(kept)


def narrow(view: AnyView, columns: tuple[int, ...]) -> tuple[AnyView, Sequence[int]]:
    """The view and the indices that a likelihood of some columns reads; a sparse matrix is cut to them."""
    if not isinstance(view, SparseView) or len(columns) == view.n_columns:
        return view, columns
    kept = SparseView(view.matrix[:, list(columns)], tuple(view.names[j] for j in columns))
    return kept, range(len(columns))


def assign_families(columns: Sequence[Column], families: Any, sparse: bool) -> tuple[FamilyBlock, ...]:
    """The blocks of a table: `families` is "auto", one name for all columns, a mapping by column, or a `Schema`."""
    if sparse and not isinstance(families, str):
        raise InputError(
            "a sparse matrix takes one family for all its columns.",
            "pass families='multinomial', families='bernoulli' or 'auto'.",
        )
    if isinstance(families, str):
        chosen = [one_family(column, families, sparse) for column in columns]
    elif isinstance(families, Schema):
        check_names(families.names, columns)
        chosen = [one_family(families[column.name], "auto", sparse) for column in columns]
    elif isinstance(families, Mapping):
        wanted = wanted_families(columns, families)
        chosen = [one_family(column, family, False) for column, family in zip(columns, wanted, strict=True)]
    else:
        raise InputError(
            f"families must be 'auto', 'best', the name of a family, a mapping by column or a Schema; "
            f"got {type(families).__name__}.",
            f"the families are {listing(FAMILIES, most=len(FAMILIES))}.",
        )
    return tuple(
        FamilyBlock(name, tuple(j for j, family in enumerate(chosen) if family == name))
        for name in FAMILIES
        if name in chosen
    )


def wanted_families(columns: Sequence[Column], families: Any) -> list[Any]:
    """The family given for each column: one for all, or by name or index; "auto" for columns not named."""
    if not isinstance(families, Mapping):
        return [families if isinstance(families, str) else "auto"] * len(columns)
    index = {column.name: j for j, column in enumerate(columns)}
    wanted: list[Any] = ["auto"] * len(columns)
    for key, family in families.items():
        j = index.get(str(key))
        by_index = isinstance(key, int | np.integer) and not all(name.isdigit() for name in index)
        if j is None and by_index and 0 <= key < len(columns):
            j = int(key)
        if j is None:
            raise InputError(
                f"families names the column {key!r}, which the table does not have.",
                f"its columns are {listing(index)}.",
            )
        wanted[j] = family
    return wanted


def wants_best(families: Any) -> bool:
    """Whether the family of some column is to be chosen from the rows."""
    given = families.values() if isinstance(families, Mapping) else [families]
    return any(isinstance(family, str) and family == BEST for family in given)


def without_best(families: Any) -> Any:
    """The same with the choice left to the columns' types."""
    if not wants_best(families):
        return families
    if isinstance(families, Mapping):
        return {key: "auto" if family == BEST else family for key, family in families.items()}
    return "auto"


def one_family(column: Column, family: str, sparse: bool) -> str:
    """The family of one column."""
    if isinstance(family, str) and family in FAMILIES:
        return family
    if family != "auto":
        raise InputError(
            f"column {column.name!r} is given the unknown family {family!r}.",
            f"the families are {listing(FAMILIES, most=len(FAMILIES))}, or 'auto' or 'best'.",
        )
    if sparse:
        return "multinomial"
    if column.kind not in OF_KIND:
        raise InputError(
            f"column {column.name!r} is a {column.kind}, for which no family is chosen by itself.",
            "leave the column out, or turn it into numbers or categories.",
        )
    return OF_KIND[column.kind]


def check_names(names: Sequence[str], columns: Sequence[Column]) -> None:
    """Refuse a schema of another table."""
    here = {column.name for column in columns}
    if set(names) != here:
        raise InputError(
            "the schema given as families is of another table: "
            f"it lacks {listing(sorted(here - set(names))) or 'nothing'} "
            f"and has {listing(sorted(set(names) - here)) or 'nothing'} besides."
        )
