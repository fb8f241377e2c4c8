"""Facts as the page asks for them: a part that is not there is empty, a number that is none is undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

Facts = Mapping[str, Any]
NOTHING = "–"


def part(facts: Facts, *names: str) -> Facts:
    """A dict within dicts, empty where it is None or absent."""
    for name in names:
        inner = facts.get(name)
        facts = inner if isinstance(inner, Mapping) else {}
    return facts


def items(facts: Facts, name: str) -> list[Any]:
    """A list, empty where it is None or absent."""
    inner = facts.get(name)
    return list(inner) if isinstance(inner, list | tuple) else []


def records(facts: Facts, name: str) -> list[Facts]:
    """The dicts of a list."""
    return [item for item in items(facts, name) if isinstance(item, Mapping)]


def texts(facts: Facts, name: str) -> list[str]:
    """The texts of a list."""
    return [str(item) for item in items(facts, name) if item is not None]


def text(facts: Facts, name: str) -> str:
    """Words, none where they are None or absent."""
    inner = facts.get(name)
    return "" if inner is None else str(inner)


def class_of(curve: Facts) -> str:
    """The class that a curve is about; a bare number is called a class, beside figures it would be one of them.

    >>> class_of({"class": 1}), class_of({"class": "yes"})
    ('class 1', 'yes')
    """
    name = text(curve, "class")
    try:
        float(name)
    except ValueError:
        return name
    return f"class {name}"


def defined(value: Any) -> TypeGuard[float]:
    """Whether this is a number that can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def numbers(facts: Facts, name: str) -> list[float]:
    """The numbers of a list."""
    return [float(value) for value in items(facts, name) if defined(value)]


def number(value: Any, digits: int = 3) -> str:
    """A number short enough to read, with as many decimals as its size calls for."""
    if not defined(value):
        return NOTHING
    size = abs(value)
    if isinstance(value, int) or (value == int(value) and size >= 1000):
        return f"{value:,.0f}"
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    if size >= 0.01 or size == 0:
        return f"{value:.{digits}f}"
    return f"{value:.2g}"


def decimals(values: Sequence[float]) -> int:
    """How many decimals show three digits of the greatest of these, so that a column of them lines up."""
    most = max((abs(value) for value in values), default=0.0)
    return 3 if most == 0 else max(0, min(9, 2 - math.floor(math.log10(most))))


def fixed(value: Any, digits: int) -> str:
    """A number with so many decimals, and a minus sign as wide as a digit."""
    return f"{value:,.{digits}f}".replace("-", "−") if defined(value) else NOTHING


def short(value: Any) -> str:
    """A tick's or a setting's number."""
    if not defined(value):
        return NOTHING if value is None else str(value)
    if abs(value) >= 10_000 and value == int(value) and abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(share: Any, digits: int = 0) -> str:
    """A share in percent; a small one keeps a decimal."""
    if not defined(share):
        return NOTHING
    if 0 < share < 0.01 and digits == 0:
        return "< 1 %" if share < 0.001 else f"{100 * share:.1f} %"
    return f"{100 * share:.{digits}f} %"


def duration(seconds: Any) -> str:
    """Seconds as a person says them."""
    if not defined(seconds):
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def counted(n: Any, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number(n)} {one if n == 1 else many}"


def estimate_text(estimate: Facts) -> str:
    """An estimate with its interval."""
    if not defined(estimate.get("value")):
        return NOTHING
    low, high = estimate.get("low"), estimate.get("high")
    between = f" ({number(low)} to {number(high)})" if defined(low) and defined(high) else ""
    return f"{number(estimate['value'])}{between}"
