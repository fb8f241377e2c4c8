"""Read a sheet of an Excel or OpenDocument workbook. The package fastexcel is an extra."""

from __future__ import annotations

import io
import logging
import zipfile
from typing import Any

import polars as pl

from foldwise.data.notes import Note
from foldwise.data.reading.delimited import without_padding
from foldwise.data.reading.expansion import check_workbook
from foldwise.data.reading.layout import TableLayout, layout_of_rows
from foldwise.data.reading.missing import missing_notes, with_missing
from foldwise.data.reading.numbers import convert_columns
from foldwise.data.reading.protocol import CUT_OFF, ParsedFile, ReadOptions, import_extra, read_errors
from foldwise.data.reading.sniffing import SAMPLE_ROWS
from foldwise.data.reading.source_file import SourceFile
from foldwise.data.schema import check_unique_names, listing
from foldwise.errors import InputError


def read_excel(source: SourceFile, options: ReadOptions) -> ParsedFile:
    """Read one sheet of a workbook."""
    book, errors = opened_book(source)
    sheet = chosen_sheet(book.sheet_names, options, source.name)
    with read_errors(f"sheet {sheet!r} of {source.name} cannot be read", *errors):
        layout = layout_of(book, sheet, options, source.name)
        frame = pl.read_excel(
            io.BytesIO(source.data),
            sheet_name=sheet,
            engine="calamine",
            has_header=False,
            infer_schema_length=None,
            drop_empty_cols=False,
            read_options={"skip_rows": layout.skip_lines},
        )
    check_unique_names(layout.names)
    frame = frame.rename(dict(zip(frame.columns, layout.names, strict=True)))
    others = f", one of {listing(book.sheet_names)}. Pass sheet= for another." if book.sheet_names[1:] else "."
    frame, seen = with_missing(frame, options.tokens)
    frame, dropped = without_padding(frame, layout.unnamed)
    missing = missing_notes(seen, frame)
    frame, converted = convert_columns(frame, options, ".")
    notes = [Note("sheet", f"the sheet is {sheet!r}{others}"), *layout.notes, *dropped, *converted, *missing]
    return ParsedFile(frame, tuple(notes), unnamed=layout.unnamed, detected={"sheet": sheet})


def opened_book(source: SourceFile) -> tuple[Any, tuple[type[Exception], ...]]:
    """Open a workbook; return also the errors that reading it may raise."""
    hint = "run pip install 'foldwise[excel]', or save the sheet as CSV."
    fastexcel = import_extra("fastexcel", f"{source.name} is a workbook", hint)
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it warns of empty columns, which notes describe
    errors = (fastexcel.FastExcelError, ValueError, zipfile.BadZipFile)
    with read_errors(f"{source.name} cannot be read as a workbook", *errors, hint=CUT_OFF):
        check_workbook(source.data, source.path)
        return fastexcel.read_excel(source.data), errors


def sheets_of(source: SourceFile) -> list[str]:
    """Return the names of the sheets of a workbook."""
    return list(opened_book(source)[0].sheet_names)


def layout_of(book: Any, sheet: str, options: ReadOptions, file: str) -> TableLayout:
    """Find the table in a sheet from its first rows, as in a text."""
    skip = options.skip_rows or 0
    sample = book.load_sheet(sheet, header_row=None, skip_rows=skip, n_rows=SAMPLE_ROWS, dtypes="string").to_polars()
    numbered = []
    for number, cells in enumerate(sample.iter_rows(), skip + 1):
        row = [cell or "" for cell in cells]
        while row and not row[-1].strip():
            row.pop()
        if row:
            numbered.append((row, number))
    if not numbered:
        raise InputError(f"sheet {sheet!r} of {file} contains no rows.", "pass a file with a header and rows.")
    return layout_of_rows(numbered, [], options, file, skip, sample.width)


def chosen_sheet(sheets: list[str], options: ReadOptions, name: str) -> str:
    """Return the sheet that was requested by name or by index; the first one by default."""
    if options.sheet is None and sheets:
        return sheets[0]
    if isinstance(options.sheet, int) and 0 <= options.sheet < len(sheets):
        return sheets[options.sheet]
    if options.sheet in sheets:
        return str(options.sheet)
    if isinstance(options.sheet, str) and options.sheet.isdecimal() and int(options.sheet) < len(sheets):
        return sheets[int(options.sheet)]
    raise InputError(f"{name} has no sheet {options.sheet!r}.", f"choose among {listing(sheets)}.")
