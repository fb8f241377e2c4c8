"""How well each of several answers does: metrics over a panel, one score a member; higher is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from foldwise.ensembles.protocol import Floats, Panel, Task
from foldwise.errors import InputError

Judge = Callable[[Panel, Task], Floats]
SMALLEST = float(np.finfo(np.float64).eps)  # what scikit-learn's log_loss clips at


def judge_of(metric: str | Callable[..., float] | None, regression: bool = False) -> Judge:
    """The judge of a name, or of a function from (y, answers) to a number.

    A function is given the labels and the (rows, classes) probabilities, or the values.
    """
    if metric is None:
        metric = "neg_mean_squared_error" if regression else "accuracy"
    if callable(metric):
        chosen = metric

        def by_function(panel: Panel, task: Task) -> Floats:
            return np.array([float(chosen(task.y, answers)) for answers in panel.answers])

        return by_function
    if metric not in JUDGES:
        raise InputError(f"there is no metric {metric!r} to choose members by.", f"one of {', '.join(JUDGES)}.")
    return JUDGES[metric]


def accuracy(panel: Panel, task: Task) -> Floats:
    return mean_over_rows(panel.as_labels() == task.coded, task)


def neg_log_loss(panel: Panel, task: Task) -> Floats:
    return mean_over_rows(np.log(np.maximum(true_probabilities(panel, task), SMALLEST)), task)


def neg_brier_score(panel: Panel, task: Task) -> Floats:
    assert panel.proba is not None
    gaps = panel.proba.copy()
    gaps[:, np.arange(task.n_rows), task.coded] -= 1.0
    return -mean_over_rows((gaps**2).sum(axis=2), task)


def neg_squared_error(panel: Panel, task: Task) -> Floats:
    assert panel.values is not None
    return -mean_over_rows((panel.values - task.coded) ** 2, task)


def neg_absolute_error(panel: Panel, task: Task) -> Floats:
    assert panel.values is not None
    return -mean_over_rows(np.abs(panel.values - task.coded), task)


def true_probabilities(panel: Panel, task: Task) -> Floats:  # (members, rows)
    if panel.proba is None:
        raise InputError("this metric reads probabilities, but members gave labels.", "choose metric='accuracy'.")
    return np.asarray(panel.proba[:, np.arange(task.n_rows), task.coded])


def mean_over_rows(scores: Any, task: Task) -> Floats:  # (members, rows) -> (members,)
    """The mean, by the weights of rows where there are any."""
    return np.asarray(np.average(scores, axis=1, weights=task.weights))


JUDGES: dict[str, Judge] = {
    "accuracy": accuracy,
    "neg_log_loss": neg_log_loss,
    "neg_brier_score": neg_brier_score,
    "neg_mean_squared_error": neg_squared_error,
    "neg_mean_absolute_error": neg_absolute_error,
}
