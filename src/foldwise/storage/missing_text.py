"""Missing cells of text in stored models: None, as in the tables that a stored model passes on.

In a frame of pandas a missing text is NaN. An encoder or imputer that was fitted on it does not know None.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from foldwise.storage.encoded_parts import walk


def with_none_for_missing(model: Any) -> Any:
    """Return the model, or a copy whose encoders and imputers of text take None for a missing cell."""
    if not any(is_of_nan(value) for value in walk(model)):
        return model
    model = copy.deepcopy(model)
    for value in walk(model):
        if not is_of_nan(value):
            continue
        if hasattr(value, "categories_"):
            value.categories_ = [categories_with_none(one) for one in value.categories_]
        else:
            value.missing_values = None
            if value.indicator_ is not None:
                value.indicator_.missing_values = None
    return model


def is_of_nan(step: Any) -> bool:
    """Whether it is an encoder or an imputer of scikit-learn that takes NaN for a missing text."""
    if not type(step).__module__.startswith("sklearn."):
        return False
    if type(step).__name__ == "SimpleImputer" and hasattr(step, "statistics_"):
        return is_nan(step.missing_values) and any(isinstance(one, str) for one in step.statistics_.tolist())
    return any(ends_with_nan(one) for one in getattr(step, "categories_", ()))


def ends_with_nan(categories: Any) -> bool:
    """Whether categories of text end with NaN, where encoders put it."""
    return bool(categories.dtype == object and len(categories) and is_nan(categories[-1]))


def categories_with_none(categories: Any) -> Any:
    if not ends_with_nan(categories):
        return categories
    return np.array([*categories[:-1], None], dtype=object)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value
