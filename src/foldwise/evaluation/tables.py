"""Small tables shown to people: as text of at most 80 columns, and as HTML in notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from foldwise.data.html import html_table

WIDTH = 80
LONGEST = 18
DOTTED = re.compile(r"\w+(\.\w+)+")  # an import path


@dataclass(frozen=True)
class TextTable:
    """Headings and rows of text; the first cell of each row is its name.

    >>> print(TextTable(["model", "score"], [["knn", "0.95"], ["naive Bayes", "0.9"]]))
    model        score
    knn           0.95
    naive Bayes    0.9
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    longest: int = LONGEST  # longer headings, and names if there is no room, are cut in text, but not in HTML

    def __str__(self) -> str:
        """Columns that do not fit into 80 characters continue below, under their own headings."""
        heads = [*cut_apart(self.heads[:1], self.name_width), *cut_apart(self.heads[1:], self.longest)]
        names = cut_apart([row[0] for row in self.rows], self.name_width)
        lines = [heads, *([name, *row[1:]] for name, row in zip(names, self.rows, strict=True))]
        first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
        blocks: list[list[int]] = []
        room = 0
        for j, width in enumerate(widths, 1):
            if not blocks or width + 2 > room:
                blocks.append([])
                room = WIDTH - first
            blocks[-1].append(j)
            room -= width + 2
        parts = []
        for block in blocks:
            cells = ([line[0].ljust(first), *(line[j].rjust(widths[j - 1] + 2) for j in block)] for line in lines)
            parts.append("\n".join("".join(line).rstrip() for line in cells))
        return "\n\n".join(parts)

    @property
    def name_width(self) -> int:
        """How long a name may be: as long as the other columns leave room, but at least `longest`."""
        heads = cut_apart(self.heads[1:], self.longest)
        others = zip(heads, *(row[1:] for row in self.rows), strict=True)
        return max(self.longest, WIDTH - sum(2 + max(map(len, cells)) for cells in others))

    def html(self, title: str = "", notes: Sequence[str] = ()) -> str:
        """Return the table as HTML for a notebook, with a title above and notes below it."""
        return html_table(title, self.heads, self.rows, notes)


def cut(name: str, longest: int = LONGEST) -> str:
    """Shorten a name to the width of a column."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def cut_apart(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Shorten names so that different ones stay different: an import path to its class, others in the middle.

    >>> cut_apart(["KNeighborsClassifier 1", "KNeighborsClassifier 2", "sklearn.dummy.DummyClassifier"], 16)
    ['KNeighborsCla… 1', 'KNeighborsCla… 2', 'DummyClassifier']
    """
    classes = [name.rpartition(".")[2] if len(name) > longest and DOTTED.fullmatch(name) else name for name in names]
    whole = [one if classes.count(one) == 1 else name for one, name in zip(classes, names, strict=True)]
    short = [cut(name, longest) for name in whole]
    for one in {one for one in short if short.count(one) > 1}:
        alike = [name for name, other in zip(whole, short, strict=True) if other == one]
        same = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*alike, strict=False)))
        start = max(alike[0][:same].rfind(mark) + 1 for mark in " .")
        tails = [name[start or same :][-(longest // 2) :] for name in alike]
        room = longest - 2 - max(map(len, tails))
        if len(set(alike)) > 1:
            of = {name: f"{name[:room]}… {tail}" for name, tail in zip(alike, tails, strict=True)}
            short = [of.get(name, other) for name, other in zip(whole, short, strict=True)]
    return short


def capitalized(label: str) -> str:
    """Capitalize the first letter only, unlike `str.capitalize`."""
    return label[:1].upper() + label[1:]


def unmixed(names: Sequence[Any]) -> list[Any]:
    """Make names all of one type, as a column of a frame requires."""
    return list(names) if len({type(name) for name in names}) == 1 else [str(name) for name in names]


def number(value: float | None, sign: str = "") -> str:
    """Format a score or a difference: three decimals, four digits or none if it is large, empty if it is None.

    >>> number(0.12345), number(123.456), number(45637.8), number(1.5e9), number(-0.00001)
    ('0.123', '123.5', '45,638', '1.5e+09', '0.000')
    """
    if value is None:
        return ""
    if 1e3 <= abs(value) < 1e8:
        return f"{value:{sign},.0f}"
    if abs(value) >= 100:
        return f"{value:{sign}.4g}"
    return f"{value:{sign}.3f}" if sign else f"{value:z.3f}"  # z: zero without a minus


def numbers_of_column(values: Iterable[float | None]) -> Callable[[float | None], str]:
    """Return what formats the scores of one column: like `number`, with equally many decimals in all of them.

    >>> list(map(numbers_of_column([97.702, 157.02]), [97.702, 157.02])), numbers_of_column([0.5])(0.5)
    (['97.7', '157.0'], '0.500')
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    low, high = min(sizes, default=0.0), max(sizes, default=0.0)
    if low < 10 or not 100 <= high < 1e8 or (low < 100 and high >= 1e3):
        return number  # which gives all of them three decimals, or they are too different
    digits = 1 if high < 1e3 else 0
    return lambda value: number(value) if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def p_text(p: float | None) -> str:
    """Format a p-value for a table: three decimals, or "<0.001"; empty if it is None.

    >>> p_text(0.0001), p_text(0.0423), p_text(None)
    ('<0.001', '0.042', '')
    """
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def p_equation(p: float) -> str:
    """Format a p-value for a sentence.

    >>> p_equation(0.0001), p_equation(0.0423)
    ('p < 0.001', 'p = 0.042')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def interval_text(low: float, high: float) -> str:
    """Format an interval; empty if it is not defined."""
    return "" if low != low else f"{number(low)} to {number(high)}"
