"""`TableEncoder`: how the catalog prepares columns, as a transformer for any scikit-learn model.

The roles of columns and everything else are learned from the rows passed to `fit`, so from training rows only if the
encoder is the first step of a pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from foldwise.data.arguments import one_of
from foldwise.data.frames import as_polars
from foldwise.data.schema import Schema, listing
from foldwise.data.table import Table
from foldwise.data.target import encode_target, number_target, refuse_several, task_of
from foldwise.data.validation import validate_table
from foldwise.data.view import frame_of, view_of_frame
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.models.column_roles import ROLES, Outline, TargetScale, column_roles, date_columns
from foldwise.models.column_transformers import CategoryCodes, TextTfidf
from foldwise.models.date_features import DateFeatures
from foldwise.models.frame_transformer import FrameTransformer
from foldwise.models.preprocessing import for_trees, native, scaled
from foldwise.models.target_encoding import ClassRateEncoder, MeanEncoder

MOST_CELLS = 1 << 27  # of a frame made of a sparse matrix: 1 GB
ENCODINGS = ("scaled", "trees", "codes")
KINDS = {"number": "numeric", "category": "categorical", "date": "date"}  # of declared columns


class TableEncoder(FrameTransformer):
    """Turn a table of any columns into numbers, as the models of the catalog do.

    Columns may contain numbers, categories, dates and texts, with missing cells. Put the encoder in front of a
    scikit-learn model with `make_pipeline`, and the pipeline takes a mixed frame.

    Parameters
    ----------
    encoding : {"scaled", "trees", "codes"}, default "scaled"
        "scaled", for linear models, distances and networks: numbers are imputed by the median, with an indicator
        column, and standardized; categories become one column per level. "trees": numbers are only imputed; categories
        with more than 12 levels become smoothed class rates, or means of a quantity, if `fit` is passed y. "codes", for
        models that accept missing values and codes of categories, such as histogram gradient boosting: categories
        become codes in the order of frequency, before all other columns; missing cells stay NaN. Texts become TF-IDF
        values of words, and dates become numbers, in all three.
    roles : mapping of str to str, default None
        Columns whose role you know better: "number", "category", "text", "date" or "drop". A column of an array is
        called x0, x1, …
    n_words : int, default 20000
        Largest number of words per text column with `encoding="scaled"`. The result is a sparse matrix if there are
        texts, and dense if `set_output` asks for frames.

    Attributes
    ----------
    roles_ : dict of str to str
        The role of each column that is used.
    left_out_ : dict of str to str
        Columns that are not used, with the reason: they identify rows, are the same in every row, or were dropped by
        `roles`.
    transformer_ : ColumnTransformer
        The fitted transformers of scikit-learn and Foldwise.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray
        Names of the columns seen during `fit`. Defined only if X has column names that are all strings.

    Notes
    -----
    A category that `fit` has not seen becomes zeros ("scaled", and "trees" for few levels), the rates of all rows
    ("trees" for many levels) or NaN ("codes"). With "trees", `fit_transform` encodes each of five folds by the rates of
    the others, so that a rare category does not reveal its own label.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from foldwise import TableEncoder
    >>> X = pl.DataFrame({"outlook": ["sunny", "rainy", None, "rainy"], "humidity": [85.0, 70.0, 90.0, None]})
    >>> TableEncoder().fit(X).get_feature_names_out().tolist()
    ['humidity', 'humidity_missing', 'outlook_rainy', 'outlook_sunny', 'outlook_missing']
    >>> model = make_pipeline(TableEncoder(), LogisticRegression()).fit(X, ["no", "yes", "no", "yes"])
    >>> model.predict(pl.DataFrame({"outlook": ["snow"], "humidity": [65.0]}))
    array(['yes'], dtype='<U3')
    """

    roles_: dict[str, str]
    left_out_: dict[str, str]
    transformer_: ColumnTransformer
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self, encoding: str = "scaled", *, roles: Mapping[str, str] | None = None, n_words: int = 20_000
    ) -> None:
        self.encoding = encoding
        self.roles = roles
        self.n_words = n_words

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the roles of columns, categories, medians, scales and words.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Training rows.
        y : array-like of shape (n_rows,), default None
            The target. Only `encoding="trees"` uses it.

        Returns
        -------
        TableEncoder
            The fitted transformer itself.
        """
        self._learn(X, y, encode=False)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and encode the same rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Training rows.
        y : array-like of shape (n_rows,), default None
            The target. Only `encoding="trees"` uses it.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_features_out)
            The encoded rows.
        """
        return self._learn(X, y, encode=True)

    def transform(self, X: Any) -> Any:
        """Encode rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_features_out)
            The encoded rows.
        """
        check_is_fitted(self)
        validate_table(self, X, tuple(self._names))
        with config_context(transform_output="default"):
            found = self.transformer_.transform(as_polars(X))
        return self._for_output(found)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Name the encoded columns after the columns and levels that they come from.

        Parameters
        ----------
        input_features : array-like of str, default None
            Accepted for compatibility; it must name the columns seen during `fit`.

        Returns
        -------
        ndarray of str
            One name per column of the result.
        """
        check_is_fitted(self)
        if input_features is not None and list(map(str, input_features)) != list(self._names):
            raise ValueError("input_features is not equal to feature_names_in_")
        found: list[str] = []
        for part, transformer, columns in self.transformer_.transformers_:
            if part != "remainder" and len(columns):
                found += names_out(transformer, [str(name) for name in columns], self._classes)
        return np.array(distinct(found), dtype=object)

    def _learn(self, X: Any, y: Any, *, encode: bool) -> Any:
        one_of("encoding", self.encoding, ENCODINGS)
        if sp.issparse(X):
            raise FoldwiseTypeError(
                "X must be a frame or a dense array, but is a sparse matrix.",
                "pass it to the model directly: its columns are already numbers.",
            )
        validate_table(self, X, None)
        frame = as_polars(X)
        about = self._outline(frame, y)
        self.roles_, self.left_out_ = dict(about.roles), dict(about.left_out)
        self._names = tuple(frame.columns)
        make = {"scaled": lambda: scaled(about, n_words=self.n_words), "trees": lambda: for_trees(about)}
        self.transformer_ = make.get(self.encoding, lambda: native(about))()
        with config_context(transform_output="default"):
            if encode:
                found = self.transformer_.fit_transform(frame, y)
            else:
                self.transformer_.fit(frame, y)
        return self._for_output(found) if encode else None

    def _for_output(self, found: Any) -> Any:
        """Return a dense array if `set_output` wants a frame, which cannot hold a sparse matrix."""
        configured = getattr(self, "_sklearn_output_config", {}).get("transform")
        if not sp.issparse(found) or (configured or get_config()["transform_output"]) == "default":
            return found
        matrix: Any = found  # scipy's type is an abstract base
        n_rows, n_columns = matrix.shape
        if n_rows * n_columns > MOST_CELLS:
            texts = [name for name, role in self.roles_.items() if role == "text"]
            raise InputError(
                f"a frame of {n_rows:,} rows and {n_columns:,} columns would take {n_rows * n_columns * 8 / 1e9:.1f} "
                f"GB, because the texts of {listing(texts)} have many words.",
                f"keep the sparse matrix with set_output(transform='default'), lower n_words, or pass "
                f"roles={{{texts[0]!r}: 'drop'}}.",
            )
        return matrix.toarray()

    def _outline(self, frame: pl.DataFrame, y: Any) -> Outline:
        """Decide the roles of the columns, without looking at the target."""
        given = {} if self.roles is None else {str(name): role for name, role in dict(self.roles).items()}
        for name, role in given.items():
            if name not in frame.columns:
                raise InputError(f"roles names column {name!r}, which X does not have.", "remove it from roles.")
            one_of(f"roles[{name!r}]", role, (*ROLES, "drop"))
        kept = frame.select(name for name in frame.columns if given.get(name) != "drop")
        declared = {name: KINDS[role] for name, role in given.items() if role in KINDS}
        table = Table(kept, None, Schema(view_of_frame(frame_of(kept)).columns), "X", declared=declared)
        found, left_out = column_roles(table)
        roles: dict[str, Any] = {name: given.get(name, role) for name, role in found.items()}
        n_levels = {name: kept[name].n_unique() for name, role in roles.items() if role == "category"}
        dropped = {name: "roles drops it" for name in frame.columns if name not in kept.columns}
        classes, target = self._target(frame.height, y)
        self._classes = tuple(classes)
        left_out |= dropped
        dates = date_columns(table, roles)
        return Outline(roles, left_out, frame.height, len(classes), n_levels, False, target, *dates)

    def _target(self, n_rows: int, y: Any) -> tuple[list[str], TargetScale | None]:
        """The classes of the target, or the range of a quantity; neither if the encoding does not use it."""
        if y is None or self.encoding != "trees":
            return [], None
        refuse_several(y)
        if task_of(y) == "regression":
            return [], TargetScale.of(number_target(y, n_rows))
        return [str(one) for one in encode_target(y, n_rows).classes], None


def names_out(transformer: Any, names: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Name the columns that a transformer makes from columns of these names."""
    if isinstance(transformer, Pipeline):
        steps = [step for _, step in transformer.steps]
        if isinstance(steps[-1], OneHotEncoder):
            return level_names(steps[0], steps[-1], names)
        found = list(names)
        for step in steps:
            found = names_out(step, found, classes)
        return found
    if isinstance(transformer, SimpleImputer):
        return [*names, *(f"{names[j]}_missing" for j in transformer.indicator_.features_)]
    if isinstance(transformer, ClassRateEncoder):
        return [f"{name}_rate of {one}" for name in names for one in classes[1:]]
    if isinstance(transformer, MeanEncoder):
        return [f"{name}_mean" for name in names]
    if isinstance(transformer, TextTfidf):
        return [f"{names[0]}_{word}" for word in transformer.words_.split("\n")]
    if isinstance(transformer, DateFeatures):
        return [str(name) for name in transformer.get_feature_names_out()]
    return list(names)  # codes, numbers and scalers


def level_names(codes: CategoryCodes, one_hot: OneHotEncoder, names: Sequence[str]) -> list[str]:
    """Name one column per level; rarer levels share one, and missing cells have one of their own."""
    found = []
    for name, levels, values in zip(names, codes.levels_, one_hot.categories_, strict=True):
        for value in values:
            if np.isnan(value):
                text = "missing"
            else:
                text = str(levels[int(value)]) if 0 <= value < len(levels) else "other" if levels else "empty"
            found.append(f"{name}_{text}")
    return found


def distinct(names: Sequence[str]) -> list[str]:
    """Number names that occur more than once."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return found
