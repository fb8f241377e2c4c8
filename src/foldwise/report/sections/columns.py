"""Columns: how much the model relies on each, and what the audit found in them."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, decimals, fixed, interval_text, number, percent
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.canvas import share_bar
from foldwise.report.pictures.intervals import bar, ends_of
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.sections.elements import Section, bullets, details, figure, paragraph, strip_row, strips, table

SHOWN = 15
SHOWN_COLUMNS = 200


def importance(facts: ReportFacts) -> Section | None:
    """Permutation importance with intervals."""
    ranked = ranked_columns(facts)
    if not ranked:
        return None
    scale = around(ends_of([entry for entry, _ in ranked], [0.0], names=("mean", "low", "high")), 0.02)
    digits = decimals([mean for _, mean in ranked])
    rows = [importance_row(entry, mean, scale, digits) for entry, mean in ranked]
    words = "How much worse predictions get when the values of a column are shuffled."
    body = [
        paragraph(f"{words} {facts.text('importance_of')}".strip()),
        figure("", strips(rows[:SHOWN], scale), class_="card"),
        details("Less important columns", strips(rows[SHOWN:SHOWN_COLUMNS])) if len(rows) > SHOWN else None,
    ]
    return Section("importance", "Column importance", join(body))


def ranked_columns(facts: ReportFacts) -> list[tuple[ReportFacts, float]]:
    """The facts of columns with their importance, the most important first."""
    found = [(entry, entry.number("mean")) for entry in facts.records("importance")]
    return sorted(((entry, mean) for entry, mean in found if mean is not None), key=lambda pair: -pair[1])


def importance_row(entry: ReportFacts, mean: float, scale: Scale, digits: int) -> Html:
    name, low, high = entry.text("column"), entry.number("low"), entry.number("high")
    between = "" if low == high else interval_text(low, high)  # a single fold has no interval
    mark = bar(scale, mean, low, high, f"{name}: {number(mean)}{between}")
    return strip_row(name, mark, fixed(mean, digits))


def audit(facts: ReportFacts) -> Section | None:
    """What the table holds: class frequencies, notes, and all columns."""
    columns, notes = facts.part("audit").records("columns"), facts.part("audit").texts("notes")
    task = facts.part("task")
    if not columns and not notes and not task.items("classes"):
        return None
    n_columns = facts.part("audit").number("n_columns") or len(columns)
    body = [class_frequencies(task), bullets(notes), columns_table(columns, int(n_columns)) if columns else None]
    return Section("data", "The data", join(body))


def class_frequencies(task: ReportFacts) -> Html | None:
    """How many rows each class has."""
    classes, counts = task.items("classes"), task.numbers("class_counts")
    if not classes or len(classes) != len(counts):
        return None
    total, most = sum(counts) or 1, max(counts) or 1
    rows = [
        strip_row(
            str(name),
            share_bar(0.96 * count / most, f"{name}: {number(int(count))}"),
            f"{number(int(count))} ({percent(count / total)})",
        )
        for name, count in list(zip(classes, counts, strict=True))[:SHOWN]
    ]
    hidden = len(classes) - SHOWN
    more = f"{counted(hidden, 'more class is', 'more classes are')} not shown."
    note = paragraph(more if hidden > 0 else None, "note")
    return figure(f"Rows per class of “{task.text('target')}”", strips(rows), note, class_="card")


def columns_table(columns: list[ReportFacts], n_columns: int) -> Html:
    """The first columns, one by one."""
    rows = []
    for column in columns[:SHOWN_COLUMNS]:
        missing, left_out = column.number("missing") or 0.0, column.text("left_out")
        summary = join([column.text("summary"), " ", el("em", left_out) if left_out else None])
        share = percent(missing) if missing > 0 else ""
        rows.append([column.text("name"), column.text("role"), share, number(column.number("n_distinct")), summary])
    heads = ["column", "used as", "missing", "distinct values", "summary"]
    title = (
        f"All {n_columns:,} columns" if len(rows) == n_columns else f"The first {len(rows)} of {n_columns:,} columns"
    )
    return details(title, table(heads, rows, left=(0, 1, 4), class_="audit"))
