"""`foldwise explain`: the contribution of each column to one prediction, or the worked table of naive Bayes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwise.app.cli.output import WIDTH, clipped, print_json
from foldwise.app.cli.paths import check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.run_folder import check_exists
from foldwise.errors import InputError

if TYPE_CHECKING:
    from foldwise.bayes.explanation import Explanation
    from foldwise.evaluation.contributions import Contributions

MOST_LINES = 20
MOST_CLASSES = 3
MOST_ROWS = 200  # of a background table
HALF = 12  # width of the bars on each side
NAME, CELL = 20, 15


def explain(
    run: Path,
    table: Path,
    reading: TableOptions,
    row: int,
    *,
    about: str | None,
    background: Path | None,
    n_samples: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Explain one row of a file."""
    check_exists(run, by="fit")
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
    one = row_of(table, row, opened.model, keywords)
    worked = explaining.worked_tables(opened.model, one) if about is None and background is None else None
    if worked is not None:
        facts, text = worked_facts(worked[0]), str(worked[0])
    else:
        rows = opened.background() if background is None else first_rows(background, opened.model, keywords)
        [found] = explaining.explain(opened.model, one, rows, about, n_samples, seed)
        facts, text = contribution_facts(found), contribution_text(found)
    covered, words = coverage_of(opened.model, one)
    if as_json:
        print_json({"row": row, **facts, **covered})
    else:
        print(f"row {row} of {table.name} (row numbers start at 0)\n{words}{text}")


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


def contribution_text(found: Contributions) -> str:
    """Format contributions as a table with bars, the largest first."""
    from foldwise.evaluation.tables import number

    largest = max(abs(found.values).max(), 1e-12)
    order = abs(found.values).argsort()[::-1]
    of_class = [
        shares(found.classes, found.proba),
        "",
        f"contribution of each column to the log-odds of {clipped(found.about, 30)!r}",
    ]
    of_value = [f"predicted value {number(found.total)}", "", "contribution of each column to the predicted value"]
    size, head = (figure, "log-odds") if found.classes else (wide_figure, "change")
    lines = [
        *(of_class if found.classes else of_value),
        "",
        f"{'column':<{NAME}} {'value':<{CELL}} {head:>8} {'std err':>7}",
        f"{f'mean of {found.n_background} training rows':<{NAME + CELL + 1}} {size(found.base)}",
    ]
    for j in order[:MOST_LINES]:
        value, error = float(found.values[j]), float(found.errors[j])
        cell = "missing" if found.cells[j] is None else found.cells[j]
        cell = f"{cell:.6g}" if isinstance(cell, float) else cell
        start = f"{clipped(found.columns[j], NAME):<{NAME}} {clipped(cell, CELL):<{CELL}}"
        spread = f"{error:>7.3f}" if found.classes else f"{error if error > 1e-6 * largest else 0.0:>7.3g}"
        lines.append(f"{start} {size(value)} {spread}  {both_ways(value / largest)}".rstrip())
    rest = order[MOST_LINES:]
    if len(rest):
        words = f"{len(rest)} other columns"
        lines.append(f"{words:<{NAME + CELL + 1}} {size(float(found.values[rest].sum()))}")
    lines.append(f"{'this row (sum of the above)':<{NAME + CELL + 1}} {size(found.total)}")
    return "\n".join(lines)


def figure(value: float) -> str:
    """A contribution to log-odds."""
    return f"{value:>+8.3f}"


def wide_figure(value: float) -> str:
    """A contribution to a value, which may have any size."""
    return f"{value:>+8,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:>+8.4g}"


def both_ways(share: float) -> str:
    """Draw a bar to the left (negative) or to the right (positive) of the middle."""
    length = round(HALF * abs(share))
    return f"{'█' * length:>{HALF}}│" if share < 0 else f"{'':>{HALF}}│{'█' * length}"


def shares(classes: Any, proba: Any) -> str:
    """List the most probable classes with their probabilities."""
    ranked = sorted(zip(classes, proba.tolist(), strict=True), key=lambda one: -one[1])
    text = ", ".join(f"P({clipped(name, 16)}) = {share:.3g}" for name, share in ranked[:MOST_CLASSES])
    more = len(ranked) - MOST_CLASSES
    return textwrap.fill(text + (f" and {more} more class{'es' * (more > 1)}" if more > 0 else ""), WIDTH)
