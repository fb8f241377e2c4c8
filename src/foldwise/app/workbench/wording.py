"""Filters of templates: numbers, times and states in words."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from foldwise.report.markup import Html

STATES = {
    "queued": "waiting",
    "starting": "starting",
    "running": "running",
    "stopping": "stopping",
    "interrupted": "interrupted",
    "failed": "failed",
    "finished": "finished",
}


def size(n_bytes: float) -> str:
    """A number of bytes.

    >>> size(1234567), size(300)
    ('1.2 MB', '300 bytes')
    """
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def ago(when: Any) -> str:
    """A moment of the past, in words.

    >>> ago(time.time() - 7200)
    '2 hours ago'
    """
    if not isinstance(when, int | float):
        return ""
    seconds = max(0.0, time.time() - when)
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            n = int(seconds // length)
            return f"{n} {unit}{'s' * (n != 1)} ago"
    return "just now"


def clock(seconds: Any) -> str:
    """A duration.

    >>> clock(75), clock(7.4), clock(3700)
    ('1 min 15 s', '7 s', '1 h 1 min')
    """
    if not isinstance(seconds, int | float):
        return ""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def percent(share: float) -> str:
    """A share.

    >>> percent(0), percent(0.0575), percent(0.0001)
    ('none', '5.8%', 'less than 0.1%')
    """
    if not share:
        return "none"
    return "less than 0.1%" if share < 0.001 else f"{100 * share:.1f}%"


def address(name: Any) -> str:
    """A name as part of an address."""
    return quote(str(name), safe="")


def markup(text: Html) -> Markup:
    """Markup that `report.markup` made, which escapes all text. Anything else is refused."""
    if not isinstance(text, Html):
        raise TypeError("only Html of report.markup is markup")
    return Markup(text)


def number(value: Any) -> str:
    """A score with four significant digits."""
    return f"{value:.4g}" if isinstance(value, int | float) else ""


FILTERS: dict[str, Callable[..., Any]] = {
    "size": size,
    "ago": ago,
    "clock": clock,
    "percent": percent,
    "address": address,
    "markup": markup,
    "number": number,
    "state": lambda one: STATES.get(one, one),
}
