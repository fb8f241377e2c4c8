"""`StoredModel`: a fitted model with its schema and metadata, opened from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.notes import Notes, counted
from foldwise.data.target import Task
from foldwise.storage.table_check import match_columns


class HoldsModel(ABC):
    """The result of a run, which holds a model in memory as a model file does."""

    @abstractmethod
    def stored(self) -> StoredModel:
        """Return the model with its columns and metadata, as if it had been saved and opened."""


def stored(model: Any) -> Any:
    """Return the stored model of a run, and anything else as it is."""
    return model.stored() if isinstance(model, HoldsModel) else model


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model from a file, which checks tables before it predicts. Use `open_model` to get one.

    Attributes
    ----------
    model : estimator
        The fitted classifier or regressor.
    kinds : mapping of str to str
        What each column must contain: "number", "truth" (booleans), "text" or "date".
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of `predict_proba`; empty for a regressor.
    target : str, optional
        Name of the target column.
    metadata : mapping
        What was stored with the model.
    versions : mapping of str to str
        The versions of Foldwise, Python and libraries that wrote the file.
    framed : bool
        Whether the model was fitted on columns with names.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise import NaiveBayes, open_model, read_table, save_model
    >>> table = read_table("examples/weather.csv", target="play")
    >>> path = tempfile.mkdtemp() + "/weather.foldwise"
    >>> save_model(path, NaiveBayes().fit(table.X, table.y), table.X, target="play")
    >>> model = open_model(path)
    >>> model
    StoredModel of 'play': 4 columns, 2 classes
    >>> model.check(table.X.with_columns(color=1))
    columns: column 'color' was ignored, because the model was trained without it.
    """

    model: Any
    kinds: Mapping[str, str]
    classes_: NDArray[Any]
    target: str | None
    metadata: Mapping[str, Any]
    versions: Mapping[str, str]
    framed: bool = True

    @property
    def task(self) -> Task:
        """Whether it predicts classes ("classification") or a quantity ("regression")."""
        return "classification" if len(self.classes_) else "regression"

    def check(self, X: Any) -> Notes:
        """Check whether the model can predict a table, and raise `InputError` if not.

        Parameters
        ----------
        X : frame, array or Table
            The rows to predict.

        Returns
        -------
        Notes
            What is ignored or converted before predicting.
        """
        return Notes(match_columns(X, self.kinds).notes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row, or its value if the model is a regressor.

        Parameters
        ----------
        X : frame, array or Table
            The rows to predict. Columns may be in any order, and other columns are ignored.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted classes or values.
        """
        return np.asarray(self.model.predict(self._given(X)))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Predict the class probabilities of each row.

        Parameters
        ----------
        X : frame, array or Table
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.
        """
        return np.asarray(self.model.predict_proba(self._given(X)))

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision values of each row, if the model has them.

        Parameters
        ----------
        X : frame, array or Table
            The rows to predict.

        Returns
        -------
        ndarray
            The decision values of the classifier.
        """
        return np.asarray(self.model.decision_function(self._given(X)))

    def _given(self, X: Any) -> Any:
        frame = match_columns(X, self.kinds).X
        return frame if self.framed else frame.to_numpy()

    def __repr__(self) -> str:
        target = "" if self.target is None else f" of {self.target!r}"
        what = f"{len(self.classes_)} classes" if len(self.classes_) else "a quantity"
        return f"StoredModel{target}: {counted(len(self.kinds), 'column')}, {what}"
