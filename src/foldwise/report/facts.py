"""`ReportFacts`: typed access to the facts of a run; whatever is missing or of another type is empty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class ReportFacts:
    """Nested dictionaries and lists, as JSON holds them."""

    def __init__(self, values: Any = None) -> None:
        self.values: Mapping[str, Any] = values if isinstance(values, Mapping) else {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def part(self, *names: str) -> ReportFacts:
        """A dictionary within dictionaries."""
        facts = self
        for name in names:
            facts = ReportFacts(facts.values.get(name))
        return facts

    def items(self, name: str) -> list[Any]:
        """A list."""
        value = self.values.get(name)
        return list(value) if isinstance(value, list | tuple) else []

    def records(self, name: str) -> list[ReportFacts]:
        """The dictionaries of a list."""
        return [ReportFacts(item) for item in self.items(name) if isinstance(item, Mapping)]

    def texts(self, name: str) -> list[str]:
        """The items of a list as text."""
        return [str(item) for item in self.items(name) if item is not None]

    def numbers(self, name: str) -> list[float]:
        """The finite numbers of a list."""
        return [float(item) for item in self.items(name) if is_number(item)]

    def matrix(self, name: str, n_rows: int, n_columns: int) -> list[list[float]]:
        """A list of lists of numbers, empty where its shape is another one."""
        rows = [ReportFacts({"row": row}).numbers("row") for row in self.items(name)]
        return rows if [len(row) for row in rows] == [n_columns] * n_rows else []

    def text(self, name: str) -> str:
        """A value as text."""
        value = self.values.get(name)
        return "" if value is None else str(value)

    def number(self, name: str) -> float | None:
        """A finite number, or None."""
        value = self.values.get(name)
        return value if is_number(value) else None

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        value = self.values.get(name)
        return default if value is None else bool(value)
