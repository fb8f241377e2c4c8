"""What was found: one leak an entry, as a frame and printed at 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from foldwise.data.notes import WIDTH

Level = Literal["leak", "suspicion", "note"]
LEVELS: dict[Level, str] = {
    "leak": "seen in the rows and splits as they are",
    "suspicion": "may be one: only you know how the rows came about",
    "note": "there, but too little to matter, or no more than chance brings",
}


@dataclass(frozen=True)
class Leak:
    """One finding.

    Attributes
    ----------
    name : "duplicates", "near duplicates", "groups", "time" or "target"
    level : "leak", "suspicion" or "note"
    column : the column it is about; empty for the whole table
    rows : how many test rows it concerns
    share : their share among all test rows
    found : what was found, in a sentence
    examples : numbers of some of these rows
    remedy : what to do
    """

    name: str
    level: Level
    column: str
    rows: int
    share: float
    found: str
    examples: tuple[int, ...]
    remedy: str


@dataclass(frozen=True, repr=False)
class Leaks:
    """All findings, the worst first."""

    title: str
    findings: tuple[Leak, ...]

    def __iter__(self) -> Iterator[Leak]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def of(self, level: Level) -> list[Leak]:
        """The findings of one level: "leak", "suspicion" or "note"."""
        return [one for one in self.findings if one.level == level]

    def named(self, name: str) -> list[Leak]:
        """The findings of one name, such as "duplicates"."""
        return [one for one in self.findings if one.name == name]

    def to_frame(self) -> pl.DataFrame:
        """One row a finding."""
        types: dict[str, Any] = {
            "name": pl.String,
            "level": pl.String,
            "column": pl.String,
            "rows": pl.Int64,
            "share": pl.Float64,
            "found": pl.String,
            "examples": pl.List(pl.Int64),
            "remedy": pl.String,
        }
        rows = [
            (one.name, one.level, one.column or None, one.rows, one.share, one.found, list(one.examples), one.remedy)
            for one in self.findings
        ]
        return pl.DataFrame(rows, schema=types, orient="row")

    def __repr__(self) -> str:
        lines = [textwrap.fill(self.title, WIDTH)]
        for level, words in LEVELS.items():
            if self.of(level):
                lines += ["", f"{level}: {words}"]
            for one in self.of(level):
                lines.append(indented(f"{one.name}: {one.found}", "  "))
                lines.append(indented(f"→ {one.remedy}", "    "))
        if not self.findings:
            lines.append("nothing found")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<p>{self.title}</p>{self.to_frame()._repr_html_()}"


def indented(text: str, by: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=by, subsequent_indent=by + "  ", break_on_hyphens=False)


def rows_said(rows: int, total: int) -> str:
    """How many test rows, with their share.

    >>> rows_said(236, 699)
    '236 of 699 test rows (33.8 %)'
    """
    share = rows / max(1, total)
    return f"{rows:,} of {total:,} test rows ({share:.{1 if share >= 0.001 else 2}%})".replace("%", " %")
