"""Small tables as text of at most 80 columns, of which wide ones continue below, and as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.data.html import html_table

__all__ = ["cut", "html_table", "number", "panels", "probability"]

WIDTH = 80
LONGEST = 18


def cut(name: str, longest: int = LONGEST) -> str:
    """A name short enough for a column."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def panels(corner: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table with a heading of columns; what does not fit beside stands below, under its own heading."""
    first = max(len(corner), *(len(name) for name in rows))
    widths = [max(len(name), *(len(line[j]) for line in cells)) + 2 for j, name in enumerate(columns)]
    blocks: list[list[int]] = []
    room = 0
    for j, width in enumerate(widths):
        if not blocks or width > room:
            blocks.append([])
            room = WIDTH - first
        blocks[-1].append(j)
        room -= width
    parts = []
    for block in blocks:
        lines = [corner.ljust(first) + "".join(columns[j].rjust(widths[j]) for j in block)]
        for name, line in zip(rows, cells, strict=True):
            lines.append(name.ljust(first) + "".join(line[j].rjust(widths[j]) for j in block))
        parts.append("\n".join(line.rstrip() for line in lines))
    return "\n\n".join(parts)


def number(value: float | None, sign: str = "") -> str:
    """A score or a difference: three decimals, or four digits where it is large; nothing where there is none."""
    if value is None:
        return ""
    return f"{value:{sign}.3f}" if abs(value) < 100 else f"{value:{sign}.4g}"


def probability(p: float | None) -> str:
    """A p value: three decimals, or that it is smaller; nothing where there is none."""
    if p is None:
        return ""
    return "<.001" if p < 0.0005 else f"{p:.3f}"
