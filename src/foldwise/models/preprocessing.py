"""What models need done to columns, as scikit-learn transformers that are fitted in each fold.

`scaled` is for models of distances and weighted sums, `for_trees` for trees, `native` for boosted trees that
handle categories and missing values themselves, `as_frame` for our own estimators, which read tables.
"""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from foldwise.models.column_roles import Outline, Role
from foldwise.models.column_transformers import (
    MOST_CODES,
    CategoryCodes,
    DateParts,
    KeepColumns,
    NumberColumns,
    TextTfidf,
)
from foldwise.models.target_encoding import ClassRateEncoder

MOST_RATES = 10  # classes; with more, one column per class would crowd out the rest
DENSE_WORDS = 200


def scaled(outline: Outline, scale: str = "standard", n_words: int = 20_000) -> ColumnTransformer:
    """Impute numbers by the median with an indicator and scale them; encode categories one-hot and texts by TF-IDF.

    `scale` is "standard", or "minmax" for [0, 1]. The result is sparse if there are texts.
    """
    sparse = bool(outline.columns("text"))
    make = MinMaxScaler if scale == "minmax" else StandardScaler
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(NumberColumns(), imputer(), make()), outline.columns("number")),
        ("dates", make_pipeline(DateParts(), imputer(), make()), outline.columns("date")),
        ("categories", make_pipeline(CategoryCodes(most=100), one_hot(sparse)), outline.columns("category")),
        *((f"words{i}", TextTfidf(most=n_words), [name]) for i, name in enumerate(outline.columns("text"))),
    ]
    return together(parts, sparse)


def for_trees(outline: Outline, impute: bool = True) -> ColumnTransformer:
    """Impute numbers with an indicator, or not; encode few categories one-hot, many by class rates; count words."""
    rates = ClassRateEncoder() if 2 <= outline.n_classes <= MOST_RATES else imputer()
    filled = imputer() if impute else "passthrough"
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(NumberColumns(), filled), outline.columns("number")),
        ("dates", make_pipeline(DateParts(), filled), outline.columns("date")),
        ("few", make_pipeline(CategoryCodes(most=100), one_hot(False)), outline.few),
        ("many", make_pipeline(CategoryCodes(most=1000), rates), outline.many),
        *dense_words(outline),
    ]
    return together(parts)


def native(outline: Outline) -> ColumnTransformer:
    """Codes of categories first, then numbers; missing values and unknown categories are NaN."""
    parts: list[tuple[str, Any, list[str]]] = [
        ("categories", CategoryCodes(most=MOST_CODES, unseen="missing"), outline.columns("category")),
        ("numbers", NumberColumns(), outline.columns("number")),
        ("dates", DateParts(), outline.columns("date")),
        *dense_words(outline),
    ]
    return together(parts)


def as_frame(outline: Outline, *roles: Role) -> KeepColumns:
    """The columns of these roles as they are, dates as numbers beside them."""
    return KeepColumns(outline.columns(*roles), dates=outline.columns("date"))


def imputer() -> SimpleImputer:
    """The median for missing values, with an indicator column; 0 for a column without any value."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def one_hot(sparse: bool) -> OneHotEncoder:
    """One column per code, missing values included; an unknown code gives zeros."""
    return OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)


def dense_words(outline: Outline) -> list[tuple[str, Any, list[str]]]:
    texts = enumerate(outline.columns("text"))
    return [(f"words{i}", TextTfidf(most=DENSE_WORDS, dense=True), [name]) for i, name in texts]


def together(parts: list[tuple[str, Any, list[str]]], sparse: bool = False) -> ColumnTransformer:
    """One transformer of those that have columns; always sparse or always dense, whatever a fold holds."""
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=1.0 if sparse else 0.0)
