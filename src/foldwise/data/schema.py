"""The description of columns: their names, kinds and declared levels, without any cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from typing import Literal, get_args

from foldwise.data.html import html_table
from foldwise.data.notes import counted
from foldwise.errors import FoldwiseTypeError, InputError

Kind = Literal["numeric", "categorical", "binary", "date"]
Level = str | int | float | bool

SHOWN_COLUMNS = 100  # in a terminal or a notebook
LONGEST_LISTED = 60  # characters of a text in a message
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Column:
    """Describe one column: its name, its kind and, if declared, its levels.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"numeric", "categorical", "binary", "date"}
        What its cells are.
    levels : tuple of str, int, float or bool, optional
        The allowed categories in order. None (default) learns them from the training rows.

    Examples
    --------
    >>> Column("outlook", "categorical", levels=("sunny", "overcast", "rainy"))
    Column(name='outlook', kind='categorical', levels=('sunny', 'overcast', 'rainy'))
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"column {self.name!r} has the unknown kind {self.kind!r}.",
                f"use one of {', '.join(map(repr, KINDS))}.",
            )
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(self.levels))
            if len(set(self.levels)) != len(self.levels):
                raise InputError(f"column {self.name!r} declares a level twice: {list(self.levels)!r}.")


@dataclass(frozen=True)
class Schema:
    """Describe the columns of a table, in order.

    Attributes
    ----------
    columns : tuple of Column
        One description per column. Names must be unique.

    Examples
    --------
    >>> schema = Schema((Column("age", "numeric"), Column("city", "categorical")))
    >>> schema["age"].kind
    'numeric'
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not all(isinstance(column, Column) for column in self.columns):
            raise FoldwiseTypeError(
                f"columns must be a tuple of Column, got {self.columns!r}.", 'pass (Column("age", "numeric"),).'
            )
        check_unique_names(self.names)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __getitem__(self, name: str) -> Column:
        if name in self._by_name:
            return self._by_name[name]
        raise InputError(f"the schema has no column {name!r}.", f"choose among {listing(self.names)}.")

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def to_json(self) -> str:
        """Write the schema as JSON.

        Returns
        -------
        str
            A JSON list with one entry per column.
        """
        entries = [{k: v for k, v in asdict(column).items() if v is not None} for column in self.columns]
        return json.dumps(entries, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read the schema that `to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON text.

        Returns
        -------
        Schema
            The same schema as before.
        """
        try:
            entries = json.loads(text)
            return cls(tuple(Column(str(e["name"]), e["kind"], e.get("levels")) for e in entries))
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise InputError(
                f"this JSON does not contain a schema: {error!r}.", "pass the text that Schema.to_json returned."
            ) from error

    def __str__(self) -> str:
        shown = self.columns[:SHOWN_COLUMNS]
        width = max((len(column.name) for column in shown), default=0)
        lines = []
        for column in shown:
            levels = f"  {listing(column.levels)}" if column.levels is not None else ""
            lines.append(f"{column.name:<{width}}  {column.kind}{levels}")
        return "\n".join([*lines, *more_columns(len(self))])

    def _repr_html_(self) -> str:
        shown = self.columns[:SHOWN_COLUMNS]
        rows = [(c.name, c.kind, "" if c.levels is None else listing(c.levels)) for c in shown]
        title, header = f"Schema of {counted(len(self), 'column')}", ("column", "kind", "levels")
        return html_table(title, header, rows, more_columns(len(self)), align="lll")


def more_columns(n_columns: int) -> list[str]:
    """Say how many columns are not shown; empty if all are shown."""
    more = n_columns - SHOWN_COLUMNS
    return [f"… and {more:,} more columns"] if more > 0 else []


def check_unique_names(names: Iterable[str]) -> None:
    """Refuse a table in which two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(
                f"column names must be unique, but two columns are called {name!r}.",
                "rename one of them, for example with names= of read_table.",
            )
        seen.add(name)


def choose_among(names: Iterable[str], given: object = None) -> str:
    """Advise to choose a column, with the nearest name first if one was mistyped.

    >>> choose_among(["weather", "wind"], "wether")
    "did you mean 'weather'? Choose among 'weather', 'wind'."
    """
    known = list(names)
    near = nearest_name(known, given)
    return f"did you mean {near!r}? Choose among {listing(known)}." if near else f"choose among {listing(known)}."


def nearest_name(names: Iterable[str], given: object, cutoff: float = 0.65) -> str | None:
    """Return the name that was probably meant: the one in other capitals, or else the most similar one.

    >>> nearest_name(["Class", "clash"], "class")
    'Class'
    """
    known = [name for name in names if isinstance(name, str)]
    if not isinstance(given, str):
        return None
    same = [name for name in known if name.casefold() == given.casefold()]
    return next(iter(same or get_close_matches(given, known, 1, cutoff)), None)


def listing(values: Iterable[object], most: int = 8) -> str:
    """List the first few values for a message, and say how many more there are. Long texts are cut.

    >>> listing("abc", most=2)
    "'a', 'b' and 1 more"
    """
    shown = list(values)
    cut = (
        f"{one[: LONGEST_LISTED - 1]}…" if isinstance(one, str) and len(one) > LONGEST_LISTED else one for one in shown
    )
    text = ", ".join(repr(value) for value in islice(cut, most))
    return text if len(shown) <= most else f"{text} and {len(shown) - most} more"
