"""Prepare columns for models, with scikit-learn transformers that are fitted in each fold.

Use `scaled` for models of distances and weighted sums, `for_trees` for trees, `native` for boosted trees that handle
categories and missing values themselves, and `as_frame` for estimators of Foldwise, which read tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from foldwise.models.column_roles import Outline, Role
from foldwise.models.column_transformers import (
    MOST_CODES,
    CategoryCodes,
    KeepColumns,
    NumberColumns,
    TextTfidf,
)
from foldwise.models.date_features import PLAIN_PARTS, SMOOTH_PARTS, DateFeatures
from foldwise.models.target_encoding import ClassRateEncoder, MeanEncoder

MOST_RATES = 10  # classes; with more, rates would outnumber all other columns
DENSE_WORDS = 200


def scaled(outline: Outline, scale: str = "standard", n_words: int = 20_000, fill: str = "median") -> ColumnTransformer:
    """Impute and scale numbers, and encode categories one-hot and texts by TF-IDF.

    Imputed numbers get an indicator column. The result is sparse if there are texts.

    Parameters
    ----------
    outline : Outline
        The columns and their roles.
    scale : {"standard", "minmax"}
        Scale to mean 0 and variance 1 (default), or to the range from 0 to 1.
    n_words : int
        Largest number of words per text column.
    fill : {"median", "mean"}
        What replaces missing numbers. Means are sums over rows, to which new rows can be added.

    Returns
    -------
    ColumnTransformer
        The unfitted transformer.

    Examples
    --------
    >>> from foldwise import read_table
    >>> from foldwise.models import outline
    >>> table = read_table("examples/weather.csv", target="play")
    >>> scaled(outline(table)).fit_transform(table.X).shape
    (14, 7)
    """
    sparse = bool(outline.columns("text"))
    make = MinMaxScaler if scale == "minmax" else StandardScaler
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(NumberColumns(), imputer(fill), make()), outline.columns("number")),
        ("dates", make_pipeline(date_features(outline, SMOOTH_PARTS), imputer(fill), make()), outline.columns("date")),
        ("categories", make_pipeline(CategoryCodes(most=100), one_hot(sparse)), outline.columns("category")),
        *((f"words{i}", TextTfidf(most=n_words), [name]) for i, name in enumerate(outline.columns("text"))),
    ]
    return together(parts, sparse)


def for_trees(outline: Outline, impute: bool = True) -> ColumnTransformer:
    """Impute numbers; encode few categories one-hot, many by class rates or means of the target, and texts by TF-IDF.

    Parameters
    ----------
    outline : Outline
        The columns and their roles.
    impute : bool
        Whether missing numbers are replaced by the median, with an indicator column (default), or stay NaN.

    Returns
    -------
    ColumnTransformer
        The unfitted transformer.

    Examples
    --------
    >>> from foldwise import read_table
    >>> from foldwise.models import outline
    >>> table = read_table("examples/weather.csv", target="play")
    >>> for_trees(outline(table)).fit_transform(table.X, table.y)[0].tolist()
    [85.0, 85.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    """
    rates: Any = MeanEncoder() if outline.target is not None else imputer()
    if 2 <= outline.n_classes <= MOST_RATES:
        rates = ClassRateEncoder()
    filled = imputer() if impute else "passthrough"
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(NumberColumns(), filled), outline.columns("number")),
        ("dates", make_pipeline(date_features(outline), filled), outline.columns("date")),
        ("few", make_pipeline(CategoryCodes(most=100), one_hot(False)), outline.few),
        ("many", make_pipeline(CategoryCodes(most=1000), rates), outline.many),
        *dense_words(outline),
    ]
    return together(parts)


def native(outline: Outline) -> ColumnTransformer:
    """Encode categories as codes, followed by numbers; missing values and unknown categories are NaN.

    Parameters
    ----------
    outline : Outline
        The columns and their roles.

    Returns
    -------
    ColumnTransformer
        The unfitted transformer.

    Examples
    --------
    >>> from foldwise import read_table
    >>> from foldwise.models import outline
    >>> table = read_table("examples/weather.csv", target="play")
    >>> native(outline(table)).fit_transform(table.X)[0].tolist()
    [1.0, 0.0, 85.0, 85.0]
    """
    parts: list[tuple[str, Any, list[str]]] = [
        ("categories", CategoryCodes(most=MOST_CODES, unseen="missing"), outline.columns("category")),
        ("numbers", NumberColumns(), outline.columns("number")),
        ("dates", date_features(outline), outline.columns("date")),
        *dense_words(outline),
    ]
    return together(parts)


def as_frame(outline: Outline, *roles: Role, parts: Sequence[str] = PLAIN_PARTS) -> KeepColumns:
    """Select the columns of some roles without changing them, and convert dates to numbers.

    Parameters
    ----------
    outline : Outline
        The columns and their roles.
    *roles : str
        The roles to select: "number", "category" or "text".
    parts : list of str
        The numbers that dates become, as in `DateFeatures`.

    Returns
    -------
    transformer
        The unfitted transformer, which returns a frame.

    Examples
    --------
    >>> from foldwise import read_table
    >>> from foldwise.models import outline
    >>> table = read_table("examples/weather.csv", target="play")
    >>> as_frame(outline(table), "number").fit_transform(table.X).columns
    ['temperature', 'humidity']
    """
    dates, formats = outline.columns("date"), dict(outline.date_formats)
    return KeepColumns(outline.columns(*roles), dates=dates, parts=parts, formats=formats, days=days_of(outline))


def date_features(outline: Outline, parts: Sequence[str] = PLAIN_PARTS) -> DateFeatures:
    """Convert dates to numbers, with the formats of text columns that were found in the whole table."""
    return DateFeatures(parts=parts, formats=dict(outline.date_formats), days=days_of(outline))


def days_of(outline: Outline) -> list[str]:
    """The columns whose time of day is not used, decided by the whole table: all folds have the same features."""
    return [name for name, shape in outline.date_shapes.items() if shape == "date"]


def imputer(fill: str = "median") -> SimpleImputer:
    """Impute the median or the mean with an indicator column, and 0 for a column without any value."""
    return SimpleImputer(strategy=fill, add_indicator=True, keep_empty_features=True)


def one_hot(sparse: bool) -> OneHotEncoder:
    """Encode one column per code, missing values included; an unknown code gives zeros."""
    return OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)


def dense_words(outline: Outline) -> list[tuple[str, Any, list[str]]]:
    texts = enumerate(outline.columns("text"))
    return [(f"words{i}", TextTfidf(most=DENSE_WORDS, dense=True), [name]) for i, name in texts]


def together(parts: list[tuple[str, Any, list[str]]], sparse: bool = False) -> ColumnTransformer:
    """Combine the transformers that have columns; the result is sparse or dense in all folds alike."""
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=1.0 if sparse else 0.0)
