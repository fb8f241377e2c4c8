"""Facts about the table of a run: its columns, and warnings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import polars.selectors as cs

from foldwise.app.option_words import with_options
from foldwise.app.timing import AUDIT_SHARE, FIRST_LOADING, LOADING, MOST_OVERRUN, SLOW_LOADING_SHARE, RunTimes
from foldwise.data.audit import Concern, duplicates
from foldwise.data.notes import Note, counted
from foldwise.data.schema import listing
from foldwise.evaluation.tables import number

if TYPE_CHECKING:
    from foldwise.app.result import FitResult
    from foldwise.app.task import FitTask, HeldOutTable

MANY_LEVELS = 12
SHOWN_COLUMNS = 200  # described one by one, so that a table of 100,000 columns gives a small report in a short time
SHOWN_NOTES = 30
SHARED = 0.05  # of the test rows; fewer may be equal by chance
MANY_NUMBERS = 5  # numbers as classes; fewer are usually codes of classes
SAME = {"groups": "group", "time": "time"}  # what copies of a row share in a run with these columns
HOLDING_ROWS = ("knn", "rbf_svm")  # models that store training rows


def audit_facts(result: FitResult, times: RunTimes) -> dict[str, Any]:
    setup, task = result.setup, result.setup.task
    columns = [column_facts(task.table.X[name], result) for name in task.table.X.columns[:SHOWN_COLUMNS]]
    audit = task.table.audit(seconds=AUDIT_SHARE * times.budget)
    suspected = suspicions(task) + unread_numbers(task)
    warnings = [note.text[0].upper() + note.text[1:] for note in suspected]
    warnings += few([warning(c) for c in audit if c.check in ("target", "alike")])
    warnings += [*duplicate_rows(task), *audit.unchecked]
    if task.n_unlabeled:
        rows = counted(task.n_unlabeled, "row")
        were = "was" if task.n_unlabeled == 1 else "were"
        warnings.append(f"{rows} without a value in {task.table.target!r} {were} dropped.")
    warnings += [*numbers_as_classes(result), *setup.metric.check_target(task.y)]
    warnings += [*never_predicted(result), *missing_members(result)]
    warnings += [*unfinished_models(result, times), *unevaluated_choices(result)]
    warnings += [*overrun(times), *shared_rows(result), *unseen_classes(result)]
    names = {result.final.selection.candidates[i].model for i in result.final.weights}
    inside = sorted(setup.specs[name].title for name in names if name in HOLDING_ROWS)
    if inside and not setup.config.rows:
        predict = "predict" if len(inside) > 1 else "predicts"
        warnings.append(
            f"The model file contains rows of data, because its {' and '.join(inside)} {predict} from them."
        )
    rare = [str(c) for c, n in zip(task.classes.tolist(), task.counts, strict=True) if n < len(setup.splits)]
    if rare:
        warnings.append(f"Some classes have fewer rows than there are folds: {listing(rare)}.")
    notes = few([str(note) for note in task.table.notes if note not in suspected])
    if result.command is not None:  # the reader of this report follows advice on the command line
        notes, warnings[: len(suspected)] = (
            [with_options(one) for one in sentences] for sentences in (notes, warnings[: len(suspected)])
        )
    return {"columns": columns, "n_columns": task.table.X.width, "notes": notes, "warnings": warnings}


def suspicions(task: FitTask) -> list[Note]:
    """The notes on columns that may name groups or order the rows, unless the run has groups, or a time column."""
    named = task.named or {}
    return [note for topic in ("groups", "time") if topic not in named for note in task.table.notes.about(topic)]


def unread_numbers(task: FitTask) -> list[Note]:
    """The notes on columns that contain mostly numbers, but are read as text because of other cells."""
    X = task.table.X
    notes = task.table.notes.about("numbers")
    return [one for one in notes if one.column in X.columns and X[one.column].dtype == pl.String]


def duplicate_rows(task: FitTask) -> list[str]:
    """Report rows that occur more than once, with their group and time, which are not among the features."""
    beside = {"groups": task.groups, "time": task.moments}
    codes = [pl.Series(f"\x00{what}", cells) for what, cells in beside.items() if cells is not None]
    target = pl.Series(task.table.target or "", task.y)
    return [duplicates_words(one, task.named or {}) for one in duplicates(task.table.X.with_columns(codes), target)]


def few(sentences: list[str]) -> list[str]:
    """The first sentences of a long list, and how many more there are."""
    more = len(sentences) - SHOWN_NOTES
    return [*sentences[:SHOWN_NOTES], f"There are {more:,} more like these."] if more > 1 else sentences


def never_predicted(result: FitResult) -> list[str]:
    """Report classes that no held-out row is predicted to have. With costs, actions are predicted instead."""
    task, selection = result.setup.task, result.final.selection
    if task.costs is not None or task.is_quantity:
        return []
    rows = np.bincount(selection.tested.truth[selection.honest.index], minlength=task.n_classes)
    predicted = np.bincount(selection.honest.predicted.argmax(axis=1), minlength=task.n_classes)
    missed = np.flatnonzero((predicted == 0) & (rows > 0))
    if not len(missed):
        return []
    names, n_rows = listing([str(one) for one in task.classes[missed].tolist()]), int(rows[missed].sum())
    held_out = f"{n_rows:,} held-out {'row has' if n_rows == 1 else 'rows have'}"
    if len(missed) == 1:
        return [f"The class {names} is never predicted, although {held_out} it."]
    return [f"{len(missed)} of {task.n_classes} classes are never predicted: {names}. {held_out} one of them."]


def missing_members(result: FitResult) -> list[str]:
    """Report members of the final model that could not be fitted in time."""
    missing = Counter(result.final.missing)
    if not missing:
        return []
    settings = f"selected setting{'s' * (missing.total() > 1)}"
    what = f"{missing.total()} {settings} of {next(iter(missing))}"
    if len(missing) > 1:
        what = f"{missing.total()} {settings} ({', '.join(f'{n} of {title}' for title, n in missing.items())})"
    return [
        f"{what} could not be fitted on all rows in time. The final model and its estimate use only the other selected "
        "settings. Increase the budget to include all."
    ]


def unfinished_models(result: FitResult, times: RunTimes) -> list[str]:
    """Report a budget that was too short for most models, and a loading of libraries that took much of it."""
    done, every = len({one.model for one in result.search.finished}), len(result.setup.specs)
    if 2 * done >= every:
        return []
    words = f"Only {done} of {every} models finished all folds in time."
    begun = len({one.model for one in result.search.batches if one.scores}) - done
    if begun > 0:
        words += f" {begun} more {'was' if begun == 1 else 'were'} tried on only some of the folds."
    loading = dict(times.phases).get(LOADING, 0.0)
    if loading > SLOW_LOADING_SHARE * times.budget:
        words += f" Loading the libraries took {loading:.1f} s of the {times.budget:g} s."
        if loading > FIRST_LOADING:
            words += " If this was the first run after the installation, the next one will load them faster."
    return [f"{words} With a larger budget, another model may turn out best."]


def unevaluated_choices(result: FitResult) -> list[str]:
    """Name the models that the user chose and that have no result, with the reason."""
    setup, finished = result.setup, {one.model for one in result.search.finished}
    if setup.config.models is None:
        return []
    reasons: dict[str, list[str]] = {}
    for name, spec in setup.specs.items():
        if name not in finished:
            reasons.setdefault(result.search.unfinished_reason(name)[1], []).append(spec.title)
    return [f"Not evaluated: {', '.join(titles)} ({why.removesuffix('.')})." for why, titles in reasons.items()]


def overrun(times: RunTimes, faster: str = "choose faster models") -> list[str]:
    """Report a run that took longer than its budget, and say what would make it `faster`."""
    if times.elapsed <= MOST_OVERRUN * times.budget:
        return []
    phase, seconds = max(times.phases, key=lambda one: one[1])
    digits = 1 if f"{times.elapsed:.0f}" == f"{times.budget:.0f}" else 0  # or both would read the same
    advice = "Increase the budget." if phase == LOADING else f"For a shorter run, {faster}."
    return [
        f"The run took {times.elapsed:.{digits}f} s, more than its budget of {times.budget:.0f} s. Its longest phase "
        f"was {phase!r} ({seconds:.0f} s). {advice}"
    ]


def shared_rows(result: FitResult) -> list[str]:
    """Report test rows that also occur in the training table."""
    test = result.setup.task.test
    if test is None:
        return []
    learned = as_text(result.setup.task.table.X).unique()
    shared = as_text(test.X).join(learned, on=learned.columns, how="semi", nulls_equal=True).height
    if shared < SHARED * test.X.height:
        return []
    return [f"{shared:,} of the {test_rows(test)} also occur in the training table. Scores on them are too optimistic."]


def test_rows(test: HeldOutTable) -> str:
    """The number of test rows, and where they come from."""
    of_table = test.share is not None or test.outside
    return f"{test.X.height:,} {'held-out rows' if of_table else 'rows of the separate test table'}"


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """The cells as text, alike for whole numbers and decimals, as two files may differ in that."""
    return frame.with_columns(cs.numeric().cast(pl.Float64)).select(pl.all().cast(pl.String))


def numbers_as_classes(result: FitResult) -> list[str]:
    """Say how to predict a quantity, if numbers were taken as classes and nobody has chosen that."""
    task, chosen = result.setup.task, result.setup.config.task
    if chosen is not None or task.n_classes < MANY_NUMBERS or task.classes.dtype.kind not in "iuf":
        return []
    target = repr(task.table.target)
    option = "task='regression'" if result.command is None else "--task regression"
    return [
        f"{target} contains {task.n_classes} different whole numbers, which were taken as classes. If {target} is a "
        f"quantity, run again with {option}."
    ]


def unseen_classes(result: FitResult) -> list[str]:
    """Report test rows of a class that no training row has."""
    test = result.setup.task.test
    if test is None or not test.unseen:
        return []
    return [
        f"{test.n_unseen:,} of the {test_rows(test)} have a class that the training "
        f"table does not contain: {listing(test.unseen)}. They count as wrong in accuracy and other scores of "
        "predicted classes. They are left out of log loss and other scores of probabilities."
    ]


def warning(concern: Concern) -> str:
    """Turn a finding of the audit into a sentence."""
    start = {"target": "may leak the target", "alike": "may spell one category in several ways"}[concern.check]
    return f"Column {concern.column!r} {start}: {concern.detail}."


def duplicates_words(concern: Concern, named: dict[str, str]) -> str:
    """Say how many rows are duplicates, and whether they may be on both sides of a split."""
    are = "row is a duplicate" if concern.rows == 1 else "rows are duplicates"
    held = " and ".join(f"{what} ({named[name]!r})" for name, what in SAME.items() if name in named)
    copies = "Copies of the same row may end up in both training and test data."
    if held:
        copies = f"Copies have the same {held}, so they are never in both training and test data."
    return f"{concern.rows:,} {are} ({concern.detail}). {copies}"


def column_facts(column: pl.Series, result: FitResult) -> dict[str, Any]:
    about = result.setup.task.outline
    left_out = about.left_out.get(column.name)
    return {
        "name": column.name,
        "role": about.roles.get(column.name, "left out"),
        "missing": column.null_count() / max(1, len(column)),
        "n_distinct": column.drop_nulls().n_unique(),
        "summary": summary(column),
        "left_out": left_out,
    }


def summary(column: pl.Series) -> str:
    """Summarize a column in a few words."""
    cells = column.drop_nulls()
    if not len(cells):
        return "empty"
    if cells.dtype.is_integer():
        ends = np.quantile(cells.to_numpy(), [0, 0.5, 1]).tolist()
        # years and the like have no separator of thousands
        mark = "," if max(map(abs, ends)) >= 10_000 else ""
        low, mid, high = (f"{q:{mark}.12g}" for q in ends)
        return f"{low} to {high}, median {mid}"
    if cells.dtype.is_numeric():
        low, mid, high = (number(float(q)) for q in np.quantile(cells.to_numpy(), [0, 0.5, 1]))
        return f"{low} to {high}, median {mid}"
    if cells.dtype.is_temporal():
        return f"{cells.min()!s} to {cells.max()!s}"
    top = cells.cast(pl.String).value_counts(sort=True)
    if top.height > MANY_LEVELS and top["count"][0] < 0.02 * len(cells):
        return f"{top.height:,} distinct values"
    shown = [f"{name[:24]} {n / len(cells):.0%}" for name, n in top.head(3).iter_rows()]
    return ", ".join(shown) + (", …" if top.height > 3 else "")
