"""`Exploration`: what `explore` returns, with its report and folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.folder_result import FolderResult
from foldwise.app.run_folder import MODEL, ROWS
from foldwise.data.frames import frame_in
from foldwise.report.exploration_summary import exploration_html, exploration_text
from foldwise.storage import save_model


@dataclass(frozen=True, eq=False, repr=False)
class Exploration(FolderResult):
    """The result of `explore`: answers to questions about a table without a target.

    Attributes
    ----------
    facts : dict
        Everything the report shows, as plain values that can be written as JSON.
    found_rows : polars.DataFrame
        The frame `rows`.
    model : estimator or None
        Assigns new rows to clusters. None if there are no clusters.
    sample : polars.DataFrame
        A few rows of the table, from which the model file learns the types of its columns.
    library : str
        The library of the table, and so of the frame `rows`: "polars", "pandas" or "pyarrow".

    Examples
    --------
    >>> import foldwise
    >>> found = foldwise.explore("examples/weather.csv")
    >>> found.rows.height
    14
    """

    facts: dict[str, Any]
    found_rows: pl.DataFrame
    model: Any
    sample: pl.DataFrame
    library: str = "polars"

    @property
    def rows(self) -> Any:
        """What was found about each row of the table.

        Returns
        -------
        frame of the library of the table
            One row per row of the table: its cluster, whether it is an outlier, and its position on the map. Cells are
            missing for rows that were not in the sample of a question.
        """
        return frame_in(self.library, self.found_rows)

    def _write_model(self, inside: Path) -> None:
        if self.model is not None:
            cards = self.facts["clusters"]["cards"]
            metadata = {"task": "clusters", "sizes": {str(card["cluster"]): card["size"] for card in cards}}
            save_model(inside / MODEL, self.model, self.sample, target="cluster", metadata=metadata)
        self.found_rows.write_csv(inside / ROWS)

    def __repr__(self) -> str:
        return exploration_text(self.facts)

    def _repr_html_(self) -> str:
        return exploration_html(self.facts)
