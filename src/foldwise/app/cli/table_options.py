"""The options that say how a table is read. All commands that read tables share this one definition.

Each option is an argument of `foldwise.read_table`. Nothing is loaded here, so that `--help` answers at once.
"""

from __future__ import annotations

import csv
import functools
import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from foldwise.app.cli.config_file import REPEATED, merged, read_config
from foldwise.errors import InputError

Command = TypeVar("Command", bound=Callable[..., None])
ONE_KIND = re.compile(r".+=(numeric|categorical|binary|text|date(:.*)?|time|duration|identifier)\s*")
YES, NO = ("yes", "true"), ("no", "false", "none")


@dataclass(frozen=True)
class TableOptions:
    """The options by which tables are read, as given on the command line or in a configuration file."""

    missing: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    index: str | None = None
    names: str | None = None
    separator: str | None = None
    decimal: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: str | None = None
    skip_rows: str | None = None
    sheet: str | None = None
    table: str | None = None

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `read_table`.

        >>> options = TableOptions(missing=("-999", "age=0,99"), kind=("zip=categorical",), header="no")
        >>> options.keywords()
        {'missing_values': {'*': ['-999'], 'age': ['0', '99']}, 'kinds': {'zip': 'categorical'}, 'header': False}
        """
        found: dict[str, Any] = {
            "missing_values": missing_values(self.missing),
            "kinds": dict(pair("kind", one) for one in self.kind),
            "drop": [name for one in self.drop for name in listed(one)],
            "index": False if self.index in NO else self.index,
            "names": None if self.names is None else listed(self.names),
            "separator": None if self.separator is None else self.separator.replace("\\t", "\t"),
            "decimal": self.decimal,
            "quote": self.quote,
            "encoding": self.encoding,
            "header": header_of(self.header),
            "skip_rows": None if self.skip_rows is None else whole("skip-rows", self.skip_rows),
            "sheet": self.sheet,
            "table": self.table,
        }
        return {name: value for name, value in found.items() if value is not None and value != {} and value != []}

    def source(self, path: Path) -> Any:
        """Return a file with the arguments to read it with."""
        from foldwise.data.reading.table_source import TableSource

        return TableSource(path, self.keywords())


def options(
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[COLUMN=]VALUE,…",
            help="Value to treat as missing, in all columns or in one. Empty cells, ?, NA and the like are always "
            "missing. May be repeated.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=KIND",
            help="Kind of a column: numeric, count, binary, categorical, text, identifier, ordinal, constant, date, "
            "time or duration. date:%d.%m.%Y also sets the date format. May be repeated.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN,…", help="Columns to leave out. May be repeated.")
    ] = None,
    index: Annotated[
        str | None,
        typer.Option(
            help="Column to leave out because it only numbers the rows. Default: detected. --index none keeps every "
            "column."
        ),
    ] = None,
    names: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Names for all columns, instead of those in the file.")
    ] = None,
    separator: Annotated[str | None, typer.Option(help=r"Separator between cells, such as ';' or '\t'.")] = None,
    decimal: Annotated[str | None, typer.Option(help="Decimal mark, a point or a comma.")] = None,
    quote: Annotated[str | None, typer.Option(help="Quote character, or '' if quotes are ordinary characters.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of text, such as utf-8 or cp1252.")] = None,
    header: Annotated[
        str | None,
        typer.Option(metavar="yes|no|ROWS", help="Whether the file has a header, or the number of header rows."),
    ] = None,
    skip_rows: Annotated[
        str | None, typer.Option(metavar="N", help="Number of lines to skip before the header.")
    ] = None,
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook, by name or by index from 0.")] = None,
    table: Annotated[str | None, typer.Option("--table", help="Table to read, if TABLE is a database.")] = None,
) -> None:
    """The options of `TableOptions`, as typer declares them."""


OPTIONS = {one.name: one for one in inspect.signature(options, eval_str=True).parameters.values()}
RENAMED = {"table": "database_table"}  # commands have an argument TABLE
CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--config",
            is_eager=True,
            callback=read_config,
            help="TOML file of options. Options on the command line take precedence. --missing, --kind and --drop are "
            "added to those of the file.",
        ),
    ],
)


def with_table_options(command: Command) -> Command:
    """Give a command the options of `TableOptions`, which it gets as its argument `reading`, and `--config`."""
    own = inspect.signature(command, eval_str=True).parameters
    shared = [
        one.replace(name=RENAMED.get(name, name), kind=inspect.Parameter.KEYWORD_ONLY) for name, one in OPTIONS.items()
    ]
    rest = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, one in own.items() if name != "reading"]

    @functools.wraps(command)
    def run(context: typer.Context, config: Path | None = None, **given: Any) -> None:
        values = {name: given.pop(RENAMED.get(name, name)) for name in OPTIONS}
        values = {name: merged(context, name, value) if name in REPEATED else value for name, value in values.items()}
        command(**given, reading=TableOptions(**values))

    everything = [CONTEXT, *rest, *shared, CONFIG]
    run.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in everything}
    del run.__wrapped__
    return run  # type: ignore[return-value]


def listed(names: str) -> list[str]:
    """Split a comma-separated list. A name with a comma is put in double quotes.

    >>> listed('age, "last, first"')
    ['age', 'last, first']
    """
    rows: Iterable[list[str]] = csv.reader([names], skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


def pair(option: str, text: str) -> tuple[str, str]:
    """Split column=value at the last equals sign."""
    name, mark, value = text.rpartition("=")
    several = text.split(",")
    if len(several) > 1 and all(map(ONE_KIND.fullmatch, several)):
        repeated = " ".join(f"--{option} {shlex.quote(one.strip())}" for one in several)
        raise InputError(f"--{option} sets the kind of one column, got {text!r}.", f"repeat the option: {repeated}.")
    if not mark or not name.strip() or not value.strip():
        column = text.strip(" =") or "zip"
        example = shlex.quote(f"{column}=categorical")
        raise InputError(f"--{option} must be COLUMN=KIND, got {text!r}.", f"pass --{option} {example}.")
    return name, value.strip()


def missing_values(given: Iterable[str]) -> dict[str, list[str]]:
    """Return what means missing, by column; `*` stands for all columns."""
    found: dict[str, list[str]] = {}
    for one in given:
        name, mark, values = one.rpartition("=")
        found.setdefault(name if mark and name.strip() else "*", []).extend(listed(values) or [values])
    return found


def header_of(text: str | None) -> bool | int | None:
    if text is None or text.lower() in (*YES, *NO):
        return None if text is None else text.lower() in YES
    if not text.strip().isdigit():
        raise InputError(f"--header must be yes, no or the number of header rows, got {text!r}.", "pass --header yes.")
    return int(text)


def whole(option: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--{option} must be an integer, got {text!r}.", "pass a number such as 1.") from None


def as_options(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `read_table` as they are written in a configuration file."""
    renamed = {"missing_values": "missing", "kinds": "kind", "skip_rows": "skip-rows"}
    return {renamed.get(name, name): value for name, value in keywords.items()}
