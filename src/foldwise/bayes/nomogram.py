"""`nomogram`: a fitted naive Bayes as sums that a page can do by itself. It computes; the page draws.

score(c) = prior(c) + rest(c) + Σ over columns of log P(cell | c); the posterior is the softmax of the scores over the
classes, as in `predict_proba`. `rest` holds the contribution of columns that are not shown, with a missing cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from foldwise.bayes import NaiveBayes
    from foldwise.bayes.nomogram_axes import Axis

Floats = NDArray[np.float64]

NUMBERS = 40_000  # in all tables: they lie in the page
TABLE_LINES = 200
IMPOSSIBLE = -20.0  # how telling a cell is that a class cannot have


def nomogram(model: NaiveBayes, X: Any) -> dict[str, Any]:
    """The facts of a nomogram: the contribution of each cell of each column to each class.

    `X` are the rows the model was fitted on; its values are the cells that can be chosen, of numbers a grid of them.
    A contribution of None is -inf: the cell does not occur in that class. Columns of text are not shown.
    """
    from foldwise.bayes.nomogram_axes import (  # not above: a page can be written without a table's libraries
        axis,
        columns_of,
    )

    columns = columns_of(model.schema_.names, X)
    families = model.families_
    hidden = [{"name": name, "why": "it holds text"} for name, family in families.items() if family == "text"]
    axes = [axis(name, families[name], cells) for name, cells in columns.items() if families[name] != "text"]
    tables = contributions(model, axes, X)
    used = [a for a in axes if a.name in tables]
    hidden += [{"name": a.name, "why": "the model does not use it"} for a in axes if a.name not in tables]
    shown, crowded = most_telling(used, tables)
    hidden += [{"name": a.name, "why": "it is less informative than the others"} for a in crowded]
    rest = np.zeros(len(model.classes_))
    for name, table in tables.items():
        if name not in {a.name for a in shown}:
            rest = rest + table[-1]
    return {
        "classes": [str(label) for label in model.classes_.tolist()],
        "log_prior": finite(model.class_log_prior_),
        "rest": finite(rest),
        "columns": [column_facts(a, tables[a.name]) for a in shown],
        "not_shown": hidden,
        "table": table_facts(model),
    }


def contributions(model: NaiveBayes, axes: Sequence[Axis], X: Any) -> dict[str, Floats]:
    """For each column in use a table (cells + 1, classes); its last row is that of a missing cell.

    One table is explained in which each column runs through its cells: a column's factor does not depend on the others.
    """
    from foldwise.bayes.nomogram_axes import through_all

    by_name = {a.name: a for a in axes}
    rows = model.explain(through_all(axes, model.schema_.names, X))
    tables: dict[str, Floats] = {}
    for i, factor in enumerate(rows[0].factors):
        log = np.array([row.factors[i].log for row in rows])
        n_cells = len(by_name[factor.column].cells) if factor.column in by_name else 0
        tables[factor.column] = np.vstack([log[:n_cells], log[-1:]])
    return tables


def most_telling(axes: Sequence[Axis], tables: dict[str, Floats]) -> tuple[list[Axis], list[Axis]]:
    """The columns by how far their usual cells set the classes apart, and those for which there is no room."""

    def spread(a: Axis) -> float:
        return float(a.shares @ np.maximum(tables[a.name], IMPOSSIBLE).std(axis=1))

    shown: list[Axis] = []
    crowded: list[Axis] = []
    room = NUMBERS
    for a in sorted(axes, key=spread, reverse=True):
        room -= tables[a.name].size
        (shown if room >= 0 else crowded).append(a)
    return shown, crowded


def column_facts(a: Axis, table: Floats) -> dict[str, Any]:
    """One axis: its cells with their contributions to each class."""
    cells: list[Any] = [float(cell) for cell in a.cells] if a.kind == "number" else [str(cell) for cell in a.cells]
    return {
        "name": a.name,
        "kind": a.kind,
        "family": a.family,
        "whole": a.whole,
        "cells": cells,
        "log": [finite(line) for line in table[:-1]],
        "missing": finite(table[-1]),
        "start": a.start,
    }


def finite(logs: Floats) -> list[float | None]:
    """Logarithms for JSON, which knows no infinity: None is -inf."""
    return [None if log == -math.inf else log for log in logs.tolist()]


def table_facts(model: NaiveBayes) -> dict[str, Any]:
    """The probability distribution table as a textbook prints it."""
    from foldwise.bayes.probability_table import cell_text

    lines = model.table().lines
    shown = [
        [line.column, line.name, *(cell_text(line, c) for c in range(len(model.classes_)))]
        for line in lines[:TABLE_LINES]
    ]
    return {"lines": shown, "hidden": max(0, len(lines) - TABLE_LINES)}
