"""A table that was read: its columns as a frame, its target, the description of the columns, what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl
from numpy.typing import NDArray

from foldwise.data.audit import Audit, AuditInput, audit
from foldwise.data.disguised_missing import DisguisedMissing, find_disguised_missing
from foldwise.data.findings import Findings, findings
from foldwise.data.notes import Note, Notes
from foldwise.data.schema import Schema


@dataclass(frozen=True, repr=False)
class Table:
    """Columns `X` (a polars frame), labels `y` (an array, or None without a target), `schema` of X, `name`.

    `notes` says how the file was read, `findings` what each column looks like, `audit()` what to look at.
    """

    X: pl.DataFrame
    y: NDArray[Any] | None
    schema: Schema
    name: str
    target: str | None = None
    decided: tuple[Note, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)  # kind of a column, where somebody said it

    @cached_property
    def findings(self) -> Findings:
        """What the values of each column say it is, with the reason; `kinds=` of `read_table` says otherwise."""
        return findings(self.X, self.declared)

    @cached_property
    def notes(self) -> Notes:
        """What was decided while reading, and what is suggested: nothing of that was done."""
        return Notes((*self.decided, *self._suggestions()))

    def audit(self) -> Audit:
        """What to look at before a model is fitted: missing cells, constants, duplicates, identifiers, near-copies of
        the target, balance of classes, rare categories, disguised missing cells.
        """
        return audit(AuditInput(self._title(), self.X, self.y, self.target, self.findings, self._disguises))

    @cached_property
    def _disguises(self) -> tuple[DisguisedMissing, ...]:
        found = (
            find_disguised_missing(column)
            for column in self.X
            if self.declared.get(column.name, "numeric") == "numeric"
        )
        return tuple(disguise for disguise in found if disguise is not None)

    def _suggestions(self) -> Iterator[Note]:
        for finding in self.findings:
            name = finding.column
            if finding.kind == "identifier" and finding.reason != "as declared":
                text = f"{name!r} looks like one ({finding.reason}): pass index={name!r} to leave it out."
                yield Note("identifier", text, name)
            if finding.kind == "date" and not self.X[name].dtype.is_temporal():
                yield Note(
                    "date", f"{name!r} is {finding.reason}: pass kinds={{{name!r}: 'date'}} to read dates.", name
                )
        for found in self._disguises:
            text = (
                f"{found.rows:,} cells of {found.column!r} hold {found.value:g}, but {found.reason}: if that means "
                f"missing, pass missing_values={{{found.column!r}: {found.value:g}}}."
            )
            yield Note("disguised missing", text, found.column)

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.schema}"

    def _repr_html_(self) -> str:
        return f"<p>{self._title()}</p>{self.X.head()._repr_html_()}"

    def _title(self) -> str:
        rows, columns = self.X.shape
        target = "no target" if self.target is None else f"target {self.target!r}"
        return f"Table {self.name!r}: {rows:,} rows, {columns} columns, {target}"
