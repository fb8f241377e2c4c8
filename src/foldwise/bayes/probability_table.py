"""The probability table of a fitted model, and the layout of tables as text and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from foldwise.bayes.families.protocol import Fraction, Parameter
from foldwise.data.html import html_table

RULE = "---"
WIDTH = 80
TABLE_LINES_SHOWN = 200  # in text and in HTML


@dataclass(frozen=True, repr=False)
class ProbabilityTable:
    """The parameters of a fitted model, one line per parameter and one column per class.

    Attributes
    ----------
    classes : tuple
        The class labels.
    lines : tuple of Parameter
        The parameters: shares of levels, means, standard deviations and others.
    backend : str
        Data frame library of `to_frame`.
    """

    classes: tuple[Any, ...]
    lines: tuple[Parameter, ...]
    backend: Any = "polars"

    def to_frame(self, numeric: bool = False) -> Any:
        """Convert the table to a data frame of the library that the model was fitted with (polars for arrays).

        Parameters
        ----------
        numeric : bool, default False
            Whether values are floats. By default they are text, and shares are fractions such as `2/9`.

        Returns
        -------
        DataFrame
            Columns `attribute` and `parameter`, then one column per class.
        """
        columns: dict[str, list[Any]] = {
            "attribute": [line.column for line in self.lines],
            "parameter": [line.name for line in self.lines],
        }
        for c, label in enumerate(self.classes):
            name = str(label)
            while name in columns:  # the name of another column, or of a class that prints alike
                name = f"class {name}"
            columns[name] = [line.values[c] if numeric else cell_text(line, c) for line in self.lines]
        return nw.from_dict(columns, backend=self.backend).to_native()

    def _lines(self, n_classes: int) -> list[list[str]]:
        lines: list[list[str]] = []
        above = None
        for line in self.lines[:TABLE_LINES_SHOWN]:
            if above is not None and line.column != above:
                lines.append([RULE])
            name = "" if line.column == above else shorten(line.column)
            lines.append([name, shorten(line.name), *(cell_text(line, c) for c in range(n_classes))])
            above = line.column
        return lines

    def _text(self, n_classes: int) -> str:
        header = ["attribute", "parameter", *(shorten(str(label), 12) for label in self.classes[:n_classes])]
        return text_of(header, self._lines(n_classes), left=2)

    def __str__(self) -> str:
        shown = len(self.classes)
        text = self._text(shown)
        while shown > 2 and len(text.split("\n")[1]) > WIDTH:
            shown -= 1
            text = self._text(shown)
        hidden = len(self.classes) - shown
        if hidden:
            text += f"\n({hidden} more classes are not shown; to_frame() returns all)"
        if len(self.lines) > TABLE_LINES_SHOWN:
            text += f"\n({len(self.lines) - TABLE_LINES_SHOWN:,} more lines are not shown; to_frame() returns all)"
        return text

    __repr__ = __str__

    def to_html(self) -> str:
        """Convert the table to HTML, with all classes.

        Returns
        -------
        str
            HTML text, which notebooks show.
        """
        header = ["attribute", "parameter", *map(str, self.classes)]
        lines = html_rows(header, self._lines(len(self.classes)))
        return html_table("Probability table", header, lines, align="ll" + "r" * len(self.classes))

    _repr_html_ = to_html


def cell_text(line: Parameter, c: int) -> str:
    """Format one value as in a textbook."""
    if line.fractions is None:
        return number_text(line.values[c])
    return share_text(line.values[c], line.fractions[c])


def text_of(header: Sequence[str], lines: Sequence[Sequence[str]], left: int) -> str:
    """Align columns: the first `left` columns to the left, the others to the right.

    A line of `RULE` draws a rule. A line shorter than the header ends in a remark that may span columns.
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


def html_rows(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Fit the same lines to an HTML table: without rules, and with remarks in the first column."""
    remarked = [[f"{line[0]} ({line[1]})".removeprefix(" ")] if len(line) == 2 else list(line) for line in lines]
    return [line + [""] * (len(header) - len(line)) for line in remarked if line != [RULE]]


def number_text(value: float) -> str:
    """Format a number with at most six digits."""
    if value != value:
        return "-"
    return f"{value:.6g}"


def share_text(value: float, fraction: Fraction | None) -> str:
    """Format a probability: as a fraction of whole numbers, otherwise as a number."""
    if fraction is None or fraction.over % 1 or fraction.under % 1:
        return number_text(value)
    return str(fraction)


def shorten(text: str, most: int = 24) -> str:
    """Shorten a long text."""
    text = text.replace("\n", "⏎")
    return text if len(text) <= most else text[: most - 1] + "…"
