"""Stacking (Wolpert 1992): a final learner combines the predictions of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, RidgeCV

from foldwise.data.arguments import one_of
from foldwise.data.view import is_frame
from foldwise.ensembles.members import class_indices_among, with_seeds
from foldwise.ensembles.protocol import Combiner, CombinerData, CombinerRule, Floats, MemberPredictions
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels
from foldwise.folds.weights import weight_params


@dataclass(repr=False, eq=False)
class Stacking(Combiner):
    """`final` learns from the out-of-fold answers of members; by default logistic regression, of values ridge.

    `use` is "auto" (probabilities if all members have them), "proba" or "labels" (one column per class). Of two classes
    the first is left out: it is 1 minus the other. `passthrough` adds the columns of the table, which must be numbers.
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
            raise InputError(f"final must be an estimator, got {final!r}.", "pass one, or None for the usual.")
        predictions = info.out_of_fold(self.cv)
        columns = self._columns(predictions, data.X)
        model = with_seeds(final, info.seed)
        model.fit(columns, data.y, **weight_params(model, data.weights))
        if not isinstance(data.target, Labels):
            return StackingRule(self, model, None)
        return StackingRule(self, model, class_indices_among(model.classes_, data.target.classes))

    def _columns(self, predictions: MemberPredictions, X: Any) -> Any:
        """What the final learner sees of each row."""
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
                f"passthrough=True hands the columns to `final`, which must be numbers; {error}.",
                "leave it out, or let each member prepare its own columns in a pipeline and stack these.",
            ) from error
        return np.hstack([found, cells])


@dataclass(frozen=True)
class StackingRule:
    """The final learner, fitted."""

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
    """The answers of all members side by side."""
    if predictions.values is not None:
        return np.ascontiguousarray(predictions.values.T)
    proba = predictions.proba
    if proba is None:
        proba = np.eye(predictions.n_classes)[predictions.labels()]
    if predictions.n_classes == 2:
        proba = proba[:, :, 1:]
    return np.ascontiguousarray(np.hstack(list(proba)))
