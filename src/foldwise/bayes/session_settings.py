"""Checks the settings of a fold session of `NaiveBayes` as `fit` does, and encodes the table for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import clone

from foldwise.bayes.assignment import FamilyBlock, wants_best, without_best
from foldwise.bayes.checks import BY_COLUMN, CHECKS, by_name, check_columns, check_setting
from foldwise.bayes.entry_params import entry_of
from foldwise.bayes.families.protocol import AnyView, Setting
from foldwise.bayes.grid import CategoricalColumns, GaussianColumns, GridBatch, GridTable
from foldwise.data.arguments import check_jobs
from foldwise.data.columns import check_comparable
from foldwise.data.encoded import EncodedView, encode_view
from foldwise.data.levels import are_text
from foldwise.data.schema import Column
from foldwise.data.view import SparseView
from foldwise.folds.protocol import Failure, Params

MOST_CLASSES = 30_000  # a grid stores labels as int16
NOT_ALONE = {*BY_COLUMN, "column_weights", "n_jobs"}  # parameters whose check needs more than their value


@dataclass(frozen=True)
class FamilyTable:
    """The table encoded for one assignment of families, with a grid if all columns are categorical or gaussian."""

    view: Any
    blocks: tuple[FamilyBlock, ...]
    template: Any  # an estimator with names and schema
    grid: GridTable | None

    @property
    def columns(self) -> tuple[Column, ...]:
        columns: tuple[Column, ...] = self.template.schema_.columns
        return columns


@dataclass(frozen=True)
class CheckedSetting:
    """A valid setting, with all parameters of its model."""

    params: dict[str, Any]
    setting: Setting
    table: FamilyTable

    @property
    def chooses(self) -> bool:
        """Whether families are chosen from the rows of each training set."""
        return wants_best(self.params["families"]) and not isinstance(self.table.view, SparseView)

    @property
    def in_grid(self) -> bool:
        """Whether it can be computed together with other settings."""
        return self.table.grid is not None and self.setting.missing == "ignore" and not self.chooses


@dataclass(frozen=True)
class SettingRun:
    """Consecutive settings: a batch, or settings that are computed one by one."""

    start: int
    members: Sequence[CheckedSetting | Failure]
    batch: GridBatch | None


class SessionSettings:
    """Checks settings, and encodes the table once for each assignment of families."""

    def __init__(self, estimator: Any, X: Any, template: Any, table: AnyView, n_classes: int) -> None:
        self._estimator, self._X, self._template = estimator, X, template
        self._table, self._n_classes = table, n_classes
        self.names = [column.name for column in table.columns]
        self._params = estimator.get_params(deep=False)
        self._base: Setting | None = None  # the estimator's own parameters, if they are valid
        with suppress(TypeError, ValueError):
            check_jobs(self._params["n_jobs"])
            self._base = by_name(check_setting({name: self._params[name] for name in CHECKS}), self.names)
        self._tables: dict[str, FamilyTable] = {}
        self._lock = Lock()
        self._runs: dict[tuple[int | None, ...], tuple[Sequence[Params], list[SettingRun]]] = {}

    def runs(self, settings: Sequence[Params], size: int | None) -> list[SettingRun]:
        """Group settings into runs of at most `size`; kept, because every split needs the same runs."""
        key = (size, *map(id, settings))
        if key not in self._runs:
            checked = [self.check(setting) for setting in settings]
            runs = []
            for start, table, members in consecutive(checked, table_of_grid, size or len(settings)):
                runs.append(SettingRun(start, members, None if table is None else batch_of(members)))
            self._runs[key] = (list(settings), runs)  # keeps the settings alive, so that their ids stay unique
        return self._runs[key][1]

    def check(self, setting: Params) -> CheckedSetting | Failure:
        """Check a setting as `fit` would, without an estimator, because cloning costs more than an answer."""
        try:
            params = {**self._params, **setting}
            if len(params) > len(self._params):  # entries of mappings; raises for unknown names
                params = clone(self._estimator).set_params(**setting).get_params(deep=False)
                setting = {name: params[name] for name in {(entry_of(one) or (one,))[0] for one in setting}}
            if self._base is None or not setting.keys().isdisjoint(NOT_ALONE):
                checked = by_name(check_setting({name: params[name] for name in CHECKS}), self.names)
                check_jobs(params["n_jobs"])
            else:  # only what is new is checked
                given = {name: CHECKS[name](setting[name]) for name in setting if name in CHECKS}
                checked = changed(self._base, given)
            if params["columns"] is not None:
                checked = replace(checked, columns=check_columns(params["columns"], self.names))
            return CheckedSetting(params, checked, self.table(without_best(params["families"])))
        except Exception as error:  # not hidden: the failure is the answer
            return Failure(error)

    def table(self, families: Any) -> FamilyTable:
        """Encode the table for an assignment of families, once."""
        key = families if isinstance(families, str) else repr(families)
        if key not in self._tables:
            with self._lock:  # one thread encodes the table, the others wait
                if key not in self._tables:
                    self._tables[key] = self._encode(families)
        return self._tables[key]

    def _encode(self, families: Any) -> FamilyTable:
        template = self._template
        if families is not self._params["families"]:
            template = clone(self._estimator).set_params(families=families)
            template._view(self._X, reset=True)
        blocks = template._assign(self._table, families)
        categorical, text = (
            [j for block in blocks if block.family == family for j in block.columns]
            for family in ("categorical", "text")
        )
        view, columns = encode_view(self._table, categorical, text), template.schema_.columns
        for j in categorical:
            if columns[j].levels and isinstance(view, EncodedView):
                check_comparable(columns[j].name, columns[j].levels, are_text(view.coded_columns[j].levels))
        return FamilyTable(view, blocks, template, open_grid(view, blocks, columns, self._n_classes))


def changed(setting: Setting, values: Mapping[str, Any]) -> Setting:
    """Copy a setting with other values, in a quarter of the time of `replace`: searches have thousands of settings."""
    copy = object.__new__(Setting)
    vars(copy).update(vars(setting), **values)
    return copy


def batch_of(members: Sequence[Any]) -> GridBatch:
    """Combine settings of one grid."""
    priors = tuple(one.params["priors"] for one in members)
    return GridBatch(members[0].table.grid, tuple(one.setting for one in members), priors)


def table_of_grid(checked: CheckedSetting | Failure) -> int | None:
    """Make the key of settings that can be computed together; None for one that is computed alone."""
    return id(checked.table) if isinstance(checked, CheckedSetting) and checked.in_grid else None


def table_of(checked: CheckedSetting | Failure) -> int | None:
    return id(checked.table) if isinstance(checked, CheckedSetting) else None


def consecutive(
    checked: Sequence[CheckedSetting | Failure],
    key: Callable[[CheckedSetting | Failure], int | None],
    size: int,
) -> Iterator[tuple[int, int | None, list[CheckedSetting | Failure]]]:
    """Group consecutive settings with the same key, at most `size`: start, key and members of each group."""
    for common, group in groupby(range(len(checked)), key=lambda i: key(checked[i])):
        indices = list(group)
        for a in range(0, len(indices), size):
            yield indices[a], common, [checked[i] for i in indices[a : a + size]]


def open_grid(view: Any, blocks: Sequence[FamilyBlock], columns: Sequence[Column], n_classes: int) -> GridTable | None:
    """Make the grid of an encoded table; None if its families do not allow it."""
    families = {block.family for block in blocks}
    if not isinstance(view, EncodedView) or not families <= {"categorical", "gaussian"} or n_classes > MOST_CLASSES:
        return None
    categories, numbers = None, None
    for block in blocks:
        if block.family == "categorical":
            coded = [view.coded_columns[j].described(columns[j]) for j in block.columns]
            categories = CategoricalColumns.of(coded, block.columns)
        else:
            names = tuple(columns[j].name for j in block.columns)
            numbers = GaussianColumns(np.ascontiguousarray(view.number_table), names, block.columns)
    return GridTable(categories, numbers)
