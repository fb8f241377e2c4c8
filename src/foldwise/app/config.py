"""`FitConfig`: the arguments of `foldwise.fit` as one frozen value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from foldwise.data.reading.table_source import TableSource
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan
from foldwise.models.spec import ModelSpec

LARGEST_SEED = 2**32 - 1  # of numpy and scikit-learn


def check_seed(seed: Any) -> int:
    """Return a valid seed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= LARGEST_SEED:
        raise InputError(
            f"seed must be an integer from 0 to {LARGEST_SEED:,}, got {seed!r}.", "pass a number such as 0."
        )
    return int(seed)


@dataclass(frozen=True)
class FitConfig:
    """The keywords of `foldwise.fit`, which describes them."""

    target: str | None = None
    budget: float | str = 60.0
    models: str | Iterable[str | ModelSpec] | None = None
    metric: str | None = None
    costs: Any = None
    groups: str | None = None
    time: str | None = None
    weights: str | None = None
    positive: Any = None
    test: Any = None
    drop_unlabeled: bool = False
    rows: bool = True
    seed: int = 0
    n_jobs: int | None = None
    task: str | None = None
    cv: str | int | None = None
    coverage: float | str | None = None
    guarantee: bool = False
    slices: str | Iterable[str] | None = None
    reading: Mapping[str, Any] | None = None  # arguments of `read_table`, from the command line
    y_apart: bool = False  # whether the target was passed as y, not as a column of the table

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if self.cv is not None:
            FoldPlan.of(self.cv)  # refuses what cannot be read
        if self.coverage is not None or self.guarantee:
            from foldwise.app.coverage import check_guarantee  # loads libraries that other runs may not need yet

            check_guarantee(self.coverage, self.guarantee, self.time)

    @property
    def fold_plan(self) -> FoldPlan | None:
        """The folds that `cv` asks for; None if it is left open."""
        return None if self.cv is None else FoldPlan.of(self.cv)

    def source_of(self, table: Any) -> Any:
        """Return a file with the arguments to read it with; anything else as it is."""
        is_file = self.reading is not None and isinstance(table, str | os.PathLike)
        return TableSource(Path(table), self.reading or {}) if is_file else table

    @property
    def model_names(self) -> Iterable[str | ModelSpec] | None:
        return [one.strip() for one in self.models.split(",")] if isinstance(self.models, str) else self.models

    def python_call(self, table: Any) -> str:
        """Write the call that repeats a run. Objects appear as the name of their argument.

        >>> FitConfig(target="play", budget="5m", rows=False).python_call("weather.csv")
        "foldwise.fit('weather.csv', target='play', budget='5m', rows=False, seed=0)"
        >>> FitConfig(target="play", y_apart=True).python_call(None)
        "foldwise.fit(X, y, target='play', budget=60.0, seed=0)"
        """
        unwritten = ("reading", "y_apart")
        values = [(one.name, getattr(self, one.name), one.default) for one in fields(self) if one.name not in unwritten]
        values = [(name, self.source_of(value) if name == "test" else value, usual) for name, value, usual in values]
        table = self.source_of(table)
        usual = [value is None or (isinstance(value, bool) and value == default) for _, value, default in values]
        written = [
            f"{name}={as_code(name, value)}" for (name, value, _), skip in zip(values, usual, strict=True) if not skip
        ]
        return f"foldwise.fit({', '.join([self.data_code(table), *written])})"

    def data_code(self, table: Any) -> str:
        """Write the data as the caller passed them: a path, a table, or X and y."""
        if self.y_apart:
            return "X, y"
        return table.as_code(self.target) if isinstance(table, TableSource) else as_code("table", table)


def as_code(name: str, value: Any) -> str:
    """Write a value as Python code, or as the name of its argument."""
    if isinstance(value, TableSource):
        return value.as_code()
    if isinstance(value, os.PathLike):
        return repr(str(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(as_code(getattr(one, 'name', 'model'), one) for one in value)}]"
    return repr(value) if isinstance(value, str | int | float) else name
