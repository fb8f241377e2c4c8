"""Lines of cells as plain text and as HTML: the shared face of the worked table and the worked calculation."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from foldwise.bayes.families.protocol import Fraction

STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
CELL = "padding:2px 10px;text-align:{align}"
RULE = "---"
WIDTH = 80


def text_of(header: Sequence[str], lines: Sequence[Sequence[str]], left: int) -> str:
    """Aligned columns; the first `left` to the left, the others to the right.

    A line of `RULE` draws a rule; a line shorter than the header ends in a remark that may run over the columns.
    """
    full = [line for line in lines if len(line) == len(header)]
    widths = [max(len(line[i]) for line in [header, *full]) for i in range(len(header))]
    widths[0] = max([widths[0], *(len(line[0]) for line in lines if line != [RULE])])
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))

    def one(line: Sequence[str]) -> str:
        if line == [RULE]:
            return rule
        cells = [
            cell.ljust(width) if i < left or len(line) < len(header) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join([one(header), rule, *map(one, lines)])


def html_of(header: Sequence[str], lines: Sequence[Sequence[str]], left: int) -> str:
    """The same as an HTML table."""

    def row(cells: Sequence[str], tag: str, border: str) -> str:
        inner = ""
        for i, cell in enumerate(cells):
            remark = i == len(cells) - 1 and len(cells) < len(header)
            align = CELL.format(align="left" if i < left or remark else "right")
            span = f' colspan="{len(header) - i}"' if remark else ""
            inner += f'<{tag}{span} style="{align}{border}">{escape(cell)}</{tag}>'
        return f"<tr>{inner}</tr>"

    rows, border = [], ""
    for line in lines:
        if line == [RULE]:
            border = ";border-top:1px solid"
            continue
        rows.append(row(line, "td", border))
        border = ""
    head = row(header, "th", ";border-bottom:1px solid")
    return f'<table style="{STYLE}"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def number_text(value: float) -> str:
    """A number short enough to read."""
    if value != value:
        return "-"
    return f"{value:.6g}"


def share_text(value: float, fraction: Fraction | None) -> str:
    """A probability: the fraction where it is one of whole numbers, else the number."""
    if fraction is None or fraction.over % 1 or fraction.under % 1:
        return number_text(value)
    return str(fraction)


def shorten(text: str, most: int = 24) -> str:
    """A long text cut at a readable length."""
    text = text.replace("\n", "⏎")
    return text if len(text) <= most else text[: most - 1] + "…"
