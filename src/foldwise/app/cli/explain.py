"""`foldwise explain`: the contribution of each column to one prediction, or the worked table of naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwise.app.cli.output import clipped, print_json
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.run_folder import check_exists
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.bayes.explanation import Explanation
    from foldwise.evaluation.contributions import Contributions

MOST_ROWS = 200  # of a background table


def explain(
    run: Path,
    table: Path,
    reading: TableOptions,
    rows: Sequence[int],
    *,
    about: str | None,
    background: Path | None,
    n_samples: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Explain rows of a file."""
    check_exists(run, by="fit or refit")
    check_table(table, background)
    keywords = reading.keywords()
    from foldwise.app import explaining
    from foldwise.app.run_folder import open_run

    opened = open_run(run)
    if opened.model.metadata.get("task") == "clusters":
        raise InputError(
            "a model that assigns clusters cannot explain single rows.",
            "see the report of explore, which describes each cluster.",
        )
    documents = []
    for number, row in enumerate(dict.fromkeys(rows)):
        one = row_of(table, row, opened.model, keywords)
        worked = explaining.worked_tables(opened.model, one) if about is None and background is None else None
        if worked is not None:
            facts, text = worked_facts(worked[0]), str(worked[0])
        else:
            others = opened.background() if background is None else first_rows(background, opened.model, keywords)
            [found] = explaining.explain(opened.model, one, others, about, n_samples, seed)
            facts, text = contribution_facts(found), str(found)
        covered, words = coverage_of(opened.model, one)
        decided, decision = decision_of(opened.model, one)
        documents.append({"row": row, **facts, **covered, **decided})
        if not as_json:
            start = "\n" if number else ""
            print(f"{start}row {row} of {table.name} (row numbers start at 0)\n{decision}{words}{text}")
    if as_json:
        print_json(documents[0] if len(documents) == 1 else documents)


def decision_of(model: Any, one: Any) -> tuple[dict[str, Any], str]:
    """The decision for a row, as facts and as a line of text; both empty if the run had no costs."""
    from foldwise.app.file_predictions import costs_of
    from foldwise.evaluation.tables import number

    if model.task == "regression" or model.metadata.get("costs") is None:
        return {}, ""
    decision = costs_of(model, None).decide(model.predict_proba(one), model.classes_.tolist())
    action, cost = str(decision.action[0]), float(decision.cost[0])
    return {"decision": action, "expected_cost": cost}, f"decision: {action} (expected cost {number(cost)})\n"


def coverage_of(model: Any, one: Any) -> tuple[dict[str, Any], str]:
    """The interval or the set of a row, as facts and as a line of text; both empty if the run had no coverage."""
    import numpy as np

    from foldwise.app.coverage import CoverageRule
    from foldwise.evaluation.tables import number

    rule = CoverageRule.of_metadata(model.metadata)
    if rule is None:
        return {}, ""
    level = {"coverage": rule.level, "guaranteed": rule.guaranteed}
    if model.task == "regression":
        low, high = rule.intervals(np.asarray(model.predict(one), dtype=np.float64))[0].tolist()
        finite = np.isfinite(rule.quantile)
        words = f"{number(low)} to {number(high)}" if finite else "all values, because there were too few rows"
        return {**level, "interval": [low, high] if finite else None}, f"prediction interval: {words} ({rule.words})\n"
    inside = rule.sets(model.predict_proba(one))[0]
    names = [str(name) for name, chosen in zip(model.classes_.tolist(), inside, strict=True) if chosen]
    shown = ", ".join(clipped(name, 16) for name in names) or "empty, no class is probable enough"
    return {**level, "set": names}, f"prediction set: {shown} ({rule.words})\n"


def row_of(table: Path, row: int, model: Any, keywords: dict[str, Any]) -> Any:
    """Read one row of a file, with the column types of the model."""
    from foldwise.app.file_predictions import batches_for
    from foldwise.data.notes import counted

    if row < 0:
        raise InputError(f"--row must not be negative, got {row}.", "pass 0 for the first row.")
    before = 0
    for frame in batches_for(model, table, reading=keywords):
        if row < before + frame.height:
            return frame[row - before : row - before + 1]
        before += frame.height
    raise InputError(
        f"{table.name} has {counted(before, 'row')}, so there is no row {row}.",
        f"pass an index from 0 to {before - 1}." if before > 1 else "pass 0.",
    )


def first_rows(table: Path, model: Any, keywords: dict[str, Any]) -> Any:
    """Sample background rows from a file, or from its first batch if the file is read in batches."""
    from foldwise.app.file_predictions import batches_for

    frame = next(batches_for(model, table, reading=keywords))
    return frame if frame.height <= MOST_ROWS else frame.sample(MOST_ROWS, seed=0)


def worked_facts(worked: Explanation) -> dict[str, Any]:
    classes = [str(name) for name in worked.classes]
    return {"worked": worked.to_dict(), "proba": dict(zip(classes, worked.proba, strict=True))}


def contribution_facts(found: Contributions) -> dict[str, Any]:
    classes = [str(name) for name in found.classes]
    columns = zip(found.columns, found.cells, found.values.tolist(), found.errors.tolist(), strict=True)
    return {
        "about": found.about,
        "proba": dict(zip(classes, found.proba.tolist(), strict=True)),
        "base": found.base,
        "total": found.total,
        "columns": [
            {"column": name, "cell": cell, "contribution": value, "error": error}
            for name, cell, value, error in columns
        ],
        "n_background": found.n_background,
        "n_orders": found.n_orders,
    }
