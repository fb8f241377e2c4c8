"""`KNNRegressor`: the mean of the nearest training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from foldwise.data.target import number_target
from foldwise.data.validation import validate_table
from foldwise.data.view import View
from foldwise.errors import InputError
from foldwise.neighbors.base import NearestRows, Weights
from foldwise.neighbors.parameters import Poll, check_poll
from foldwise.neighbors.votes import Floats, mean_values


class KNNRegressor(RegressorMixin, NearestRows):  # type: ignore[misc]
    """The (weighted) mean of the nearest rows of a table of mixed columns, with missing cells.

    Parameters are those of `KNNClassifier`, without what only votes have (`ties`, `laplace`). The distance "hvdm"
    learns from classes, so it is not for regression.

    Examples
    --------
    >>> from foldwise import KNNRegressor
    >>> KNNRegressor(n_neighbors=2).fit([[0.0], [1.0], [5.0]], [1.0, 3.0, 9.0]).predict([[0.2]])
    array([2.])
    """

    _y: NDArray[np.float64]

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        metric: str = "auto",
        p: float = 2,
        scale: str | None = None,
        column_weights: ArrayLike | Mapping[Any, float] | None = None,
        pca: int | float | None = None,
        categorical: Sequence[Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.p = p
        self.scale = scale
        self.column_weights = column_weights
        self.pca = pca
        self.categorical = categorical
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows of X with values y, placed so that the nearest are found."""
        self._asked()
        if self.metric == "hvdm":
            raise InputError(
                "metric='hvdm' learns from classes, and a regression has none.", "metric='heom' or 'gower' needs none."
            )
        table = validate_table(self, X, None).table
        assert isinstance(table, View)
        values = number_target(y, table.n_rows)
        self._place(table, None, 0)
        self._y = values
        return self

    def predict(self, X: Any) -> Floats:
        """The mean of the neighbours; of the training rows, each left out in turn, where X is None."""
        poll = self._asked()
        means: Floats = mean_values(self._poll(X, poll), self._y, [poll.k], poll.weights)[0]
        return means

    def _asked(self) -> Poll:
        return check_poll(self.n_neighbors, self.weights)

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The fold session that answers many settings and splits of this estimator from one search."""
        from foldwise.neighbors.session import open_knn

        return open_knn(self, X, y, fit_params)
