"""Excel and OpenDocument sheets, by fastexcel: an extra."""

from __future__ import annotations

import io
from dataclasses import replace

import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.asking import Asked
from foldwise.data.reading.columnar import with_missing
from foldwise.data.reading.layout import clean_names
from foldwise.data.reading.numbers import convert
from foldwise.data.reading.parsed import REFUSALS, Parsed, first_line
from foldwise.data.reading.source import Source
from foldwise.data.schema import check_unique_names, listing
from foldwise.errors import InputError


def read_excel(source: Source, asked: Asked) -> Parsed:
    """One sheet of a workbook."""
    try:
        import fastexcel
    except ImportError as error:
        raise InputError(
            f"{source.name} is a workbook, and the package that reads these is not here.",
            "pip install 'foldwise[excel]', or save the sheet as CSV.",
        ) from error
    refusals = (*REFUSALS, fastexcel.FastExcelError, ValueError)
    try:
        sheets = fastexcel.read_excel(source.data).sheet_names
    except refusals as error:
        raise InputError(f"{source.name} cannot be read as a workbook: {first_line(error)}.") from error
    sheet = chosen_sheet(sheets, asked, source.name)
    try:
        header = {"header_row": asked.skip_rows} if asked.skip_rows else {}
        frame = pl.read_excel(
            io.BytesIO(source.data),
            sheet_name=sheet,
            engine="calamine",
            has_header=asked.header != 0,
            infer_schema_length=None,
            read_options=header or None,
        )
    except refusals as error:
        raise InputError(
            f"sheet {sheet!r} of {source.name} cannot be read: {first_line(error)}.",
            "pass skip_rows= where the names do not stand in the first row.",
        ) from error
    notes = [Note("sheet", f"{sheet!r}" + (f" of {listing(sheets)}; pass sheet= for another." if sheets[1:] else "."))]
    names = [name if asked.header != 0 and not name.startswith("__UNNAMED__") else "" for name in frame.columns]
    gaps = [j for j, name in enumerate(names) if not name.strip()]
    names, said = clean_names(names)
    check_unique_names(names)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    text = [name for name in names if frame[name].dtype == pl.String]
    frame = with_missing(frame, replace(asked, missing_values=asked.tokens))
    converted = [convert(frame[name], asked, ".") for name in text]
    frame = frame.with_columns([column.series for column in converted])
    said += [note for column in converted for note in column.notes]
    return Parsed(frame, (*notes, *said), unnamed=tuple(names[j] for j in gaps))


def chosen_sheet(sheets: list[str], asked: Asked, name: str) -> str:
    """The sheet that was asked for, by name or by place; the first without asking."""
    if asked.sheet is None and sheets:
        return sheets[0]
    if isinstance(asked.sheet, int) and 0 <= asked.sheet < len(sheets):
        return sheets[asked.sheet]
    if asked.sheet in sheets:
        return str(asked.sheet)
    raise InputError(f"{name} has no sheet {asked.sheet!r}.", f"its sheets are {listing(sheets)}.")
