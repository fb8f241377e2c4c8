"""The name under which `fit` takes sample weights, also in pipelines."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from foldwise.errors import InputError


def weight_name(estimator: Any) -> str | None:
    """The name of the sample weights in `fit`, in a pipeline that of its last step; None without such an argument."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_name(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def weight_params(estimator: Any, sample_weight: Any) -> dict[str, Any]:
    """The sample weights as an argument of `fit`."""
    if sample_weight is None:
        return {}
    name = weight_name(estimator)
    if name is None:
        raise InputError(
            f"sample_weight was passed, but {type(estimator).__name__}.fit does not accept it.",
            "leave sample_weight out, or repeat rows instead.",
        )
    return {name: sample_weight}
