"""`Table`: a table that was read from a file, with its target, its schema and notes on how it was read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.data.audit import Audit, audit, n_missing
from foldwise.data.check_time import CheckTime
from foldwise.data.column_scan import ColumnScan, scan_columns
from foldwise.data.disguised_missing import SENTINELS, DisguisedMissing, find_disguised_missing
from foldwise.data.findings import Finding, Findings, findings, short
from foldwise.data.html import html_table
from foldwise.data.levels import is_missing
from foldwise.data.notes import Note, Notes
from foldwise.data.reading.dates import formats_by_shape, formats_of, instants, shape_of
from foldwise.data.reading.numbers import CONVERTED
from foldwise.data.schema import SHOWN_COLUMNS, Schema, more_columns
from foldwise.data.suspicions import could_be_groups, orders_rows, suspected_groups, suspected_identifier
from foldwise.data.target import is_quantity

EXAMPLES = 3
TOTALS = ("total", "totals", "grand total", "sum", "summe", "gesamt", "insgesamt", "somme", "totale", "suma")


@dataclass(frozen=True, repr=False)
class Table:
    """A table that was read from a file: columns, target and schema.

    Use `read_table` to make one. `notes` says how the file was read, `findings` what each column looks like, and
    `audit()` what to look at before fitting a model.

    Attributes
    ----------
    X : polars.DataFrame
        All columns but the target.
    y : ndarray of shape (n_rows,), or None
        The target; None without a target column.
    schema : Schema
        Names and kinds of the columns of `X`.
    name : str
        Name of the table: that of its file, without the ending.
    target : str, optional
        Name of the target column.
    decided : tuple of Note
        What was decided while the file was read. `notes` adds suggestions.
    declared : mapping of str to str
        Kinds of columns that were declared by `kinds=` of `read_table` or in the file.
    reading : mapping
        The arguments `kinds` and `missing_values` of `read_table`, with which new rows are read in the same way.
    detected : mapping
        Arguments of `read_table` that were detected, such as the separator.
    row_numbers : ndarray of shape (n_rows,), optional
        The number of each row in the table that was read, from 0, if rows were left out since.

    Examples
    --------
    >>> from foldwise import read_table
    >>> table = read_table("examples/weather.csv", target="play")
    >>> table
    Table 'weather': 14 rows, 4 columns, target 'play'
    outlook      categorical
    temperature  numeric
    humidity     numeric
    windy        binary  False, True
    >>> table.findings["temperature"].reason
    'integers from 64 to 85'
    """

    X: pl.DataFrame
    y: NDArray[Any] | None
    schema: Schema
    name: str
    target: str | None = None
    decided: tuple[Note, ...] = ()
    declared: Mapping[str, str] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    detected: Mapping[str, Any] = field(default_factory=dict)
    row_numbers: NDArray[np.intp] | None = None

    @cached_property
    def findings(self) -> Findings:
        """What each column looks like by its values, with the reason; declared kinds come first."""
        return findings(self.X, self.declared, self._scan)

    @cached_property
    def notes(self) -> Notes:
        """What was decided while the file was read, and suggestions, which were not carried out."""
        return Notes((*self.decided, *self._suggestions()))

    def audit(self, seconds: float = math.inf) -> Audit:
        """Check the table for problems before a model is fitted.

        The checks cover missing and disguised missing cells, constant columns, identifiers, duplicate rows and columns,
        columns that determine the target, class balance and rare categories.

        Parameters
        ----------
        seconds : float, optional
            Time for the checks of single columns. When it is over, each further check uses a few columns that are
            chosen at random, and `unchecked` says so. There is no limit by default.

        Returns
        -------
        Audit
            One entry per problem; print it, or call its `to_frame()`.
        """
        time = CheckTime(seconds)
        labels = None if self.y is None else pl.Series(self.target, self.y.tolist(), strict=False)
        if "_disguises" not in self.__dict__:
            self.__dict__["_disguises"] = self._find_disguises(time)  # for the notes too, which are not limited
        found = audit(self.X, labels, self.findings, self._disguises, self._scan, time)
        return Audit(f"Audit of table {self._title()}", self.X.height, found, time.sentences)

    @cached_property
    def _scan(self) -> ColumnScan | None:
        codes = None
        if self.y is not None and len(self.y) == self.X.height:
            labels = pl.Series(self.y.tolist(), strict=False)
            quantity = labels.dtype.is_numeric() and is_quantity(labels)
            codes = (
                None if quantity else labels.cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
            )
        return scan_columns(self.X, codes)

    @cached_property
    def _disguises(self) -> tuple[DisguisedMissing, ...]:
        return self._find_disguises(CheckTime())

    def _find_disguises(self, time: CheckTime) -> tuple[DisguisedMissing, ...]:
        usual = frozenset() if self._scan is None else self._scan.undisguised(SENTINELS)
        types = zip(self.X.columns, self.X.dtypes, strict=True)
        names = [
            name
            for name, kind in types
            if kind.is_numeric() and name not in usual and self.declared.get(name, "numeric") == "numeric"
        ]
        checked = {
            name: find_disguised_missing(self.X[name]) for name in time.columns("disguised missing cells", names)
        }
        return tuple(found for name in names if (found := checked.get(name)) is not None)

    @cached_property
    def date_formats(self) -> dict[str, str]:
        """How the dates of text columns are written, if a single format fits all cells of a column."""
        found = {}
        for finding in self.findings:
            name = finding.column
            if self.X[name].dtype == pl.String and finding.kind in ("date", "time", "duration"):
                forms = formats_of(self.X[name])
                if len(forms) == 1:
                    found[name] = forms[0]
        return found

    def _suggestions(self) -> Iterator[Note]:
        yield from self._total_row()
        for finding in self.findings:
            name = finding.column
            mixed = self._mixed_dates(finding)
            if mixed:
                yield Note("date", mixed, name)
            elif finding.kind == "identifier" and finding.reason != "as declared":
                text = (
                    f"{name!r} looks like an identifier ({finding.reason}), so models do not use it. Pass "
                    f"drop={name!r} to leave it out of the table, or kinds={{{name!r}: 'categorical'}} to use it."
                )
                yield Note("identifier", text, name)
            elif name not in self.declared:
                yield from self._suspicions(finding)
            if name in self._groups:
                text = (
                    f"{name!r} may name groups ({self._groups[name]}). If new rows will come from new groups, pass "
                    f"groups={name!r}. Otherwise scores may be too optimistic."
                )
                yield Note("groups", text, name)
            if name == self._time:
                text = (
                    f"{name!r} orders the rows. If the model will predict later rows, pass time={name!r}. Otherwise "
                    "scores may be too optimistic."
                )
                yield Note("time", text, name)
            if finding.kind == "date" and not self.X[name].dtype.is_temporal():
                yield Note("date", self._date_words(name, finding.reason), name)
        for found in self._disguises:
            name, value = repr(found.column), f"{found.value:g}"
            text = (
                f"{found.rows:,} cells of {name} hold {value}, but {found.reason}. If {value} means missing, pass "
                f"missing_values={{{name}: {value}}}."
            )
            yield Note("disguised missing", text, found.column)

    def _mixed_dates(self, finding: Finding) -> str:
        """Say how to read a column whose dates are written in several ways; empty for other columns."""
        name = finding.column
        if self.X[name].dtype != pl.String or finding.kind not in ("text", "identifier") or name in self.declared:
            return ""
        ways = " and ".join(map(repr, dict.fromkeys(formats_by_shape(self.X[name]).values())))
        advice = f"Pass kinds={{{name!r}: 'date'}} to read them as dates."
        return f"{name!r} holds dates written as {ways}. {advice}" if ways else ""

    def _total_row(self) -> Iterator[Note]:
        """Name a last row that adds up the others, as spreadsheets have."""
        last = self.X.row(-1, named=True) if self.X.height > 1 else {}
        unlabeled = self.y is not None and len(self.y) > 0 and is_missing(self.y[-1])
        empty = unlabeled or any(value is None for value in last.values())
        for name, cell in last.items():
            if empty and isinstance(cell, str) and cell.strip(" :").lower() in TOTALS:
                if int((self.X[name] == cell).sum()) > 1:
                    continue
                text = f"the last row looks like a total ({cell!r} in {name!r}). Delete it from the file"
                other = ", or pass drop_unlabeled=True, which leaves it out because it has no target"
                yield Note("rows", f"{text}{other if unlabeled else ''}.", name)
                return

    def _suspicions(self, finding: Finding) -> Iterator[Note]:
        """Suggest to leave out what may identify rows."""
        name = finding.column
        # numbers with a currency, a percent sign or thousands separators are amounts, not codes
        amounts = any(
            note.topic == "numbers" and note.column == name and CONVERTED in note.text for note in self.decided
        )
        why = "" if amounts else suspected_identifier(self.X[name], finding)
        if why:
            text = f"{name!r} may identify rows ({why}). If it does, pass drop={name!r} to leave it out."
            yield Note("identifier", text, name)

    @cached_property
    def _groups(self) -> dict[str, str]:
        """The columns that may name groups of rows, and why."""
        scan, unlike = self._scan, set()
        if scan is not None:
            counts = zip(scan.names, scan.n_distinct.tolist(), scan.n_present.tolist(), strict=True)
            unlike = {name for name, *numbers in counts if not could_be_groups(name, *numbers)}
        likely = [finding for finding in self.findings if finding.column not in unlike]
        reasons = {finding.column: suspected_groups(self.X[finding.column], finding) for finding in likely}
        return {name: why for name, why in reasons.items() if why}

    @cached_property
    def _time(self) -> str | None:
        """The column of dates that orders the rows; the one with the most different values if there are several."""
        groups = [self.X[name] for name in self._groups]
        found = [times for times in self._times() if orders_rows(times, groups)]
        return max(found, key=pl.Series.n_unique).name if found else None

    def _times(self) -> Iterator[pl.Series]:
        """The columns of dates and timestamps, as such."""
        for finding in self.findings:
            column = self.X[finding.column]
            if isinstance(column.dtype, pl.Date | pl.Datetime):
                yield column
            elif column.name in self.date_formats:
                form = self.date_formats[column.name]
                if shape_of(form) in ("date", "datetime"):
                    yield instants(column, form)

    def _date_words(self, name: str, reason: str) -> str:
        """Say how models use dates that are stored as text."""
        if name in self.date_formats:
            dates = "parts, such as the month, and the days since the first date"
            parts = {"duration": "seconds", "time": "hour"}.get(self.date_formats[name], dates)
            words = f"{name!r} holds {reason}. Models use its {parts}."
            return f"{words} Pass kinds={{{name!r}: 'text'}} to treat it as text instead."
        forms = formats_of(self.X[name])
        if not forms:
            return f"{name!r} holds {reason}, but some cells are not valid dates, so models treat it as text."
        return (
            f"{name!r} holds {reason}. It is unclear whether the day or the month comes first, so models treat it as "
            f"text. To read it as dates, pass kinds={{{name!r}: 'date:{forms[0]}'}} or "
            f"kinds={{{name!r}: 'date:{forms[1]}'}}."
        )

    def __repr__(self) -> str:
        return f"Table {self._title()}\n{self.schema}"

    def _repr_html_(self) -> str:
        rows = [
            (column.name, self.schema[column.name].kind, f"{n_missing(column):,}", examples_of(column))
            for column in self.X.get_columns()[:SHOWN_COLUMNS]
        ]
        header = ("column", "kind", "missing cells", "examples")
        return html_table(f"Table {self._title()}", header, rows, more_columns(self.X.width), align="llrl")

    def _title(self) -> str:
        rows, columns = self.X.shape
        target = "no target" if self.target is None else f"target {self.target!r}"
        return f"{self.name!r}: {rows:,} row{'s' * (rows != 1)}, {columns} column{'s' * (columns != 1)}, {target}"


def examples_of(column: pl.Series) -> str:
    """Write the first different values of a column that are not missing."""
    present = column.head(1000).drop_nulls()
    values = (present.drop_nans() if present.dtype.is_float() else present).unique(maintain_order=True)
    return ", ".join(map(short, values.head(EXAMPLES).to_list())) + (", …" if len(values) > EXAMPLES else "")


def rows_of(table: Table, keep: NDArray[np.bool_]) -> Table:
    """Return some rows of a table with a target. They keep their numbers."""
    assert table.y is not None
    numbers = np.arange(len(keep)) if table.row_numbers is None else table.row_numbers
    return replace(table, X=table.X.filter(pl.Series(keep)), y=np.asarray(table.y)[keep], row_numbers=numbers[keep])
