"""Decide the role of each column for models: number, category, text or date, or dropped for a reason.

Roles are decided once per table, from types and findings, without looking at labels. Categories, medians and words are
learned later, from the training rows of each fold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from foldwise.data.schema import Column
from foldwise.data.table import Table
from foldwise.data.target import Task, encode_target, number_target, task_of
from foldwise.errors import InputError
from foldwise.models.date_features import at_midnight, shape_of_column

Role = Literal["number", "category", "text", "date"]
ROLES: tuple[Role, ...] = get_args(Role)
FEW = 12  # levels that are one-hot encoded for trees


@dataclass(frozen=True)
class TargetScale:
    """The range and the shape of a quantity that models predict.

    Search spaces use it: the penalty of the lasso is in units of the target, and only positive targets have logarithms.

    Attributes
    ----------
    lowest : float
        The smallest value.
    spread : float
        The standard deviation; 1 if the target is constant.
    skewness : float
        The third standardized moment: 0 for a symmetric target, above 1 for a long tail of large values.

    Examples
    --------
    >>> TargetScale.of(np.array([1.0, 1.0, 1.0, 5.0])).lowest
    1.0
    """

    lowest: float
    spread: float
    skewness: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> TargetScale:
        """Describe the values of a target.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The target, finite numbers.

        Returns
        -------
        TargetScale
            Its range and shape.
        """
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        scaled = values / largest  # squares of 1e200 would overflow
        centered = scaled - scaled.mean()
        spread = float(np.sqrt(np.mean(centered**2)))
        if spread < 1e-12:  # constant up to rounding
            return cls(float(values.min(initial=0.0)), 1.0, 0.0)
        return cls(float(values.min()), spread * largest, float(np.mean((centered / spread) ** 3)))


@dataclass(frozen=True)
class Outline:
    """What is known about a table before any model is fitted: the roles of its columns, and its size.

    Attributes
    ----------
    roles : mapping of str to str
        The role of each column: "number", "category", "text" or "date".
    left_out : mapping of str to str
        The columns that models do not use, with the reason.
    n_rows : int
        Number of rows.
    n_classes : int
        Number of classes of the target; 0 if the target is a quantity.
    n_levels : mapping of str to int
        Number of levels of each categorical column.
    constant : bool
        Whether all columns are constant.
    target : TargetScale, optional
        The range and the shape of a quantity as target; None for classes.
    date_shapes : mapping of str to str
        What each date column contains: "date", "datetime", "time" or "duration".
    date_formats : mapping of str to str
        How the dates of text columns are written.

    Examples
    --------
    >>> from foldwise import read_table
    >>> about = outline(read_table("examples/weather.csv", target="play"))
    >>> about.columns("number")
    ['temperature', 'humidity']
    >>> about.n_rows, about.n_classes
    (14, 2)
    """

    roles: Mapping[str, Role]
    left_out: Mapping[str, str]
    n_rows: int
    n_classes: int
    n_levels: Mapping[str, int]
    constant: bool = False
    target: TargetScale | None = None
    date_shapes: Mapping[str, str] = field(default_factory=dict)
    date_formats: Mapping[str, str] = field(default_factory=dict)

    @property
    def task(self) -> Task:
        """Whether models predict classes ("classification") or a quantity ("regression")."""
        return "classification" if self.n_classes else "regression"

    def columns(self, *roles: Role) -> list[str]:
        """Return the columns with one of these roles, in order.

        Parameters
        ----------
        *roles : str
            "number", "category", "text" or "date".

        Returns
        -------
        list of str
            Names of the columns.
        """
        found = [role for role in roles if role in self.by_role]
        if len(found) == 1:
            return list(self.by_role[found[0]])
        return [name for name, role in self.roles.items() if role in found] if found else []

    @cached_property
    def by_role(self) -> Mapping[Role, list[str]]:
        """The columns of each role that occurs."""
        found: dict[Role, list[str]] = {}
        for name, role in self.roles.items():
            found.setdefault(role, []).append(name)
        return found

    @property
    def few(self) -> list[str]:
        """The categorical columns with at most 12 levels."""
        return [name for name in self.columns("category") if self.n_levels[name] <= FEW]

    @property
    def many(self) -> list[str]:
        """The categorical columns with more than 12 levels."""
        return [name for name in self.columns("category") if self.n_levels[name] > FEW]


def outline(table: Table, task: str | None = None) -> Outline:
    """Decide the roles of the columns of a table, and its task.

    Parameters
    ----------
    table : Table
        A table that was read with a target.
    task : {"classification", "regression"}, optional
        What to predict: classes or a quantity. By default `task_of` decides from the target.

    Returns
    -------
    Outline
        The roles of the columns, and the size of the table.

    Examples
    --------
    >>> from foldwise import read_table
    >>> dict(outline(read_table("examples/weather.csv", target="play")).roles)
    {'outlook': 'category', 'temperature': 'number', 'humidity': 'number', 'windy': 'category'}
    """
    if table.y is None:
        raise InputError(f"table {table.name!r} has no target.", "read it with read_table(path, target='column').")
    roles, left_out = column_roles(table)
    n_levels = {name: table.X[name].n_unique() for name, role in roles.items() if role == "category"}
    n_classes, target, n_values = 0, None, len(np.asarray(table.y))
    if task_of(table.y, task) == "regression":
        target = TargetScale.of(number_target(table.y, n_values))
    else:
        n_classes = len(encode_target(table.y, n_values).classes)
    constant = all(found.kind == "constant" for found in table.findings)
    dates = date_columns(table, roles)
    return Outline(roles, left_out, table.X.height, n_classes, n_levels, constant, target, *dates)


def date_columns(table: Table, roles: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Say what each date column contains, and how the dates of text columns are written."""
    dates, formats = [name for name, role in roles.items() if role == "date"], table.date_formats
    shapes = {name: str(shape_of_column(table.X[name], formats.get(name))) for name in dates}
    shapes |= {name: "date" for name in dates if at_midnight(table.X[name])}
    return shapes, {name: form for name, form in formats.items() if name in shapes}


def column_roles(table: Table) -> tuple[dict[str, Role], dict[str, str]]:
    """Decide the role of each column, and which columns are left out, with the reason."""
    roles: dict[str, Role] = {}
    left_out: dict[str, str] = {}
    uninformative = {"identifier": "it identifies rows: ", "constant": ""}
    formats = table.date_formats
    for column in table.schema:
        found = table.findings[column.name]
        declared = table.declared.get(column.name)
        if found.kind in uninformative and declared is None:
            left_out[column.name] = f"{uninformative[found.kind]}{found.reason}"
        elif declared == "identifier":
            left_out[column.name] = "declared as an identifier"
        else:
            roles[column.name] = "date" if column.name in formats else role_of(column, found.kind)
    if not roles:  # a poor model is better than no model
        roles = {column.name: role_of(column, "") for column in table.schema}
        left_out = {}
    if not roles:
        raise InputError(f"table {table.name!r} has no column except its target.", "a model needs at least one.")
    return roles, left_out


def role_of(column: Column, found: str) -> Role:
    """Return the role of one column by its type and by what its values look like."""
    if column.kind == "date":
        return "date"
    if column.kind == "numeric":
        return "number"
    if column.kind == "categorical" and column.levels is None and found in ("text", "date"):
        return "text"  # dates that may have the day or the month first have words too
    return "category"
