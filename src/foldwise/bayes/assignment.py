"""Assigns a distribution family to each column: by its declared kind or its type, never by its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foldwise.bayes.families import FAMILIES
from foldwise.bayes.families.protocol import AnyView, Setting
from foldwise.data.arguments import column_index
from foldwise.data.schema import Column, Schema, listing
from foldwise.data.view import SparseView
from foldwise.errors import InputError

OF_KIND = {"numeric": "gaussian", "categorical": "categorical", "binary": "categorical", "text": "text"}
BEST = "best"  # chosen during `fit` (`foldwise.bayes.best`)


@dataclass(frozen=True)
class FamilyBlock:
    """The columns of one distribution family, by their indices in the table."""

    family: str
    columns: tuple[int, ...]


def in_use(block: FamilyBlock, summary: Any, setting: Setting) -> tuple[FamilyBlock, Any]:
    """Select the columns of a block, and of its facts, that a setting uses."""
    kept = [k for k, j in enumerate(block.columns) if setting.uses(j)]
    if len(kept) == len(block.columns):
        return block, summary
    return FamilyBlock(block.family, tuple(block.columns[k] for k in kept)), summary.select(kept)


def narrow(view: AnyView, columns: tuple[int, ...]) -> tuple[AnyView, Sequence[int]]:
    """Restrict a sparse view to some columns; for a dense view, return the columns themselves."""
    if not isinstance(view, SparseView) or len(columns) == view.n_columns:
        return view, columns
    kept = SparseView(view.matrix[:, list(columns)], tuple(view.names[j] for j in columns))
    return kept, range(len(columns))


def assign_families(columns: Sequence[Column], families: Any, sparse: bool) -> tuple[FamilyBlock, ...]:
    """Group the columns of a table by family; `families` is "auto", a name, a mapping by column, or a `Schema`."""
    if sparse and not isinstance(families, str):
        raise InputError(
            "families must be one name if X is a sparse matrix.",
            "pass families='multinomial', 'bernoulli' or 'auto'.",
        )
    if isinstance(families, Schema):
        check_names(families.names, columns)
        columns = [families[column.name] for column in columns]
    elif not isinstance(families, str | Mapping):
        raise InputError(
            "families must be 'auto', 'best', the name of a distribution family, a mapping from columns to names, or a "
            f"Schema; got {type(families).__name__}.",
            f"the distribution families are {listing(FAMILIES, most=len(FAMILIES))}.",
        )
    wanted = wanted_families(columns, families)
    chosen = [one_family(column, family, sparse) for column, family in zip(columns, wanted, strict=True)]
    return tuple(
        FamilyBlock(name, tuple(j for j, family in enumerate(chosen) if family == name))
        for name in FAMILIES
        if name in chosen
    )


def wanted_families(columns: Sequence[Column], families: Any) -> list[Any]:
    """Resolve `families` to one name per column; columns that a mapping does not name are "auto"."""
    if not isinstance(families, Mapping):
        return [families if isinstance(families, str) else "auto"] * len(columns)
    names = [column.name for column in columns]
    named_by_numbers = all(name.isdigit() for name in names)  # then a number is a name, never an index
    wanted: list[Any] = ["auto"] * len(columns)
    for key, family in families.items():
        wanted[column_index("families", str(key) if named_by_numbers else key, names)] = family
    return wanted


def wants_best(families: Any) -> bool:
    """Check whether the family of any column is "best"."""
    if isinstance(families, str):
        return families == BEST
    given = families.values() if isinstance(families, Mapping) else [families]
    return any(isinstance(family, str) and family == BEST for family in given)


def without_best(families: Any) -> Any:
    """Replace "best" with "auto"."""
    if not wants_best(families):
        return families
    if isinstance(families, Mapping):
        return {key: "auto" if family == BEST else family for key, family in families.items()}
    return "auto"


def one_family(column: Column, family: str, sparse: bool) -> str:
    """Resolve the family of one column."""
    if isinstance(family, str) and family in FAMILIES:
        return family
    if family != "auto":
        raise InputError(
            f"the distribution family of column {column.name!r} must be a known name, got {family!r}.",
            f"use {listing(FAMILIES, most=len(FAMILIES))}, 'auto' or 'best'.",
        )
    if sparse:
        return "multinomial"
    if column.kind not in OF_KIND:
        raise InputError(
            f"column {column.name!r} is of kind {column.kind!r}, which no distribution family supports.",
            "drop the column, or convert it, for example with DateFeatures or TableEncoder."
            if column.kind == "date"
            else "drop the column, or convert it to numbers or categories.",
        )
    return OF_KIND[column.kind]


def check_names(names: Sequence[str], columns: Sequence[Column]) -> None:
    """Raise if a schema belongs to another table."""
    here = {column.name for column in columns}
    if set(names) != here:
        raise InputError(
            "the Schema given as families must have the same columns as X. "
            f"Only in X: {listing(sorted(here - set(names))) or 'none'}. "
            f"Only in the Schema: {listing(sorted(set(names) - here)) or 'none'}.",
            "make the Schema from X.",
        )
