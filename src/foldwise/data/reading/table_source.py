"""`TableSource`: a file, with the arguments of `read_table` that say how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldwise.data.reading.tables import read_table
from foldwise.data.table import Table


@dataclass(frozen=True)
class TableSource:
    """A file that is read later, and how.

    Attributes
    ----------
    path : Path
        The file.
    keywords : mapping
        Arguments of `read_table`, without the target.

    Examples
    --------
    >>> source = TableSource(Path("examples/weather.csv"), {"drop": ["windy"]})
    >>> source.read("play").X.columns
    ['outlook', 'temperature', 'humidity']
    >>> source.as_code("play")
    "foldwise.read_table('examples/weather.csv', target='play', drop=['windy'])"
    """

    path: Path
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def read(self, target: str | None = None) -> Table:
        """Read the table.

        Parameters
        ----------
        target : str, optional
            The column to predict.

        Returns
        -------
        Table
            The table.
        """
        return read_table(self.path, target, **self.keywords)

    def as_code(self, target: str | None = None) -> str:
        """Write the call that reads the table; only the path if there is nothing else to say.

        Parameters
        ----------
        target : str, optional
            The column to predict.

        Returns
        -------
        str
            Python code.
        """
        if not self.keywords:
            return repr(str(self.path))
        given = {"target": target, **self.keywords}
        words = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return f"foldwise.read_table({', '.join([repr(str(self.path)), *words])})"
