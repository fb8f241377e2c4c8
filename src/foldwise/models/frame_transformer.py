"""`FrameTransformer`: base of the transformers that take the columns of a frame as they are."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, TransformerMixin


class FrameTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of columns that may contain missing cells, text and categories."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags
