"""Warn of numbers in object columns: by the type of the column, each number becomes a category."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from foldwise.data.columns import ObjectColumn
from foldwise.data.levels import is_missing
from foldwise.data.schema import listing
from foldwise.data.view import SparseView, View
from foldwise.errors import FoldwiseWarning

LIBRARIES = ("foldwise", "sklearn", "joblib")  # a warning points at the code that called them
HEAD = 100  # cells that are looked at first


def warn_of_number_objects(
    table: View | SparseView, hint: str, is_declared: Callable[[int, str], bool] = lambda _, __: False
) -> None:
    """Warn once of all object columns that contain numbers and nothing else, unless they are declared.

    Estimators call it when they are fitted, and when they open a fold session.
    """
    if not isinstance(table, View):
        return
    names = [
        source.column.name
        for j, source in enumerate(table.sources)
        if isinstance(source, ObjectColumn) and not is_declared(j, source.column.name) and holds_numbers(source, table)
    ]
    if not names:
        return
    if _calls.seen(tuple(names)):
        return
    which = f"column {names[0]!r} contains" if len(names) == 1 else f"columns {listing(names)} contain"
    has = "has" if len(names) == 1 else "have"
    warnings.warn(
        f"{which} only numbers but {has} the type object, so each number becomes a category. Hint: convert the table, "
        f"for example with pandas' X.infer_objects(), pass a frame instead of an array of objects, or {hint}.",
        FoldwiseWarning,
        stacklevel=level_of_caller(),
    )


def holds_numbers(source: ObjectColumn, table: View) -> bool:
    """Whether all cells that are not missing are numbers, not booleans or text, and some are."""
    found: set[type] = set()
    for cells in (source.values(0, HEAD), source.values(HEAD, table.n_rows)):
        found |= {type(value) for value in cells if not is_missing(value)}
        if not all(issubclass(one, int | float | np.number) and one is not bool for one in found):
            return False
    return bool(found)


class CallsInProgress:
    """Which columns the calls in progress have warned of, of all threads. A call may fit many models."""

    def __init__(self) -> None:
        self._depth = 0
        self._warned: set[tuple[str, ...]] = set()

    @contextmanager
    def one(self) -> Iterator[None]:
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._warned.clear()

    def seen(self, names: tuple[str, ...]) -> bool:
        """Whether a call in progress has warned of these columns. If not, it has now."""
        was = names in self._warned
        if self._depth:
            self._warned.add(names)
        return was


_calls = CallsInProgress()


def warning_once() -> AbstractContextManager[None]:
    """Return a context in which many models are fitted to the same table, but one warning is given."""
    return _calls.one()


def level_of_caller() -> int:
    """The stack level of the code that called Foldwise or scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in LIBRARIES:
        level, frame = level + 1, frame.f_back
    return level
