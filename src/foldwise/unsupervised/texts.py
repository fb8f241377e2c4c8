"""Turns text columns into numbers: the weights of their most frequent words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from foldwise.data.findings import Finding
from foldwise.errors import InputError
from foldwise.unsupervised.matrix import UNUSED

MOST_TERMS = 500
FEW_ROWS = 20  # with fewer, a word may occur in one row only


def texts_alone(found: Sequence[Finding]) -> tuple[str, ...]:
    """The text columns of a table that has fewer than two other columns of numbers or categories; else none."""
    if sum(one.kind not in UNUSED for one in found) >= 2:
        return ()
    return tuple(one.column for one in found if one.kind == "text")


def word_weights(
    frame: pl.DataFrame, columns: Sequence[str], purpose: str
) -> tuple[NDArray[np.float64], tuple[str, ...]]:  # (n, n_words)
    """TF-IDF weights of the most frequent words of text columns, and the words."""
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    for column in columns:
        texts = frame[column].cast(pl.String).fill_null("").to_list()
        least = 2 if len(texts) > FEW_ROWS else 1
        vectorizer = TfidfVectorizer(max_features=MOST_TERMS, min_df=least, sublinear_tf=True, stop_words="english")
        try:
            found = vectorizer.fit_transform(texts)
        except ValueError as error:  # no word is left
            raise InputError(
                f"{purpose} of texts need words that occur in several rows, but column {column!r} has none.",
                "pass a column of texts in natural language, or columns of numbers or categories.",
            ) from error
        parts.append(np.asarray(found.todense(), dtype=np.float64))
        words = vectorizer.get_feature_names_out().tolist()
        names += words if len(columns) == 1 else [f"{column}: {word}" for word in words]
    return np.concatenate(parts, axis=1), tuple(names)
