"""The tables in one file: the sheets of a workbook, the tables of a database, or the file itself."""

from __future__ import annotations

from pathlib import Path

from foldwise.data.reading.databases import OPENED, tables_of
from foldwise.data.reading.excel import sheets_of
from foldwise.data.reading.source_file import open_file


def parts_of(path: Path) -> list[dict[str, str]]:
    """Return the arguments of `read_table` that choose each table of a file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of dict
        The sheet or the table; one empty dict for a file with a single table.

    Examples
    --------
    >>> parts_of(Path("examples/weather.csv"))
    [{}]
    """
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".parquet", ".arff", ".gz"):  # not read twice
        return [{}]
    source = open_file(path)
    if source.format == "excel":
        return [{"sheet": name} for name in sheets_of(source)]
    return [{"table": name} for name in tables_of(source)] if source.format in OPENED else [{}]
