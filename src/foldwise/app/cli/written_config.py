"""`inspect --write-config`: what was decided about a table, as a TOML file to edit and to pass as `--config`.

Names and cells come from the table, so every text is escaped. Suggestions are comments, because nothing that the user
did not ask for is left out or recoded.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.cli.table_options import as_options
from foldwise.app.option_words import with_options
from foldwise.data.findings import Finding
from foldwise.data.levels import is_missing
from foldwise.data.reading.dates import formats_of
from foldwise.data.table import Table

MANY_COLUMNS = 200  # beyond which plain numbers are not listed
MOST_CANDIDATES = 8
USED = {"numeric": "a number", "categorical": "categories"}


def config_text(
    path: Path, table: Table, task: str | None, keywords: Mapping[str, Any], written_as: str = "FILE.toml"
) -> str:
    """Write the configuration of a table. `written_as` is the path of the configuration file.

    >>> from foldwise import read_table
    >>> text = config_text(Path("w.csv"), read_table("examples/weather.csv", target="play"), "classification", {})
    >>> [line for line in text.splitlines() if line.startswith("target")]
    ['target = "play"']
    """
    given = as_options(keywords)
    lines = [
        f"# How foldwise reads {one_line(path.name)}. Use it with --config, for example:",
        f"#   foldwise fit {one_line(shlex.quote(str(path)))} --config {one_line(shlex.quote(written_as))}",
        "# Lines that begin with # are not used. Remove the # to use an option.",
        "",
        *target_lines(table, task),
        "",
        "# Format of the file. Lines that begin with # show what was detected.",
        *(f"{name} = {toml(value)}" for name, value in given.items() if name not in ("missing", "kind", "drop")),
        *(f"# {name} = {toml(value)}" for name, value in table.detected.items()),
        "",
        "# Columns to leave out.",
        f"drop = {toml(given.get('drop', []))}",
        *suggested_drops(table),
        *advice(table),
        "",
        "# Options of a run. For all options, see foldwise fit --help.",
        '# budget = "60s"',
        '# metric = "roc_auc"',
        '# models = ["naive_bayes", "random_forest"]',
        '# cv = "10"',
        "",
        '# Values to treat as missing, besides empty cells, ?, NA and the like: by column, or "*" for all columns.',
        *missing_lines(given.get("missing", {})),
        "",
        "[kind]",
        *kind_lines(table, given.get("kind", {})),
    ]
    return "\n".join(lines) + "\n"


def target_lines(table: Table, task: str | None) -> list[str]:
    """Return the target, or columns that could be one."""
    if table.target is not None:
        lines = [f"target = {toml(table.target)}", f"task = {toml(task)}"]
        lost = 0 if table.y is None else sum(map(is_missing, table.y.tolist()))
        rows = f"{lost:,} row has" if lost == 1 else f"{lost:,} rows have"
        return [*lines, f"# drop-unlabeled = true  # {rows} no value in the target"] if lost else lines
    kinds = ("categorical", "binary", "ordinal", "numeric", "count")
    likely = [one.column for one in table.findings if one.kind in kinds]
    shown = ", ".join(map(toml, likely[-MOST_CANDIDATES:]))
    return [f"# The column to predict, such as {shown}", "# target = "]


def advice(table: Table) -> list[str]:
    """Return the notes that suggest something, and the option that follows each, as comments."""
    found = []
    for note in table.notes:
        if note.column is None or "pass " not in note.text.lower():
            continue
        found.append(f"# {one_line(with_options(note.text))}")
        if note.topic in ("groups", "time"):
            found.append(f"# {note.topic} = {toml(note.column)}")
    return found


def suggested_drops(table: Table) -> list[str]:
    """Return the columns that may identify rows, as one line to use instead of the one above."""
    names = [note.column for note in table.notes.about("identifier")]
    return [f"# drop = {toml(names)}"] if names else []


def missing_lines(missing: Mapping[str, Any]) -> list[str]:
    """Return the table of values that mean missing."""
    if not missing:
        return ["# [missing]", '# "*" = ["unknown"]', '# "age" = [0, 999]']
    return ["[missing]", *(f"{toml(name)} = {toml(values)}" for name, values in missing.items())]


def kind_lines(table: Table, given: Mapping[str, str]) -> list[str]:
    """Return the kind of each column, with the reason; of wide tables only those that are not plain numbers."""
    lines = []
    for found in table.findings:
        kind = given.get(found.column) or declared_kind(table, found)
        if kind == "numeric" and table.X.width > MANY_COLUMNS and found.column not in given:
            continue
        looks = (
            f"looks ordinal, but models use it as {USED[kind]}: " if found.kind == "ordinal" and kind in USED else ""
        )
        line = f"{toml(found.column)} = {toml(kind)}  # {looks}{one_line(found.reason)}"
        plain = table.X[found.column].dtype in (pl.String, pl.Boolean) or table.X[found.column].dtype.is_numeric()
        lines.append(line if plain and found.kind != "constant" else f"# {line}")
    return lines


def declared_kind(table: Table, found: Finding) -> str:
    """Return the kind to declare, so that a column is read as it was read without a declaration."""
    column = table.X[found.column]
    if column.dtype.is_numeric():
        return "identifier" if found.kind == "identifier" else "numeric"
    if column.dtype == pl.Boolean:
        return "binary"
    if column.dtype.is_temporal():
        return "date"
    if found.kind == "date":
        forms = formats_of(column)
        return f"date:{forms[0]}" if len(forms) == 1 else "text"
    return found.kind if found.kind in ("text", "identifier") else "categorical"


def toml(value: Any) -> str:
    """Write a value as TOML.

    >>> print(toml(["a \\"b\\"", 1, True]))
    ["a \\"b\\"", 1, true]
    """
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool | int | float) or value is None:
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def one_line(text: str) -> str:
    """Return a text that cannot leave its comment."""
    return "".join(char if char.isprintable() else " " for char in text)
