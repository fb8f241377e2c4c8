"""Contributions as text of at most 80 columns, and as HTML in notebooks."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from foldwise.data.html import html_table
from foldwise.evaluation.tables import WIDTH, cut, number

if TYPE_CHECKING:
    from foldwise.evaluation.contributions import Contributions

MOST_LINES = 20
MOST_CLASSES = 3
HALF = 12  # width of the bars on each side
NAME, CELL = 20, 15


def contribution_text(found: Contributions) -> str:
    """Format contributions as a table with bars, the largest first."""
    largest = max(abs(found.values).max(), 1e-12)
    order = abs(found.values).argsort()[::-1]
    of_class = [
        shares(found.classes, found.proba),
        "",
        f"contribution of each column to the log-odds of {clipped(found.about, 30)!r}",
    ]
    of_value = [f"predicted value {number(found.total)}", "", "contribution of each column to the predicted value"]
    size, head = (figure, "log-odds") if found.classes else (wide_figure, "change")
    lines = [
        *(of_class if found.classes else of_value),
        "",
        f"{'column':<{NAME}} {'value':<{CELL}} {head:>8} {'std err':>7}",
        f"{f'mean of {found.n_background} training rows':<{NAME + CELL + 1}} {size(found.base)}",
    ]
    for j in order[:MOST_LINES]:
        value, error = float(found.values[j]), float(found.errors[j])
        start = f"{clipped(found.columns[j], NAME):<{NAME}} {clipped(cell_text(found.cells[j]), CELL):<{CELL}}"
        spread = f"{error:>7.3f}" if found.classes else f"{error if error > 1e-6 * largest else 0.0:>7.3g}"
        lines.append(f"{start} {size(value)} {spread}  {both_ways(value / largest)}".rstrip())
    rest = order[MOST_LINES:]
    if len(rest):
        words = f"{len(rest)} other columns"
        lines.append(f"{words:<{NAME + CELL + 1}} {size(float(found.values[rest].sum()))}")
    lines.append(f"{'this row (sum of the above)':<{NAME + CELL + 1}} {size(found.total)}")
    return "\n".join(lines)


def contribution_html(found: Contributions) -> str:
    """Format contributions as an HTML table, the largest first."""
    size = figure if found.classes else wide_figure
    lines = [[f"mean of {found.n_background} training rows", "", size(found.base).strip(), ""]]
    for j in abs(found.values).argsort()[::-1]:
        value, error = float(found.values[j]), float(found.errors[j])
        lines.append([found.columns[j], cell_text(found.cells[j]), size(value).strip(), f"{error:.3g}"])
    lines.append(["this row (sum of the above)", "", size(found.total).strip(), ""])
    title = f"predicted value {number(found.total)}"
    if found.classes:
        title = f"{shares(found.classes, found.proba)}; contributions to the log-odds of {str(found.about)!r}"
    header = ["column", "value", "log-odds" if found.classes else "change", "std err"]
    return html_table(title, header, lines, align="llrr")


def cell_text(cell: Any) -> str:
    """Format a cell of the row."""
    if cell is None:
        return "missing"
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def figure(value: float) -> str:
    """A contribution to log-odds."""
    return f"{value:>+8.3f}"


def wide_figure(value: float) -> str:
    """A contribution to a value, which may have any size."""
    return f"{value:>+8,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:>+8.4g}"


def both_ways(share: float) -> str:
    """Draw a bar to the left (negative) or to the right (positive) of the middle."""
    length = round(HALF * abs(share))
    return f"{'█' * length:>{HALF}}│" if share < 0 else f"{'':>{HALF}}│{'█' * length}"


def shares(classes: Any, proba: Any) -> str:
    """List the most probable classes with their probabilities."""
    ranked = sorted(zip(classes, proba.tolist(), strict=True), key=lambda one: -one[1])
    text = ", ".join(f"P({clipped(name, 16)}) = {share:.3g}" for name, share in ranked[:MOST_CLASSES])
    more = len(ranked) - MOST_CLASSES
    return textwrap.fill(text + (f" and {more} more class{'es' * (more > 1)}" if more > 0 else ""), WIDTH)


def clipped(text: Any, width: int) -> str:
    """Put a text on one line and cut it to a width."""
    return cut(" ".join(str(text).split()), width)
