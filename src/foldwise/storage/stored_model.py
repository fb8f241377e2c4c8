"""`StoredModel`: a fitted model with its schema and metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.notes import Notes
from foldwise.storage.table_check import match_columns


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model from a file, which checks tables before it predicts.

    `kinds` maps each column to number, truth, text or date. `classes_` are the classes in order, `metadata` is what was
    stored with the model (rows, estimate, command, …), `versions` are the library versions it was written with.
    """

    model: Any
    kinds: Mapping[str, str]
    classes_: NDArray[Any]
    target: str | None
    metadata: Mapping[str, Any]
    versions: Mapping[str, str]
    framed: bool = True  # whether it was fitted on columns with names

    def check(self, X: Any) -> Notes:
        """Check a table: return notes on what would be changed, raise where it does not fit."""
        return Notes(match_columns(X, self.kinds).notes)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row."""
        return np.asarray(self.model.predict(self._given(X)))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probabilities, in the order of `classes_`."""
        return np.asarray(self.model.predict_proba(self._given(X)))

    def decision_function(self, X: Any) -> NDArray[Any]:
        """The decision values, of models that have them."""
        return np.asarray(self.model.decision_function(self._given(X)))

    def _given(self, X: Any) -> Any:
        frame = match_columns(X, self.kinds).X
        return frame if self.framed else frame.to_numpy()

    def __repr__(self) -> str:
        target = "" if self.target is None else f" of {self.target!r}"
        return f"StoredModel{target}: {len(self.kinds)} columns, {len(self.classes_)} classes"
