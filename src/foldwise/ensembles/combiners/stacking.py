"""Stacking (Wolpert 1992): a learner of its own makes one answer out of what members say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, RidgeCV

from foldwise.data.arguments import one_of
from foldwise.data.view import is_frame
from foldwise.ensembles.members import places_among, with_seeds
from foldwise.ensembles.protocol import Combiner, Floats, Learning, Panel, Rule
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels
from foldwise.folds.weights import weight_params


@dataclass(repr=False, eq=False)
class Stacking(Combiner):
    """`final` learns from the out-of-fold answers of members; by default logistic regression, of values ridge.

    `use` is "auto" (probabilities if all members have them), "proba" or "labels" (one column a class). Of two classes
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

    def learn(self, learning: Learning) -> Rule:
        one_of("use", self.use, ["auto", "proba", "labels"])
        task = learning.task
        final = self.final
        if final is None:
            final = LogisticRegression() if task.n_classes else RidgeCV()
        if not hasattr(final, "fit"):
            raise InputError(f"final must be an estimator, got {final!r}.", "pass one, or None for the usual.")
        panel = learning.panels.out_of_fold(self.cv)
        columns = self._columns(panel, task.X)
        model = with_seeds(final, learning.seed)
        model.fit(columns, task.y, **weight_params(model, task.weights))
        if not isinstance(task.target, Labels):
            return Stacked(self, model, None)
        return Stacked(self, model, places_among(model.classes_, task.target.classes))

    def _columns(self, panel: Panel, X: Any) -> Any:
        """What the final learner sees of each row."""
        found: Any = features_of(panel)
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
class Stacked:
    """The final learner, fitted."""

    combiner: Stacking
    model: Any
    places: NDArray[np.intp] | None

    def __call__(self, panel: Panel, X: Any) -> Floats:
        columns = self.combiner._columns(panel, X)
        if self.places is None:
            return np.asarray(self.model.predict(columns), dtype=np.float64).reshape(-1)
        found = np.zeros((columns.shape[0], panel.n_classes))
        if hasattr(self.model, "predict_proba"):
            found[:, self.places] = self.model.predict_proba(columns)
        else:
            said = np.searchsorted(self.model.classes_, self.model.predict(columns))
            found[np.arange(len(found)), self.places[said]] = 1.0
        return found


def features_of(panel: Panel) -> Floats:  # (rows, columns)
    """The answers of all members side by side."""
    if panel.values is not None:
        return np.ascontiguousarray(panel.values.T)
    proba = panel.proba
    if proba is None:
        proba = np.eye(panel.n_classes)[panel.as_labels()]
    if panel.n_classes == 2:
        proba = proba[:, :, 1:]
    return np.ascontiguousarray(np.hstack(list(proba)))
