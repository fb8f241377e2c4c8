"""What families need done to columns before they can learn, as scikit-learn transformers that are fitted in each fold.

`scaled` is for models of distances and sums, `for_trees` for trees of thresholds, `native` for boosted trees that know
categories and missing cells themselves, `as_frame` for our own estimators, which read tables.
"""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from foldwise.models.rates import ClassRates
from foldwise.models.readers import MOST_CODES, Codes, Dates, KeepColumns, Numbers, Words
from foldwise.models.roles import Outline, Role

MOST_RATES = 10  # classes; with more, one column of shares a class would crowd out the rest
DENSE_WORDS = 200


def scaled(outline: Outline, scale: str = "standard", n_words: int = 20_000) -> ColumnTransformer:
    """Numbers imputed by the median with a mark, and scaled ("standard", or "minmax" to [0, 1]); categories one-hot;
    texts as TF-IDF, in which case all is sparse.
    """
    sparse = bool(outline.columns("text"))
    make = MinMaxScaler if scale == "minmax" else StandardScaler
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(Numbers(), imputer(), make()), outline.columns("number")),
        ("dates", make_pipeline(Dates(), imputer(), make()), outline.columns("date")),
        ("categories", make_pipeline(Codes(most=100), one_hot(sparse)), outline.columns("category")),
        *((f"words{i}", Words(most=n_words), [name]) for i, name in enumerate(outline.columns("text"))),
    ]
    return together(parts, sparse)


def for_trees(outline: Outline, impute: bool = True) -> ColumnTransformer:
    """Numbers imputed with a mark, or not; few categories one-hot, many as shares of classes; words of texts."""
    rates = ClassRates() if 2 <= outline.n_classes <= MOST_RATES else imputer()
    filled = imputer() if impute else "passthrough"
    parts: list[tuple[str, Any, list[str]]] = [
        ("numbers", make_pipeline(Numbers(), filled), outline.columns("number")),
        ("dates", make_pipeline(Dates(), filled), outline.columns("date")),
        ("few", make_pipeline(Codes(most=100), one_hot(False)), outline.few),
        ("many", make_pipeline(Codes(most=1000), rates), outline.many),
        *dense_words(outline),
    ]
    return together(parts)


def native(outline: Outline) -> ColumnTransformer:
    """Codes of categories first, then numbers; missing cells stay NaN, and so does a category that was not learned."""
    parts: list[tuple[str, Any, list[str]]] = [
        ("categories", Codes(most=MOST_CODES, unseen="missing"), outline.columns("category")),
        ("numbers", Numbers(), outline.columns("number")),
        ("dates", Dates(), outline.columns("date")),
        *dense_words(outline),
    ]
    return together(parts)


def as_frame(outline: Outline, *roles: Role) -> KeepColumns:
    """The columns of these roles as they are, dates as numbers beside them."""
    return KeepColumns(outline.columns(*roles), dates=outline.columns("date"))


def imputer() -> SimpleImputer:
    """The median for what is missing, a mark beside it, and 0 for a column without a cell."""
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def one_hot(sparse: bool) -> OneHotEncoder:
    """One column a code, missing cells included; an unknown code has none."""
    return OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)


def dense_words(outline: Outline) -> list[tuple[str, Any, list[str]]]:
    texts = enumerate(outline.columns("text"))
    return [(f"words{i}", Words(most=DENSE_WORDS, dense=True), [name]) for i, name in texts]


def together(parts: list[tuple[str, Any, list[str]]], sparse: bool = False) -> ColumnTransformer:
    """One transformer of those that have columns; sparse or not for good, whatever a fold's cells are."""
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=1.0 if sparse else 0.0)
