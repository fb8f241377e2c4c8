"""The role of each column for a model: number, category, text, date, or left out with a reason.

Roles are decided once for a table, from types and findings; labels are not used. Whatever a model learns from cells
(categories, medians, words) it learns later, from its own training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from foldwise.data.schema import Column
from foldwise.data.table import Table
from foldwise.data.target import encode_target
from foldwise.errors import InputError

Role = Literal["number", "category", "text", "date"]
ROLES: tuple[Role, ...] = get_args(Role)
FEW = 12  # levels that a tree can tell apart one by one


@dataclass(frozen=True)
class Outline:
    """What is known of a table before any model is fitted: the roles of its columns, and how large it is."""

    roles: Mapping[str, Role]
    left_out: Mapping[str, str]  # column and reason
    n_rows: int
    n_classes: int
    n_levels: Mapping[str, int]  # of columns of categories, in the whole table
    constant: bool = False  # whether every column is the same in all rows

    def columns(self, *roles: Role) -> list[str]:
        """The columns with one of these roles, in order."""
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def few(self) -> list[str]:
        """The columns of at most a dozen categories."""
        return [name for name in self.columns("category") if self.n_levels[name] <= FEW]

    @property
    def many(self) -> list[str]:
        """The columns of more categories than that."""
        return [name for name in self.columns("category") if self.n_levels[name] > FEW]


def outline(table: Table) -> Outline:
    """The outline of a table that was read with a target.

    >>> from foldwise import read_table
    >>> dict(outline(read_table("examples/weather.csv", target="play")).roles)
    {'outlook': 'category', 'temperature': 'number', 'humidity': 'number', 'windy': 'category'}
    """
    if table.y is None:
        raise InputError(f"the table {table.name!r} has no target.", "name it: read_table(path, target='column').")
    roles: dict[str, Role] = {}
    left_out: dict[str, str] = {}
    uninformative = {"identifier": "it identifies rows", "constant": "it is the same in every row"}
    for column in table.schema:
        found = table.findings[column.name]
        if found.kind in uninformative and table.declared.get(column.name) is None:
            left_out[column.name] = f"{uninformative[found.kind]}: {found.reason}"
        else:
            roles[column.name] = role_of(column, found.kind)
    if not roles:  # a poor model is better than none
        roles = {column.name: role_of(column, "") for column in table.schema}
        left_out = {}
    if not roles:
        raise InputError(f"the table {table.name!r} has no column except its target.", "a model needs at least one.")
    n_levels = {name: table.X[name].n_unique() for name, role in roles.items() if role == "category"}
    n_classes = len(encode_target(table.y, len(np.asarray(table.y))).classes)
    constant = all(found.kind == "constant" for found in table.findings)
    return Outline(roles, left_out, table.X.height, n_classes, n_levels, constant)


def role_of(column: Column, found: str) -> Role:
    """The role of one column, from its type and what its values look like."""
    if column.kind == "date":
        return "date"
    if column.kind == "numeric":
        return "number"
    if column.kind == "categorical" and column.levels is None and found in ("text", "date"):
        return "text"  # a date that stayed text has words too: its year, month and day
    return "category"
