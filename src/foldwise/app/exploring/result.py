"""`Exploration`: what `explore` returns, with its report and folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from foldwise.app.folder_result import FolderResult
from foldwise.app.run_folder import MODEL, ROWS
from foldwise.data.frames import frame_in
from foldwise.errors import InputError
from foldwise.report.exploration_summary import exploration_html, exploration_text
from foldwise.storage import StoredModel, save_model
from foldwise.storage.model_file import model_in_memory
from foldwise.storage.stored_model import HoldsModel


@dataclass(frozen=True, eq=False, repr=False)
class Exploration(FolderResult, HoldsModel):
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

    def stored(self) -> StoredModel:
        """Return the model that assigns clusters, as if the exploration had been saved and its model opened.

        Returns
        -------
        StoredModel
            The model, which checks tables before it assigns clusters.
        """
        if self.model is None:
            raise InputError("the exploration found no clusters, so it has no model.", "pass the result of fit.")
        cards = self.facts["clusters"]["cards"]
        metadata = {"task": "clusters", "sizes": {str(card["cluster"]): card["size"] for card in cards}}
        return model_in_memory(self.model, self.sample, "cluster", metadata)

    def _write_model(self, inside: Path) -> None:
        if self.model is not None:
            save_model(inside / MODEL, self.stored())
        self.found_rows.write_csv(inside / ROWS)

    def __repr__(self) -> str:
        return exploration_text(self.facts)

    def _repr_html_(self) -> str:
        return exploration_html(self.facts)
