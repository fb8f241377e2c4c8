"""The scores of a run by slices of its table, from the out-of-fold predictions of the whole procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foldwise.app.estimates import scored_rows
from foldwise.app.headline_facts import shown_metrics
from foldwise.app.task import FitTask
from foldwise.data.schema import choose_among
from foldwise.errors import InputError
from foldwise.evaluation.slices import rows_at, slice_names, slice_scores

if TYPE_CHECKING:
    from foldwise.app.result import FitResult


def check_slices(slices: Any, task: FitTask) -> None:
    """Raise if the rows cannot be cut by these columns, before anything is fitted."""
    columns = task.table.X.columns
    for name in [] if slices is None else slice_names(slices):
        if name not in columns:
            what = "is not a feature" if name in (task.named or {}).values() or name == task.table.target else ""
            words = f"column {name!r}, passed as slices=, {what}." if what else ""
            raise InputError(
                words or f"the table has no column {name!r}, passed as slices=.", choose_among(columns, name)
            )


def slice_facts(result: FitResult) -> dict[str, Any] | None:
    """Score held-out rows by slices; None if no slices were requested."""
    setup, selection = result.setup, result.final.selection
    if setup.config.slices is None:
        return None
    rows = selection.tested.rows[selection.honest.index]
    first = np.sort(np.unique(rows, return_index=True)[1])  # with repeated folds, the first prediction of each row
    scored = rows_at(scored_rows(selection.honest, selection.tested, setup.task.groups), first)
    names = slice_names(setup.config.slices)
    frame = setup.task.table.X.select(names)[rows[first].tolist()]
    found = slice_scores(scored, shown_metrics(result), frame, names, positive=setup.task.positive)
    return {"columns": names, **found.to_dict()}
