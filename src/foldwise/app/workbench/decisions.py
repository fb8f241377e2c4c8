"""Decisions at every threshold for one class, counted on held-out rows, so that the page only adds. Runs in a worker.

A row is predicted as the chosen class if the probability of that class is at least the threshold, and otherwise as the
most probable other class.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.run_folder import HELD_OUT, current, read_facts
from foldwise.app.workbench.held_out_rows import read_held_out
from foldwise.report.facts import ReportFacts

STEPS = 1000  # thresholds between 0 and 1
STEPS_OF_MANY = 200  # for more than two classes, whose counts are larger
MOST_SHOWN = 10  # classes of a matrix; more are shown as the chosen one and the others together
OTHERS = "any other class"


def decision_facts(folder: str, of: str = "") -> dict[str, Any] | None:
    """What the page needs to decide by the probability of the class `of`; None for a quantity.

    `cells` counts the rows: each has a true label, the most probable label other than the chosen one, the number of the
    highest threshold that its probability reaches, and a weight. Labels are indices, and the chosen class is 0.
    """
    facts, path = ReportFacts(read_facts(Path(folder))), current(Path(folder), HELD_OUT)
    classes = facts.part("task").texts("classes")
    if len(classes) < 2 or not path.is_file():
        return None
    k = chosen_class(classes, of or facts.part("task").text("positive"))
    names = [f"probability_{j}" for j in range(len(classes))]
    frame = read_held_out(path, ["truth", *names])
    order = [k, *(j for j in range(len(classes)) if j != k)]
    proba = frame.select([names[j] for j in order]).to_numpy()
    truth = np.argsort(order)[frame["truth"].to_numpy()]
    other = 1 + proba[:, 1:].argmax(axis=1)
    labels, costs = [classes[j] for j in order], costs_of(facts, classes, order)
    if len(classes) > MOST_SHOWN:
        truth, other = np.minimum(truth, 1), np.ones_like(other)
        labels, costs = [classes[k], OTHERS], costs_of(ReportFacts(), classes[:2], [0, 1])
    steps = STEPS if len(classes) == 2 else STEPS_OF_MANY
    weights = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    return {
        "of": classes[k],
        "classes": classes,
        "labels": labels,
        "steps": steps,
        "cells": cells_of(truth, other, reached(proba[:, 0], steps), weights),
        "costs": costs,
        "weighted": "weight" in frame.columns,
    }


def chosen_class(classes: list[str], name: str) -> int:
    """The index of a class; without a known name, the second of two classes, or the first of many."""
    return classes.index(name) if name in classes else int(len(classes) == 2)


def reached(proba: NDArray[np.float64], steps: int) -> NDArray[np.intp]:
    """The number of the highest threshold that each probability reaches."""
    return np.searchsorted(np.arange(steps + 1) / steps, proba, side="right") - 1


def cells_of(
    truth: NDArray[np.intp], other: NDArray[np.intp], level: NDArray[np.intp], weights: NDArray[np.float64]
) -> list[list[float]]:
    """The weight of the rows that agree in their true label, their other label and their level."""
    found, where = np.unique(np.column_stack([truth, other, level]), axis=0, return_inverse=True)
    total = np.bincount(where.ravel(), weights=weights, minlength=len(found))
    return [[*map(int, cell), round(float(weight), 6)] for cell, weight in zip(found, total, strict=True)]


def costs_of(facts: ReportFacts, classes: list[str], order: list[int]) -> list[list[float]]:
    """Costs by decision and truth; an error costs 1 where the run had no costs, or decides about other actions."""
    costs = facts.part("task", "costs")
    actions = costs.texts("actions")
    matrix = costs.matrix("matrix", len(actions), len(classes)) if actions else []
    if not matrix or sorted(actions) != sorted(classes):
        return [[float(i != j) for j in order] for i in order]
    return [[matrix[actions.index(classes[i])][j] for j in order] for i in order]
