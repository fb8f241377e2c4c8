"""`Leaks`: the findings of `find_leaks`, as a frame, as text and as HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from foldwise.data.html import html_table
from foldwise.evaluation.tables import WIDTH

Severity = Literal["leak", "suspicion", "note"]
LEVELS: dict[Severity, str] = {
    "leak": "visible in the rows and splits",
    "suspicion": "possibly a leak, depending on how the rows were collected",
    "note": "probably harmless: few rows, or no more than expected by chance",
}

UNSEEN = (
    "Not checked, because rows and splits do not show it: what was done to all rows before the split (feature "
    "selection, scaling, imputation, target encoding, oversampling), and columns that are known only after the target. "
    "Do such steps in a pipeline, which learns them in each split."
)


@dataclass(frozen=True)
class Leak:
    """One finding of `find_leaks`.

    Attributes
    ----------
    name : str
        "duplicates", "near duplicates", "groups", "time" or "target".
    level : str
        "leak", "suspicion" or "note".
    column : str
        The column concerned; empty for the whole table.
    rows : int
        Number of test rows concerned.
    share : float
        Their fraction of all test rows.
    found : str
        The finding, in words.
    examples : tuple of int
        Indices of some of these rows.
    remedy : str
        What to do about it.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import find_leaks
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> [leak] = find_leaks(np.vstack([X, X]))
    >>> leak.name, leak.level, leak.rows
    ('duplicates', 'leak', 82)
    """

    name: str
    level: Severity
    column: str
    rows: int
    share: float
    found: str
    examples: tuple[int, ...]
    remedy: str


@dataclass(frozen=True, repr=False)
class Leaks:
    """All findings of `find_leaks`, the worst first; it can be iterated over.

    Attributes
    ----------
    title : str
        The size of the table and the number of splits.
    findings : tuple of Leak
        The findings.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import find_leaks
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> leaks = find_leaks(np.vstack([X, X]))
    >>> len(leaks), leaks.to_frame()["level"].to_list()
    (1, ['leak'])
    """

    title: str
    findings: tuple[Leak, ...]

    def __iter__(self) -> Iterator[Leak]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def of(self, level: Severity) -> list[Leak]:
        """Return the findings of one level.

        Parameters
        ----------
        level : {"leak", "suspicion", "note"}
            The level.

        Returns
        -------
        list of Leak
            The findings.
        """
        return [one for one in self.findings if one.level == level]

    def named(self, name: str) -> list[Leak]:
        """Return the findings of one kind.

        Parameters
        ----------
        name : str
            The kind, such as "duplicates".

        Returns
        -------
        list of Leak
            The findings.
        """
        return [one for one in self.findings if one.name == name]

    def to_frame(self) -> pl.DataFrame:
        """Return the findings as a frame.

        Returns
        -------
        polars.DataFrame
            One row per finding.
        """
        types: dict[str, Any] = dict.fromkeys(Leak.__dataclass_fields__, pl.String)
        types |= {"rows": pl.Int64, "share": pl.Float64, "examples": pl.List(pl.Int64)}
        rows = [{**vars(one), "column": one.column or None, "examples": list(one.examples)} for one in self.findings]
        return pl.DataFrame(rows, schema=types)

    def __repr__(self) -> str:
        lines = [textwrap.fill(self.title, WIDTH)]
        for level, words in LEVELS.items():
            if self.of(level):
                lines += ["", f"{level}: {words}"]
            for one in self.of(level):
                lines.append(indented(f"{one.name}: {one.found}", "  "))
                lines.append(indented(f"→ {one.remedy}", "    "))
        if not self.findings:
            lines.append("none found")
        return "\n".join([*lines, "", textwrap.fill(UNSEEN, WIDTH, break_on_hyphens=False)])

    def _repr_html_(self) -> str:
        rows = [[one.level, one.name, one.found, one.remedy] for one in self.findings]
        notes = [f"{level}: {words}" for level, words in LEVELS.items() if self.of(level)] or ["none found"]
        notes.append(UNSEEN)
        return html_table(self.title, ["level", "kind", "finding", "what to do"], rows, notes, "llll")


def indented(text: str, by: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=by, subsequent_indent=by + "  ", break_on_hyphens=False)


def rows_text(rows: int, total: int) -> str:
    """Format a number of test rows with its percentage.

    >>> rows_text(236, 699)
    '236 of 699 test rows (33.8%)'
    """
    share = rows / max(1, total)
    return f"{rows:,} of {total:,} test rows ({share:.{1 if share >= 0.001 else 2}%})"
