"""`METRICS`: all named metrics. Aliases, including the names of scikit-learn's scorers, are resolved here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any

from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix
from foldwise.evaluation.metrics.costs import cost_metric
from foldwise.evaluation.metrics.labels import accuracy, balanced_accuracy, hits, label_rate, matthews_correlation
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.metrics.probabilities import brier_losses, log_losses
from foldwise.evaluation.metrics.ranking import ordered_areas, roc_auc, roc_auc_one_vs_rest
from foldwise.evaluation.metrics.session import (
    all_classes_weigh,
    has_numeric_labels,
    knows_positive_class,
    proper_probabilities,
    same_two_classes,
    trained_on_both,
)
from foldwise.evaluation.metrics.values import ERROR, PINBALL, VALUE_METRICS, pinball_metric
from foldwise.evaluation.row_parts import accuracy_parts, area_parts, balanced_accuracy_parts
from foldwise.folds.protocol import Need
from foldwise.metric_names import METRICS_ELSEWHERE

UNIT = (0.0, 1.0)
AVERAGES = {
    "macro": ", mean over classes",
    "micro": " over all rows",
    "weighted": ", mean over classes weighted by their rows",
}


def label_rates(rate: str, title: str) -> list[Metric]:
    """Create precision, recall or F1 of the positive class, and its averages over classes."""
    scores = {name: partial(label_rate, rate=rate, average=name) for name in ("binary", *AVERAGES)}
    binary = Metric(
        *(rate, title, True, UNIT, Need.LABELS, rate),
        scores=scores["binary"],
        two_classes=True,
        plain=knows_positive_class,
    )
    averaged = [
        Metric(f"{rate}_{name}", title + words, True, UNIT, Need.LABELS, f"{rate}_{name}", scores=scores[name])
        for name, words in AVERAGES.items()
    ]
    return [binary, *averaged]


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            *("log_loss", "log loss", False, ERROR, Need.PROBA, "neg_log_loss"),
            row_scores=log_losses,
            plain=proper_probabilities,
        ),
        Metric(
            *("brier_score", "Brier score", False, (0.0, 2.0), Need.PROBA, "neg_brier_score"),
            row_scores=brier_losses,
            plain=has_numeric_labels,
        ),
        Metric(
            *("accuracy", "accuracy", True, UNIT, Need.LABELS, "accuracy"),
            row_scores=hits,
            scores=accuracy,
            single_rows=True,
            row_parts=accuracy_parts,
        ),
        Metric(
            *("balanced_accuracy", "balanced accuracy", True, UNIT, Need.LABELS, "balanced_accuracy"),
            scores=balanced_accuracy,
            row_parts=balanced_accuracy_parts,
        ),
        Metric(
            *("roc_auc", "area under the ROC curve", True, UNIT, Need.DECISION, "roc_auc"),
            scores=roc_auc,
            ranks=True,
            two_classes=True,
            plain=same_two_classes,
            order_scores=ordered_areas,
            row_parts=area_parts,
        ),
        Metric(
            *("roc_auc_ovr", "area under the ROC curve, mean over classes", True, UNIT, Need.PROBA, "roc_auc_ovr"),
            scores=roc_auc_one_vs_rest,
            ranks=True,
            plain=all_classes_weigh,
            row_parts=area_parts,
        ),
        Metric(
            *("roc_auc_ovr_weighted", "area under the ROC curve, mean over classes weighted by their rows", True),
            *(UNIT, Need.PROBA, "roc_auc_ovr_weighted"),
            scores=partial(roc_auc_one_vs_rest, by_weight=True),
            ranks=True,
            plain=all_classes_weigh,
            row_parts=partial(area_parts, by_weight=True),
        ),
        *label_rates("f1", "F1"),
        *label_rates("precision", "precision"),
        *label_rates("recall", "recall"),
        Metric(
            *("matthews_corrcoef", "Matthews correlation", True, (-1.0, 1.0), Need.LABELS, "matthews_corrcoef"),
            scores=matthews_correlation,
        ),
        *VALUE_METRICS,
    )
}

ALIASES = {
    **{metric.scorer: metric.name for metric in METRICS.values()},
    "auc": "roc_auc",
    "brier": "brier_score",
    "brier_score_loss": "brier_score",
    "rmse": "root_mean_squared_error",
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
}


def is_metric(name: str) -> bool:
    """Return whether a name or alias of a metric exists.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    bool
        Whether `find_metric` knows it.
    """
    return name in METRICS or name in ALIASES or quantile_of(name) is not None


def quantile_of(name: str) -> float | None:
    """Return the quantile in a name such as "pinball_loss_0.9"; None for other names."""
    start, _, number = name.rpartition("_")
    if start != PINBALL:
        return None
    try:
        return float(number)
    except ValueError:
        return None


def find_metric(name: str) -> Metric:
    """Look up a metric by its name or alias.

    Parameters
    ----------
    name : str
        Its own name ("log_loss"), that of scikit-learn's scorer ("neg_log_loss"), a short one ("auc", "rmse"), or a
        pinball loss with its quantile ("pinball_loss_0.9").

    Returns
    -------
    Metric
        The metric.
    """
    if not is_metric(name):
        raise InputError(f"unknown metric {name!r}.", f"use one of {', '.join(METRICS)}.")
    quantile = quantile_of(name)
    if quantile is not None:
        return pinball_metric(quantile)
    return METRICS[ALIASES.get(name, name)]


def class_metric(
    name: str | None, classes: NDArray[Any], costs: CostMatrix | None = None, positive: int | None = None
) -> Metric:
    """Look up a classification metric.

    Parameters
    ----------
    name : str or None
        Name or alias; None and "auto" mean the cost if costs are given, otherwise log loss. With more than two
        classes, "roc_auc" becomes "roc_auc_ovr", and metrics of the positive class such as "f1" are an error.
    classes : ndarray
        The classes in the order of their codes.
    costs : CostMatrix, default None
        Costs for the metric "cost".
    positive : int, default None
        Code of the positive class; None means the second of two.

    Returns
    -------
    Metric
        The metric.
    """
    if name in (None, "auto"):
        name = "log_loss" if costs is None else "cost"
    if name == "cost":
        if costs is None:
            raise InputError("the metric 'cost' needs costs.", "pass costs=.")
        return cost_metric(costs, classes)
    known = [one.name for one in METRICS.values() if one.task == "classification"]
    name = ALIASES.get(name, name)
    if name not in known:
        raise unknown_metric("classification", name, known if costs is None else [*known, "cost"])
    metric = METRICS[name]
    if not metric.two_classes:
        return metric
    if len(classes) == 2:
        if metric.ranks:  # the area under the curve is the same for both classes
            return metric
        of_class = partial(label_rate, rate=name, average="binary", positive=1 if positive is None else positive)
        return replace(metric, scores=of_class, plain=trained_on_both)
    if name == "roc_auc":
        return METRICS["roc_auc_ovr"]
    raise InputError(
        f"the metric {name!r} needs two classes, but there are {len(classes)} classes.",
        f"use '{name}_macro', the mean over classes.",
    )


def value_metric(name: str | None = None) -> Metric:
    """Look up a metric for predictions of a quantity.

    Parameters
    ----------
    name : str, optional
        Name or alias; None and "auto" mean the root mean squared error.

    Returns
    -------
    Metric
        The metric. Call its `check_target` with the true values before you use it.

    Examples
    --------
    >>> import numpy as np
    >>> value_metric("mae")(np.array([1.0, 2.0]), np.array([1.5, 2.5]))
    0.5
    """
    if name in (None, "auto"):
        name = "root_mean_squared_error"
    if is_metric(name) and find_metric(name).task == "regression":
        return find_metric(name)
    known = [one.name for one in METRICS.values() if one.task == "regression"]
    raise unknown_metric("regression", name, [*known, f"{PINBALL}_0.9"])


def unknown_metric(task: str, name: Any, known: Sequence[str]) -> InputError:
    """Return the error for an unknown metric, with the nearest name."""
    names = [*known, *(alias for alias, metric in ALIASES.items() if metric in known)]
    if isinstance(name, str) and is_metric(name) and find_metric(name).task != task:
        metric = find_metric(name)
        return InputError(
            f"{metric.title} is a {metric.task} metric, but the task is {task}.", f"use one of {', '.join(known)}."
        )
    return InputError(
        f"unknown {task} metric {name!r}.", f"{nearest_metric(name, names, 'use one of')} {', '.join(known)}."
    )


def nearest_metric(name: Any, names: Sequence[str], start: str) -> str:
    """Return the start of a hint, with the nearest name if there is one.

    >>> nearest_metric("ROC AUC", ["accuracy", "roc_auc"], "use")
    "did you mean 'roc_auc'? Use"
    """
    word = str(name).lower().replace("-", "_").replace(" ", "_")
    near = METRICS_ELSEWHERE.get(word) or next(iter(get_close_matches(word, names, 1, 0.6)), None)
    near = near if near is None or near in METRICS else ALIASES.get(near, near)
    return f"did you mean {near!r}? {start.capitalize()}" if near in names else start
