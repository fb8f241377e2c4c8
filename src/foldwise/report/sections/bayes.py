"""Naive Bayes laid open: a nomogram that answers, and the table it is made of."""

from __future__ import annotations

from foldwise.report.markup import Html, el, embedded, join
from foldwise.report.reading import Facts, items, part, records
from foldwise.report.sections.blocks import Section, folded, paragraph, table

WORDS = (
    "A naive Bayes model adds up what each cell says. Choose the cells of a row, by control or by clicking a dot, and "
    "the probabilities answer; click a class to see what speaks for and against it. It explains the table; the final "
    "model may decide otherwise."
)


def bayes(facts: Facts) -> Section | None:
    """The nomogram, drawn by the page's own script, and the table folded."""
    model = part(facts, "bayes")
    if not items(model, "classes") or not records(model, "columns"):
        return None
    kept = {name: model.get(name) for name in ("classes", "log_prior", "rest", "columns")}
    body = [
        paragraph(WORDS),
        el("div", el("noscript", "The nomogram needs a browser that runs scripts."), id="nomogram-room", class_="card"),
        hidden(model),
        probability_table(model),
        embedded(kept, "nomogram-facts"),
    ]
    return Section("nomogram", "Ask the table yourself", join(body))


def hidden(model: Facts) -> Html | None:
    """Columns without an axis count as missing."""
    by_reason: dict[str, list[str]] = {}
    for column in records(model, "not_shown"):
        by_reason.setdefault(str(column.get("why", "")), []).append(str(column.get("name", "")))
    if not by_reason:
        return None
    told = [f"{listing(names)} ({why})" for why, names in by_reason.items()]
    return paragraph(f"Not shown, and taken as missing: {'; '.join(told)}.", "note")


def listing(names: list[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def probability_table(model: Facts) -> Html | None:
    """Attribute, parameter, one column a class."""
    found = part(model, "table")
    lines = [[str(cell) for cell in line] for line in items(found, "lines") if line]
    classes = [str(name) for name in items(model, "classes")]
    lines = [line for line in lines if len(line) == len(classes) + 2]
    if not lines:
        return None
    above, rows = None, []
    for line in lines:
        rows.append(["" if line[0] == above else line[0], *line[1:]])
        above = line[0]
    more = found.get("hidden")
    note = paragraph(f"{more} more lines are not shown.", "note") if more else None
    return folded("The naive Bayes table", table(["attribute", "parameter", *classes], rows, left=(0, 1)), note)
