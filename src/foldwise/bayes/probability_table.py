"""The probability distribution table of a fitted model: as a frame, in a terminal, in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from foldwise.bayes.families.protocol import Parameter
from foldwise.bayes.text_tables import RULE, WIDTH, html_of, number_text, share_text, shorten, text_of

LINES_SHOWN = 200  # in a terminal and a notebook; the frames hold all


@dataclass(frozen=True, repr=False)
class ProbabilityTable:
    """Attribute, parameter, one column per class; `to_frame()` holds what a textbook prints."""

    classes: tuple[Any, ...]
    lines: tuple[Parameter, ...]
    backend: Any = "polars"

    def to_frame(self, numeric: bool = False) -> Any:
        """Return a frame of the library that the model was fitted on, polars for arrays.

        Parameters
        ----------
        numeric : bool
            Whether cells are floats, instead of what a textbook prints (`2/9`, `73`).
        """
        columns: dict[str, list[Any]] = {
            "attribute": [line.column for line in self.lines],
            "parameter": [line.name for line in self.lines],
        }
        for c, label in enumerate(self.classes):
            name = str(label)
            while name in columns:  # a class may be called like one of the first two columns, or print like another
                name = f"class {name}"
            columns[name] = [line.values[c] if numeric else cell_text(line, c) for line in self.lines]
        return nw.from_dict(columns, backend=self.backend).to_native()

    def _lines(self, n_classes: int) -> list[list[str]]:
        lines: list[list[str]] = []
        above = None
        for line in self.lines[:LINES_SHOWN]:
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
            text += f"\n({hidden} more classes are not shown; .to_frame() has them all)"
        if len(self.lines) > LINES_SHOWN:
            text += f"\n({len(self.lines) - LINES_SHOWN:,} more lines are not shown; .to_frame() has them all)"
        return text

    __repr__ = __str__

    def to_html(self) -> str:
        """The table as HTML, with every class."""
        header = ["attribute", "parameter", *map(str, self.classes)]
        return html_of(header, self._lines(len(self.classes)), left=2)

    _repr_html_ = to_html


def cell_text(line: Parameter, c: int) -> str:
    """One cell as a textbook prints it."""
    if line.fractions is None:
        return number_text(line.values[c])
    return share_text(line.values[c], line.fractions[c])
