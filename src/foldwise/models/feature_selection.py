"""Feature selection before a model, learned in each fold: columns that do not help naive Bayes are set to missing."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.bayes import NaiveBayes
from foldwise.models.column_roles import Outline
from foldwise.tuning import SelectFeatures

FIRST_ROWS = 5_000  # enough to see whether a column helps
SHARES = (0.35, 0.7)
FOLDS = 3


class SelectInformative(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Select a share of some columns by forward selection with the log loss of naive Bayes.

    Columns that are not selected are set to missing instead of dropped, so that later steps find all their columns.
    """

    def __init__(self, columns: tuple[str, ...], *, share: float = 0.5) -> None:
        self.columns = columns
        self.share = share

    def fit(self, X: Any, y: Any) -> Self:
        """Select on at most 5,000 evenly spaced rows."""
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        rows = np.unique(np.linspace(0, len(frame) - 1, min(len(frame), FIRST_ROWS)).astype(np.intp))
        known = [name for name in self.columns if frame[name].null_count() < len(frame)]
        codes = np.unique(np.asarray(y)[rows], return_inverse=True)[1]
        counts = np.bincount(codes)
        # log loss needs every class in every fold: rows of rarer classes do not take part in the selection
        often = counts >= FOLDS
        if often.sum() < 2:
            support = np.ones(len(known), dtype=bool)
        else:
            taking_part = often[codes]
            some = frame.select(known)[rows[taking_part].tolist()].to_native()
            scorer = NaiveBayes(missing="category", unseen="smooth", var_floor=1e-3, n_jobs=1)
            number = max(1, round(self.share * len(known)))
            chosen = SelectFeatures(scorer, cv=FOLDS, scoring="neg_log_loss", n_features=number, audit=False)
            support = chosen.fit(some, np.asarray(y)[rows[taking_part]]).get_support()
        self.kept_ = [name for name, kept in zip(known, support.tolist(), strict=True) if kept]
        self.blank_ = [name for name in self.columns if name not in self.kept_]
        return self

    def transform(self, X: Any) -> Any:
        """Return the table with the columns that were not selected set to missing."""
        check_is_fitted(self)
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        return frame.with_columns(nw.lit(None).cast(frame.schema[name]).alias(name) for name in self.blank_).to_native()


def selections(outline: Outline) -> list[Any]:
    """Return the selections that a search tries: all columns, or the most informative 35% or 70%."""
    columns = tuple(outline.columns("number", "category"))
    some = [SelectInformative(columns, share=share) for share in SHARES]
    return ["passthrough", *(some if len(columns) > 2 else [])]
