"""The models of all folds, which CV+ and jackknife+ ask about each new row.

Linear models are kept as one matrix of coefficients. The models of nearest neighbors are kept as one index of all rows:
leaving out a fold only removes rows from the list of neighbors. All other models are kept as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, Ridge

from foldwise.arrays import Floats, Indices
from foldwise.data.view import plain_table
from foldwise.folds.protocol import FoldSession
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split
from foldwise.neighbors.distance import MIXED
from foldwise.neighbors.estimators import KNNRegressor
from foldwise.neighbors.votes import Neighbors, mean_values

LEAST_LEFT = 1e-9  # of 1 - leverage: less of it, and the model without a row is ill-conditioned


class KeptModels(Protocol):
    """Predictions of the models that were trained without each fold."""

    def predict(self, X: Any) -> Floats:  # (rows, folds)
        """Predict each row by the model of each fold."""


@dataclass(frozen=True)
class KeptEstimators:
    """Fitted models, one per fold."""

    models: list[Any]

    def predict(self, X: Any) -> Floats:
        return np.column_stack([np.asarray(model.predict(X), dtype=np.float64).reshape(-1) for model in self.models])


@dataclass(frozen=True)
class KeptLinearModels:
    """Linear models, one column of coefficients per fold."""

    coefficients: Floats  # (columns, folds)
    intercepts: Floats  # (folds,)

    def predict(self, X: Any) -> Floats:
        return np.asarray(numbers_of(X) @ self.coefficients + self.intercepts)

    def of_folds(self, X: Any, fold: Indices) -> Floats:  # (rows,)
        """Predict each row by the model of one fold."""
        X, chosen = numbers_of(X), self.coefficients[:, fold].T
        products: Any = X.multiply(chosen) if sp.issparse(X) else X * chosen  # type: ignore[attr-defined]
        return np.asarray(products.sum(axis=1)).reshape(-1) + self.intercepts[fold]


@dataclass(frozen=True)
class KeptNeighbors:
    """A nearest-neighbor model of all rows, and the fold of each of them."""

    model: KNNRegressor
    fold: Indices  # (training rows,)

    def predict(self, X: Any) -> Floats:
        model = self.model
        voting = model._voting()
        n_rows, n_folds = model.n_samples_fit_, int(self.fold.max()) + 1
        largest = int(np.bincount(self.fold).max())
        spare = int(voting.weights not in ("uniform", "distance"))  # the bandwidth of a kernel is the next distance
        needed = min(voting.k + spare, n_rows - largest)
        length = min(n_rows, needed + largest)
        distances, indices = model.kneighbors(X, min(length, 2 * needed + 8))
        members = self.fold[indices]
        if indices.shape[1] < length and too_short(members, needed):
            distances, indices = model.kneighbors(X, length)
            members = self.fold[indices]
        whole = Neighbors(distances[:, :needed], indices[:, :needed])
        usual = np.asarray(mean_values(whole, model._y, [voting.k], voting.weights)[0])
        found = np.repeat(usual[:, None], n_folds, axis=1)
        for j in range(needed):  # a fold without a row among these neighbors leaves the prediction as it is
            folds = members[:, j]
            first = (members[:, :j] != folds[:, None]).all(axis=1)
            rows = np.flatnonzero(first)
            removed = members[rows] == folds[rows, None]
            kept = np.argsort(removed, axis=1, kind="stable")[:, :needed]  # in the order of distance
            left = Neighbors(*(np.take_along_axis(one[rows], kept, axis=1) for one in (distances, indices)))
            found[rows, folds[rows]] = mean_values(left, model._y, [voting.k], voting.weights)[0]
        return found


def too_short(members: Indices, needed: int) -> bool:
    """Whether some list has fewer neighbors than needed once the fold with the most of them is left out."""
    ordered = np.sort(members, axis=1)
    longest = 1
    while longest < ordered.shape[1] and (ordered[:, longest:] == ordered[:, :-longest]).any():
        longest += 1
    return bool(ordered.shape[1] - longest < needed)


def keep_models(session: FoldSession, whole: Any, splits: Sequence[Split], fold: Indices) -> KeptModels:
    """Return the models of all folds, in closed form where there is one.

    Parameters
    ----------
    session : FoldSession
        The session of the estimator on all rows.
    whole : estimator
        The model of all rows.
    splits : sequence of Split
        The folds.
    fold : array of int
        The fold that tests each row.

    Returns
    -------
    KeptModels
        What predicts by the model of each fold.
    """
    largest = 1 if isinstance(splits, LeaveOneOutSplits) else max(len(split.test) for split in splits)
    is_plain = type(whole) is KNNRegressor and not session.fit_params and not depends_on_rows(whole)
    if is_plain and whole.n_neighbors <= len(fold) - largest:
        return KeptNeighbors(whole, fold)
    if isinstance(splits, LeaveOneOutSplits):
        closed = without_each_row(session, whole)
        if closed is not None:
            return closed
    models = [session.model({}, split.train) for split in splits]
    if all(type(model) in (Ridge, LinearRegression) and np.ndim(model.coef_) == 1 for model in models):
        coefficients = np.column_stack([model.coef_ for model in models])
        return KeptLinearModels(coefficients, np.array([float(model.intercept_) for model in models]))
    return KeptEstimators(models)


def depends_on_rows(model: KNNRegressor) -> bool:
    """Whether distances are learned from the training rows, so that they differ from fold to fold."""
    return model.effective_metric_ in MIXED or model.scale is not None or model.pca is not None


def without_each_row(session: FoldSession, whole: Any) -> KeptLinearModels | None:
    """Return the linear models without each single row, or None if they must be fitted.

    Notes
    -----
    Without row i, the coefficients change by -A⁻¹zᵢ · eᵢ / (1 - hᵢ), where A = ZᵀZ + αI for centered rows z, e is the
    residual and h = zᵢᵀA⁻¹zᵢ + 1/n the leverage. The column of ones for the intercept is not penalized.
    """
    if type(whole) not in (Ridge, LinearRegression) or session.fit_params or whole.positive or sp.issparse(session.X):
        return None
    alpha = whole.alpha if type(whole) is Ridge else 0.0
    iterates = type(whole) is Ridge and whole.solver not in ("auto", "cholesky", "svd")
    if iterates or np.ndim(alpha) != 0 or np.ndim(whole.coef_) != 1:
        return None
    X, y = numbers_of(session.X), np.asarray(session.y, dtype=np.float64)
    n_rows = len(X)
    center = X.mean(axis=0) if whole.fit_intercept else np.zeros(X.shape[1])
    Z = X - center
    axes, values, _ = np.linalg.svd(Z.T, full_matrices=False)  # AxesᵀZᵀZ Axes is diagonal
    squared = values**2 + float(alpha)
    if len(squared) < X.shape[1] or squared.min() <= 1e-10 * squared.max():
        return None
    moves = axes @ ((axes.T @ Z.T) / squared[:, None])  # A⁻¹Zᵀ (columns, rows)
    leverage = np.einsum("ij,ji->i", Z, moves) + (1.0 / n_rows if whole.fit_intercept else 0.0)
    if (1 - leverage).min() < LEAST_LEFT:
        return None
    step = (y - X @ whole.coef_ - whole.intercept_) / (1 - leverage)  # (rows,)
    coefficients = whole.coef_[:, None] - moves * step
    shifts = step / n_rows if whole.fit_intercept else np.zeros(n_rows)  # of the prediction at the center
    intercepts = whole.intercept_ + (moves * step).T @ center - shifts
    return KeptLinearModels(coefficients, np.asarray(intercepts))


def numbers_of(X: Any) -> Any:
    """Return a table of numbers as an array; a sparse matrix stays as it is."""
    return X if sp.issparse(X) else np.asarray(plain_table(X), dtype=np.float64)


def own_predictions(kept: KeptModels, session: FoldSession, splits: Sequence[Split], fold: Indices) -> Floats:
    """Predict each row by the model that was trained without it."""
    if isinstance(kept, KeptLinearModels):
        return kept.of_folds(session.X, fold)
    if isinstance(kept, KeptNeighbors) and isinstance(splits, LeaveOneOutSplits):
        return np.asarray(kept.model.predict(None), dtype=np.float64)
    found = np.empty(len(fold))
    models = kept.models if isinstance(kept, KeptEstimators) else None
    for k, split in enumerate(splits):
        rows = take_rows(session.X, split.test)
        found[split.test] = kept.predict(rows)[:, k] if models is None else np.asarray(models[k].predict(rows))
    return found
