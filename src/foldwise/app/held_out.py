"""The predictions behind the honest estimate of a run, row by row, and the largest mistakes among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foldwise.app.examples import cell_text

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

MOST_MISTAKES = 20
MOST_CELLS = 30  # columns


def held_out_frame(result: FitResult) -> pl.DataFrame:
    """Collect the predictions of rows by a selection that did not see them.

    Rows are numbered as in the table that was read, from 0. Classes are numbered as in the facts of the run, because
    their names may be anything. A row occurs more than once if folds are repeated.
    """
    task, selection = result.setup.task, result.final.selection
    honest, tested = selection.honest, selection.tested
    weights = tested.weights_at(honest.index)
    columns: dict[str, Any] = {
        "row": task.row_numbers(tested.rows[honest.index]).astype(np.int64),
        "fold": tested.fold[honest.index].astype(np.int32),
        "truth": tested.truth[honest.index],
    }
    if weights is not None:
        columns["weight"] = weights
    if task.is_quantity:
        columns["predicted"] = honest.predicted.astype(np.float64)
    else:
        columns["truth"] = columns["truth"].astype(np.int32)
        columns |= {f"probability_{k}": honest.predicted[:, k].astype(np.float64) for k in range(len(task.classes))}
    return pl.DataFrame(columns)


def mistake_facts(result: FitResult) -> list[dict[str, Any]]:
    """List the rows whose held-out predictions were furthest from the truth, with their cells.

    For classes these are the rows whose true class had the lowest probability.
    """
    setup, selection = result.setup, result.final.selection
    honest, tested = selection.honest, selection.tested
    truth, predicted = tested.truth[honest.index], honest.predicted
    if setup.task.is_quantity:
        error = np.abs(predicted - truth)
    else:
        error = np.where(predicted.argmax(axis=1) == truth, -1.0, 1.0 - predicted[np.arange(len(truth)), truth])
    worst = [i for i in np.argsort(-error, kind="stable")[:MOST_MISTAKES].tolist() if error[i] > 0]
    rows = tested.rows[honest.index[worst]]
    shown = setup.X[rows.tolist(), :MOST_CELLS]
    facts: list[dict[str, Any]] = []
    numbers = setup.task.row_numbers(rows).tolist()
    for i, row, cells in zip(worst, numbers, shown.iter_rows(named=True), strict=True):
        one: dict[str, Any] = {"row": row, "cells": {name: cell_text(cell) for name, cell in cells.items()}}
        if setup.task.is_quantity:
            one |= {"truth": float(truth[i]), "predicted": float(predicted[i])}
        else:
            classes, most = setup.task.classes.tolist(), int(predicted[i].argmax())
            one |= {"truth": str(classes[truth[i]]), "predicted": str(classes[most])}
            one |= {"probability": float(predicted[i, most]), "of_truth": float(predicted[i, truth[i]])}
        facts.append(one)
    return facts
