"""Pictures of columns: a histogram for numbers and dates, bars for categories. They say in words what they show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwise.report.markup import Html, el

MOST_CATEGORIES = 8  # with a bar each

WIDTH, HEIGHT, GAP = 240, 56, 1


def distribution(column: Mapping[str, Any]) -> Html | None:
    """The picture of a column."""
    if column.get("bins"):
        return histogram(column["name"], column["bins"])
    return bars(column["name"], column["values"]) if column.get("values") else None


def histogram(name: str, bins: Mapping[str, Any]) -> Html:
    """Counts in bins of equal width."""
    counts = bins["counts"]
    most, width = max(counts) or 1, WIDTH / len(counts)
    drawn = [
        el(
            "rect",
            x=i * width,
            y=HEIGHT - HEIGHT * count / most,
            width=width - GAP,
            height=HEIGHT * count / most,
            class_="bar",
        )
        for i, count in enumerate(counts)
        if count
    ]
    about = f"Histogram of {name}: from {bins['low']} to {bins['high']}"
    about += f", half of the rows below {bins['median']}." if "median" in bins else "."
    box = f"0 0 {WIDTH} {HEIGHT}"
    return el(
        "svg", el("title", about), *drawn, viewBox=box, role="img", preserveAspectRatio="none", class_="histogram"
    )


def bars(name: str, values: list[tuple[str, int]]) -> Html:
    """The most frequent values, one bar each, with their names and counts as text."""
    named = values[:MOST_CATEGORIES]  # the others are counted together, and have no bar
    most = max(count for _, count in named) or 1
    rows = []
    for i, (value, count) in enumerate(values):
        bar = el("rect", x=0, y=0, width=100 * count / most if i < len(named) else 0, height=6, class_="bar")
        picture = el("svg", bar, viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true")
        rows.append(el("li", el("span", value or "(empty text)", class_="name"), picture, el("span", f"{count:,}")))
    return el("ul", *rows, class_="values", aria_label=f"Most frequent values of {name}")
