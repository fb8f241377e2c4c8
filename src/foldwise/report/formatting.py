"""Numbers, durations, estimates and settings as the page writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from foldwise.report.facts import ReportFacts, is_number

NOTHING = "–"


def number(value: Any, digits: int = 3) -> str:
    """A number with as many decimals as its size calls for."""
    if not is_number(value):
        return NOTHING
    size = abs(value)
    if isinstance(value, int) or size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.1f}"
    return f"{value:.{digits}f}" if size >= 0.01 or size == 0 else f"{value:.2g}"


def signed(value: float) -> str:
    """A number with its sign."""
    return f"{'+' if value >= 0 else '−'}{number(abs(value), 2)}"


def decimals(values: Sequence[float]) -> int:
    """How many decimals show three digits of the largest value, so that a column of numbers lines up."""
    largest = max((abs(value) for value in values), default=0.0)
    return 3 if largest == 0 else max(0, min(9, 2 - math.floor(math.log10(largest))))


def fixed(value: Any, digits: int) -> str:
    """A number with a fixed number of decimals, and a minus sign as wide as a digit."""
    return f"{value:,.{digits}f}".replace("-", "−") if is_number(value) else NOTHING


def short(value: Any) -> str:
    """A tick label or the value of a setting."""
    if not is_number(value):
        return NOTHING if value is None else str(value)
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e7 and value == int(value) else f"{value:.4g}"


def percent(share: Any, digits: int = 0) -> str:
    """A share in percent; a small one keeps a decimal."""
    if not is_number(share):
        return NOTHING
    if 0 < share < 0.01 and digits == 0:
        return "<0.1%" if share < 0.001 else f"{100 * share:.1f}%"
    return f"{100 * share:.{digits}f}%"


def duration(seconds: Any) -> str:
    """Seconds, minutes or hours."""
    if not is_number(seconds):
        return NOTHING
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def p_text(p: Any) -> str:
    """A p-value in a table, as `foldwise.evaluation.tables` writes it, which is slow to load."""
    if not is_number(p):
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def p_equation(p: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def counted(n: Any, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{number(n)} {one if n == 1 else many}"


def interval_text(low: float | None, high: float | None) -> str:
    """An interval in parentheses, or nothing."""
    return "" if low is None or high is None else f" ({number(low)} to {number(high)})"


def estimate_text(estimate: ReportFacts) -> str:
    """An estimate with its interval."""
    value = estimate.number("value")
    between = interval_text(estimate.number("low"), estimate.number("high"))
    return NOTHING if value is None else f"{number(value)}{between}"


def settings_text(settings: ReportFacts, default: str = "default settings") -> str:
    """Hyperparameters with their values."""
    return ", ".join(f"{name} = {short(value)}" for name, value in settings.values.items()) or default


def listing(names: Sequence[str], most: int = 8) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def test_rows_name(test: ReportFacts) -> str:
    """What the test rows of a run are.

    >>> test_rows_name(ReportFacts({"share": 0.25})), test_rows_name(ReportFacts())
    ('the held-out 25% of the rows', 'the separate test table')
    """
    if test.flag("outside"):
        return "rows that are not in the sample"
    share = test.number("share")
    return f"the held-out {percent(share)} of the rows" if share else "the separate test table"


def class_label(curve: ReportFacts) -> str:
    """The class of a curve; a bare number is preceded by "class", because figures stand beside it.

    >>> class_label(ReportFacts({"class": 1})), class_label(ReportFacts({"class": "yes"}))
    ('class 1', 'yes')
    """
    name = curve.text("class")
    try:
        float(name)
    except ValueError:
        return name
    return f"class {name}"
