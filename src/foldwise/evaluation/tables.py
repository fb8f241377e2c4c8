"""Small tables as text of at most 80 columns: wide ones continue below."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 80
LONGEST = 18


def cut(name: str) -> str:
    """A name short enough for a column."""
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


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
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
