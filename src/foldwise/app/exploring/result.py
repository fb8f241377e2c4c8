"""`Exploration`: what `explore` returns, with its report and folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.run_folder import FACTS, MODEL, REPORT, ROWS, write_folder
from foldwise.report import render
from foldwise.report.exploration_summary import exploration_html, exploration_text
from foldwise.storage import save_model


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """The result of `explore`: answers to questions about a table without a target.

    Attributes
    ----------
    facts : dict
        Everything the report shows, as plain values that can be written as JSON.
    rows : polars.DataFrame
        One row per row of the table: its cluster, whether it is an outlier, and its position on the map.
        Cells are missing for rows that were not in the sample of a question.
    model : estimator or None
        Assigns new rows to clusters. None if there are no clusters.
    sample : polars.DataFrame
        A few rows of the table, from which the model file learns the types of its columns.

    Examples
    --------
    >>> import foldwise
    >>> found = foldwise.explore("examples/weather.csv")
    >>> found.rows.height
    14
    """

    facts: dict[str, Any]
    rows: pl.DataFrame
    model: Any
    sample: pl.DataFrame

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one HTML file.

        Parameters
        ----------
        path : path
            File to write.

        Returns
        -------
        Path
            The same path.
        """
        file = Path(path)
        file.write_text(render(self.facts), encoding="utf-8")
        return file

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a folder with the report, the rows with their clusters, the facts, and the model if there is one.

        The folder appears only when it is complete.

        Parameters
        ----------
        folder : path
            Folder to write.
        force : bool, default=False
            Whether to replace an existing run folder. A folder with anything else in it is never replaced.

        Returns
        -------
        Path
            The path of the folder.
        """
        return write_folder(Path(folder), force, self._write)

    def _write(self, inside: Path) -> None:
        if self.model is not None:
            cards = self.facts["clusters"]["cards"]
            metadata = {"task": "clusters", "sizes": {str(card["cluster"]): card["size"] for card in cards}}
            save_model(inside / MODEL, self.model, self.sample, target="cluster", metadata=metadata)
        (inside / FACTS).write_text(json.dumps(self.facts, ensure_ascii=False, indent=1), encoding="utf-8")
        self.rows.write_csv(inside / ROWS)
        self.report(inside / REPORT)

    def __repr__(self) -> str:
        return exploration_text(self.facts)

    def _repr_html_(self) -> str:
        return exploration_html(self.facts)
