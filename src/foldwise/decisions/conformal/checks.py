"""What `Conformal` refuses, and what it warns of: too few calibration rows, rare classes, ties."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from foldwise.data.arguments import check_jobs, one_of, shown, whole_at_least
from foldwise.data.schema import listing
from foldwise.decisions.conformal.interval_scores import NOTABLE_TIES
from foldwise.decisions.conformal.levels import SLACK, least_rows, rank_of
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, InputError

METHODS = ("cross", "split", "cv+", "jackknife+")
VALUE_SCORES = ("auto", "absolute", "normalized", "quantile")
CLASS_SCORES = ("auto", "lac", "aps")


def check_parameters(model: Any) -> None:
    """Refuse parameters of `Conformal` that contradict each other."""
    one_of("method", model.method, METHODS)
    check_jobs(model.n_jobs)
    whole_at_least("random_state", model.random_state, 0)
    if isinstance(model.estimator, type) or not hasattr(model.estimator, "fit"):
        raise FoldwiseTypeError(
            f"estimator of Conformal must be a regressor or a classifier, got {shown(model.estimator)}.",
            "pass an instance, such as Ridge() or NaiveBayes().",
        )
    keeps = model.method in ("cv+", "jackknife+")
    if is_classifier(model.estimator):
        one_of("conformity", model.conformity, CLASS_SCORES)
        if keeps:
            raise InputError(
                f"method={model.method!r} is for regression, but {type(model.estimator).__name__} is a classifier.",
                "use method='cross' or 'split'.",
            )
        return
    if not is_regressor(model.estimator):
        raise InputError(
            f"estimator of Conformal must be a regressor or a classifier, got {type(model.estimator).__name__}.",
            "pass a model that predicts a target.",
        )
    one_of("conformity", model.conformity, VALUE_SCORES)
    if model.by_class:
        raise InputError(
            "by_class=True needs classes, but the estimator is a regressor.", "leave it out, or pass a classifier."
        )
    if keeps and model.conformity not in ("auto", "absolute"):
        raise InputError(
            f"method={model.method!r} supports conformity='absolute' only, got {model.conformity!r}.",
            "use method='cross' or 'split'.",
        )


def warn_of_few_scores(coverage: float, n_scores: int, classes: bool) -> None:
    """Warn that intervals are infinite, or that sets contain everything."""
    least = least_rows(coverage)
    what = "every set contains all classes" if classes else "all intervals are infinite"
    warnings.warn(
        f"coverage={coverage:g} needs at least {least} calibration rows, but there are {n_scores}, so {what}. Pass "
        "more rows, or a lower coverage.",
        FoldwiseWarning,
        stacklevel=4,
    )


def warn_of_rare_classes(coverage: float, rare: Sequence[str]) -> None:
    """Warn that sets always contain some classes."""
    one = len(rare) == 1
    warnings.warn(
        f"coverage={coverage:g} by class needs at least {least_rows(coverage)} calibration rows of each class. "
        f"{listing(rare)} {'has' if one else 'have'} fewer, so every set contains {'it' if one else 'them'}. Pass more "
        "rows, or a lower coverage.",
        FoldwiseWarning,
        stacklevel=4,
    )


def warn_of_ties(ordered: NDArray[np.float64], quantile: float, coverage: float, classes: bool) -> None:
    """Warn if equal scores make intervals or sets cover notably more than requested."""
    first, last = np.searchsorted(ordered, [quantile - SLACK, quantile + SLACK]) / len(ordered)
    if last - rank_of(coverage, len(ordered)) / len(ordered) <= NOTABLE_TIES:
        return
    warnings.warn(
        f"{100 * (last - first):.0f}% of the calibration scores are equal, because targets or predictions have ties. "
        f"{'Sets' if classes else 'Intervals'} therefore cover about {100 * last:.0f}% of rows instead of "
        f"{100 * coverage:g}%.",
        FoldwiseWarning,
        stacklevel=3,
    )
