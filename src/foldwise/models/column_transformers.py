"""Transformers for columns of any frame: numbers, codes of categories, words of texts, selected columns.

All of them accept missing values, unknown categories and columns without any value. They return plain arrays for
scikit-learn's transformers and estimators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Level
from foldwise.data.validation import check_width
from foldwise.data.view import View, view
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.models.date_features import PLAIN_PARTS, DateFeatures
from foldwise.models.frame_transformer import FrameTransformer

MAX_ABS = 1e30  # scikit-learn's trees sum cells in single precision
MOST_CODES = 250  # fits into boosted trees with 255 bins


def columns_view(X: Any) -> View:
    """Return the view of a frame or an array."""
    found = view(X)
    if not isinstance(found, View):
        raise FoldwiseTypeError("X must be a frame or a dense array, but is a sparse matrix.", "call X.toarray().")
    return found


class ColumnTransform(FrameTransformer):
    """Base of the transformers, which checks columns and stores their names like scikit-learn."""

    def _first_view(self, X: Any) -> View:
        table = columns_view(X)
        self.n_features_in_ = table.n_columns
        self.feature_names_in_ = np.array([column.name for column in table.columns], dtype=object)
        return table

    def _later_view(self, X: Any) -> View:
        check_is_fitted(self)
        table = columns_view(X)
        check_width(self, table.n_columns)
        return table


class NumberColumns(ColumnTransform):
    """Convert columns of numbers and booleans to float64, with NaN for missing cells.

    Infinite values become the smallest or largest finite number of the training rows. A column without any value in
    the training rows becomes 0, because some estimators fail on a column of missing values.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the range of each column."""
        cells = numbers_of(self._first_view(X))
        finite = np.isfinite(cells)
        self.seen_ = finite.any(axis=0)
        self.least_ = np.where(self.seen_, np.where(finite, cells, np.inf).min(axis=0, initial=np.inf), 0.0)
        self.greatest_ = np.where(self.seen_, np.where(finite, cells, -np.inf).max(axis=0, initial=-np.inf), 0.0)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the cells as float64."""
        cells = numbers_of(self._later_view(X))
        infinite = np.isinf(cells)
        if infinite.any():
            cells = np.where(infinite, np.where(cells > 0, self.greatest_, self.least_), cells)
        return np.where(self.seen_, np.clip(cells, -MAX_ABS, MAX_ABS), 0.0)


def numbers_of(table: View) -> Floats:
    """Copy all cells of a table to an array."""
    return np.array(table.numbers(range(table.n_columns)).chunk(0, table.n_rows).rows, dtype=np.float64)


class CategoryCodes(ColumnTransform):
    """Encode categories as codes from 0 on, the most frequent first, with NaN for missing cells.

    The `most` most frequent levels have codes of their own. Rarer levels and unknown categories share the next code. If
    a column has no rarer levels, an unknown category is -1, or NaN with `unseen="missing"`. A column without any value
    in the training rows becomes 0.
    """

    def __init__(self, *, most: int = 100, unseen: str = "own") -> None:
        self.most = most
        self.unseen = unseen

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the levels of each column."""
        table = self._first_view(X)
        self.levels_: list[list[Level]] = []
        self.has_rare_: list[bool] = []
        for j, source in enumerate(table.sources):
            levels = sort_levels(source.distinct(0, table.n_rows))
            counts = np.bincount(codes_of(table, j, levels), minlength=len(levels) + 2)[: len(levels)]
            order = np.argsort(-counts, kind="stable")
            self.levels_.append([levels[i] for i in order[: self.most]])
            self.has_rare_.append(len(levels) > self.most)
        return self

    def known_levels(self) -> dict[str, list[Level]]:
        """Return the levels of each column in which all have codes of their own; empty before the fit."""
        if not hasattr(self, "levels_"):
            return {}
        columns = zip(self.feature_names_in_, self.levels_, self.has_rare_, strict=True)
        return {str(name): levels for name, levels, has_rare in columns if not has_rare}

    def transform(self, X: Any) -> Floats:
        """Return the codes, as floats so that NaN is possible."""
        table = self._later_view(X)
        out = np.empty((table.n_rows, table.n_columns))
        nothing = np.nan if self.unseen == "missing" else -1.0
        for j, (levels, has_rare) in enumerate(zip(self.levels_, self.has_rare_, strict=True)):
            slots = np.array([*range(len(levels)), np.nan, len(levels) if has_rare else nothing])
            out[:, j] = slots[codes_of(table, j, levels)] if levels else 0.0
        return out


def codes_of(table: View, j: int, levels: Sequence[Level]) -> NDArray[np.int64]:
    """Return one column as codes: L for a missing value, L + 1 for an unknown one."""
    out = np.empty(table.n_rows, dtype=np.int64)
    table.sources[j].codes(levels)(0, table.n_rows, out)
    return out


class TextTfidf(ColumnTransform):
    """Encode a text column by TF-IDF of its `most` most frequent words; a missing text has no words."""

    def __init__(self, *, most: int = 20_000, dense: bool = False) -> None:
        self.most = most
        self.dense = dense

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the words and how rare they are."""
        texts = self._texts(self._first_view(X))
        found = TfidfVectorizer(max_features=self.most, sublinear_tf=True)
        # one string instead of the vectorizer, of which a saved model would store each word as an object
        self.words_, self.rarity_ = "", np.empty(0)
        try:
            found.fit(texts)
        except ValueError as error:
            if "empty vocabulary" not in str(error):  # a column without words is allowed
                raise
        else:
            self.words_, self.rarity_ = "\n".join(found.get_feature_names_out()), found.idf_
        return self

    def transform(self, X: Any) -> Any:
        """Return one column per word."""
        texts = self._texts(self._later_view(X))
        vectorizer = self._vectorizer()
        found = sp.csr_matrix((len(texts), 1)) if vectorizer is None else vectorizer.transform(texts)
        return found.toarray() if self.dense else found

    def _vectorizer(self) -> TfidfVectorizer | None:
        if not self.words_:
            return None
        found = TfidfVectorizer(vocabulary=self.words_.split("\n"), sublinear_tf=True)
        found.idf_ = self.rarity_
        return found

    def _texts(self, table: View) -> list[str]:
        if table.n_columns != 1:
            raise InputError(f"X must have one text column, but has {table.n_columns} columns.")
        texts: list[str] = table.sources[0].texts(0, table.n_rows).fill_null("").to_list()
        return texts


class KeepColumns(ColumnTransform):
    """Select columns of a frame and convert dates to numbers, for estimators that read tables themselves.

    Infinite values of float columns become the smallest or largest finite number of the training rows.
    """

    days: Sequence[str] | None = ()  # of models that earlier versions stored

    def __init__(
        self,
        columns: Sequence[str],
        *,
        dates: Sequence[str] = (),
        parts: Sequence[str] = PLAIN_PARTS,
        formats: Mapping[str, str] | None = None,
        days: Sequence[str] | None = None,
    ) -> None:
        self.columns = columns
        self.dates = dates
        self.parts = parts
        self.formats = formats
        self.days = days

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the range of numeric columns."""
        frame = self._select(X)
        self._first_view(frame.to_native())
        if self.dates:
            features = DateFeatures(parts=self.parts, formats=self.formats, days=self.days)
            self.date_features_ = features.fit(frame.select(self.dates).to_native())
        self.reach_: dict[str, list[float]] = {}
        for name in self.columns:
            if frame[name].dtype.is_float():
                cells = frame[name].to_numpy().astype(np.float64)
                cells = cells[np.isfinite(cells)]
                self.reach_[name] = [float(cells.min()), float(cells.max())] if cells.size else [0.0, 0.0]
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns in the requested order, and the parts of dates after them."""
        check_is_fitted(self)
        frame = self._select(X)
        changed = []
        for name, (least, greatest) in self.reach_.items():
            if frame[name].dtype.is_float():
                cells = frame[name].to_numpy().astype(np.float64)
                if np.isinf(cells).any():
                    cells = np.where(np.isinf(cells), np.where(cells > 0, greatest, least), cells)
                    changed.append(self._series(name, cells, frame))
        if self.dates:
            numbers = self.date_features_.transform(frame.select(self.dates).to_native())
            frame = frame.drop(self.dates)
            names = self.date_features_.get_feature_names_out()
            changed += [self._series(name, numbers[:, j], frame) for j, name in enumerate(names)]
        return (frame.with_columns(changed) if changed else frame).to_native()

    def _select(self, X: Any) -> nw.DataFrame[Any]:
        frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
        present = set(frame.columns)
        missing = [name for name in (*self.columns, *self.dates) if name not in present]
        if missing:
            raise InputError(f"X has no column {missing[0]!r}.", "pass the columns that the model was fitted on.")
        return frame.select([*self.columns, *self.dates])

    @staticmethod
    def _series(name: str, cells: Floats, frame: nw.DataFrame[Any]) -> nw.Series[Any]:
        return nw.new_series(name, cells, nw.Float64, backend=frame.implementation)


class CategoricalFrame(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Convert an array whose first columns are codes to a pandas frame whose types mark them as categories.

    `kind="integer"` converts them to integers with -1 for missing cells, for CatBoost; `kind="category"` to pandas
    categories, for LightGBM. Neither library accepts categories in an array.
    """

    def __init__(self, n_codes: int, *, kind: str = "integer", most: int = MOST_CODES + 1) -> None:
        self.n_codes = n_codes
        self.kind = kind
        self.most = most

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing but store the number of columns."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """Return the frame."""
        import pandas as pd

        codes = np.where(np.isnan(X[:, : self.n_codes]), -1, X[:, : self.n_codes]).astype(np.int64)
        columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        for j in range(self.n_codes):
            as_category = self.kind == "category"
            known = pd.CategoricalDtype(list(range(self.most)))
            columns[f"x{j}"] = pd.Categorical.from_codes(codes[:, j], dtype=known) if as_category else codes[:, j]
        return pd.DataFrame(columns)
