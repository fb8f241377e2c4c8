"""HTML and SVG as text that is safe by default: what is not markup already is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset({"br", "img", "meta", "input", "link"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def safe(child: str) -> str:
    return child if isinstance(child, Html) else escape(child)


def join(children: Iterable[str | None]) -> Html:
    """Concatenate pieces; None is left out."""
    return Html("".join([safe(child) for child in children if child is not None]))


def el(name: str, /, *children: str | None, **attributes: Any) -> Html:
    """An element. `class_` is class, `stroke_width` is stroke-width; an attribute of None is left out.

    >>> print(el("p", "a < b", class_="note"))
    <p class="note">a &lt; b</p>
    """
    parts = [f"<{name}"]
    for key, value in attributes.items():
        if value is not None and value is not False:
            written = "" if value is True else f'="{escape(attribute(value))}"'
            parts.append(f" {key.rstrip('_').replace('_', '-')}{written}")
    parts.append(">")
    if name in VOID:
        return Html("".join(parts))
    return Html(f"{''.join(parts)}{join(children)}</{name}>")


def attribute(value: Any) -> str:
    """An attribute as text; a coordinate needs no more than two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def each(name: str, children: Iterable[str], /, **attributes: Any) -> Html:
    """One element for each child."""
    return join(el(name, child, **attributes) for child in children)


def embedded(facts: Any, name: str) -> Html:
    """Facts for a script in the page; nothing in them can end the script element."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Html(f'<script type="application/json" id="{escape(name)}">{text}</script>')
