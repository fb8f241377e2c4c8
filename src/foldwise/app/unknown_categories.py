"""Categories that did not occur in the training rows: counts and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import polars as pl

from foldwise.bayes import NaiveBayes
from foldwise.data.notes import Note
from foldwise.data.schema import listing
from foldwise.models.column_transformers import CategoryCodes
from foldwise.neighbors import KNNClassifier
from foldwise.storage.encoded_parts import walk

KnownCategories = Mapping[str, frozenset[str]]


def known_levels(model: Any) -> KnownCategories:
    """Return the categories of each text column that the model was trained on."""
    found: dict[str, set[str]] = {}
    for part in walk(model):
        if isinstance(part, CategoryCodes | NaiveBayes | KNNClassifier):
            for column, levels in part.known_levels().items():
                texts = {level for level in levels if isinstance(level, str)}
                if texts:
                    found.setdefault(column, set()).update(texts)
    return {column: frozenset(levels) for column, levels in found.items()}


class UnknownCategories:
    """Counts unknown categories, batch by batch."""

    def __init__(self, known: KnownCategories) -> None:
        self._known = known
        self._found: dict[str, Counter[str]] = {}

    def look(self, frame: pl.DataFrame) -> None:
        """Count the unknown categories of a batch."""
        present = set(frame.columns)
        for name, known in self._known.items():
            if name in present and frame[name].dtype in (pl.String, pl.Categorical, pl.Enum):
                cells = frame[name].cast(pl.String).drop_nulls()
                new = cells.filter(~cells.is_in(list(known)))
                if len(new):
                    self._found.setdefault(name, Counter()).update(new.to_list())

    def notes(self) -> list[Note]:
        """Describe the unknown categories, one note per column."""
        return [Note("categories", described(name, cells), name) for name, cells in self._found.items()]


def described(name: str, cells: Counter[str]) -> str:
    """Describe the unknown categories of a column."""
    n_cells, named = cells.total(), listing([category for category, _ in cells.most_common()], 3)
    if n_cells == 1:
        return (
            f"1 cell of {name!r} contains a category that does not occur in the training data: {named}. "
            "It was treated as unknown."
        )
    return (
        f"{n_cells:,} cells of {name!r} contain categories that do not occur in the training data: {named}. "
        "They were treated as unknown."
    )
