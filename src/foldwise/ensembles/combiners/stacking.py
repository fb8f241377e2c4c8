"""Stacking: a final model combines the predictions of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, RidgeCV

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of
from foldwise.data.view import is_frame
from foldwise.ensembles.blocks import Combiner, CombinerData, CombinerRule
from foldwise.ensembles.members import class_indices_among, with_seeds
from foldwise.ensembles.protocol import MemberPredictions
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels
from foldwise.folds.weights import weight_params


@dataclass(repr=False, eq=False)
class Stacking(Combiner):
    """Train a final model on the out-of-fold predictions of members.

    Parameters
    ----------
    final : estimator, optional
        The final model; by default `LogisticRegression()`, or `RidgeCV()` for regression.
    cv : int, splitter or iterable, default=5
        The splits of the out-of-fold predictions.
    use : {"auto", "proba", "labels"}, default="auto"
        The predictions of classifiers, with one column per class; "auto" uses probabilities if all members have them.
        With two classes, the column of the first class is left out.
    passthrough : bool, default=False
        Whether the final model also sees the columns of the table, which must be numeric.

    References
    ----------
    D. Wolpert (1992). Stacked generalization. Neural Networks 5(2).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from foldwise.ensembles import Ensemble, Stacking
    >>> X, y = load_iris(return_X_y=True)
    >>> Ensemble([GaussianNB(), KNeighborsClassifier()], combiner=Stacking(cv=3)).fit(X, y).predict(X[:2])
    array([0, 0])
    """

    final: Any = None
    cv: Any = 5
    use: str = "auto"
    passthrough: bool = False
    learns: ClassVar[bool] = True
    exact: ClassVar[bool] = False

    @property
    def needs(self) -> str:  # type: ignore[override]
        return {"auto": "any", "proba": "proba", "labels": "labels"}.get(self.use, "any")

    def learn(self, info: CombinerData) -> CombinerRule:
        one_of("use", self.use, ["auto", "proba", "labels"])
        data = info.data
        final = self.final
        if final is None:
            final = LogisticRegression() if data.n_classes else RidgeCV()
        if not hasattr(final, "fit"):
            raise InputError(f"final must be an estimator, got {final!r}.", "pass None for the default.")
        predictions = info.out_of_fold(self.cv)
        columns = self._columns(predictions, data.X)
        model = with_seeds(final, info.seed)
        model.fit(columns, data.y, **weight_params(model, data.weights))
        if not isinstance(data.target, Labels):
            return StackingRule(self, model, None)
        return StackingRule(self, model, class_indices_among(model.classes_, data.target.classes))

    def _columns(self, predictions: MemberPredictions, X: Any) -> Any:
        """The columns that the final model sees."""
        found: Any = features_of(predictions)
        if not self.passthrough:
            return found
        if sp.issparse(X):
            blocks: list[Any] = [sp.csr_array(found), X]
            return sp.hstack(blocks, format="csr")
        try:
            cells = np.asarray(X.to_numpy() if is_frame(X) else X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"passthrough=True needs numeric columns: {error}.",
                "pass passthrough=False, or use pipelines as members, which prepare the columns themselves.",
            ) from error
        return np.hstack([found, cells])


@dataclass(frozen=True)
class StackingRule:
    """The fitted final model."""

    combiner: Stacking
    model: Any
    class_indices: NDArray[np.intp] | None

    def __call__(self, predictions: MemberPredictions, X: Any) -> Floats:
        columns = self.combiner._columns(predictions, X)
        if self.class_indices is None:
            return np.asarray(self.model.predict(columns), dtype=np.float64).reshape(-1)
        found = np.zeros((columns.shape[0], predictions.n_classes))
        if hasattr(self.model, "predict_proba"):
            found[:, self.class_indices] = self.model.predict_proba(columns)
        else:
            predicted = np.searchsorted(self.model.classes_, self.model.predict(columns))
            found[np.arange(len(found)), self.class_indices[predicted]] = 1.0
        return found


def features_of(predictions: MemberPredictions) -> Floats:  # (rows, columns)
    """The predictions of all members side by side."""
    if predictions.values is not None:
        return np.ascontiguousarray(predictions.values.T)
    proba = predictions.proba
    if proba is None:
        proba = np.eye(predictions.n_classes)[predictions.labels()]
    if predictions.n_classes == 2:
        proba = proba[:, :, 1:]
    return np.ascontiguousarray(np.hstack(list(proba)))
