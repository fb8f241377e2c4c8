"""Columns: how much the model leans on each, and what the audit found in them."""

from __future__ import annotations

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.canvas import hint, strip
from foldwise.report.pictures.intervals import axis, bar
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.reading import Facts, decimals, defined, fixed, items, number, part, percent, records, text, texts
from foldwise.report.sections.blocks import Section, bullets, folded, paragraph, table

SHOWN = 15


def importance(facts: Facts) -> Section | None:
    """Permutation importance with its intervals."""
    entries = [entry for entry in records(facts, "importance") if defined(entry.get("mean"))]
    if not entries:
        return None
    entries = sorted(entries, key=lambda entry: -entry["mean"])
    of = text(facts, "importance_of")
    ends = [0.0]
    for entry in entries:
        ends += [float(entry[name]) for name in ("mean", "low", "high") if defined(entry.get(name))]
    scale = around(ends, 0.02)
    digits = decimals([entry["mean"] for entry in entries])
    lines = [importance_line(entry, scale, digits) for entry in entries]
    body = [
        paragraph(f"How much worse it gets when a column is shuffled{', ' + of if of else ''}."),
        el("figure", el("div", *lines[:SHOWN], el("span"), axis(scale), el("span"), class_="strips"), class_="card"),
    ]
    if len(lines) > SHOWN:
        more = el("div", *lines[SHOWN:], class_="strips")
        body.append(folded(f"{len(lines) - SHOWN} columns that matter less", more))
    return Section("importance", "Which columns matter", join(body))


def importance_line(entry: Facts, scale: Scale, digits: int) -> Html:
    mean, low, high = entry["mean"], entry.get("low"), entry.get("high")
    between = f" ({number(low)} to {number(high)})" if defined(low) and defined(high) else ""
    words = f"{text(entry, 'column')}: {number(mean)}{between}"
    mark = bar(scale, mean, low, high, words)
    name = el("span", text(entry, "column"), class_="name")
    return join([name, mark, el("span", fixed(mean, digits), class_="figure")])


def audit(facts: Facts) -> Section | None:
    """What the table holds: notes first, the columns folded."""
    found = part(facts, "audit")
    columns, notes = records(found, "columns"), texts(found, "notes")
    task = part(facts, "task")
    if not columns and not notes and not items(task, "classes"):
        return None
    body = [
        class_bars(task),
        bullets(notes),
        columns_table(columns) if columns else None,
    ]
    return Section("data", "What is in the table", join(body))


def class_bars(task: Facts) -> Html | None:
    """How many rows each class has."""
    classes, counts = items(task, "classes"), items(task, "class_counts")
    if not classes or len(classes) != len(counts) or not all(map(defined, counts)):
        return None
    total, most = sum(counts) or 1, max(counts) or 1
    lines = []
    for name, count in list(zip(classes, counts, strict=True))[:SHOWN]:
        width = f"{96 * count / most:.2f}%"
        mark = strip(el("rect", hint(f"{name}: {count}"), x=0, width=width, y=6, height=10, rx=1.5, class_="bar"))
        lines += [el("span", str(name), class_="name"), mark]
        lines.append(el("span", f"{number(count)} ({percent(count / total)})", class_="figure"))
    hidden = len(classes) - SHOWN
    note = f"{hidden} more classes are not drawn." if hidden > 0 else None
    caption = f"Rows of each class of {text(task, 'target')}"
    return el(
        "figure", el("figcaption", caption), el("div", *lines, class_="strips"), paragraph(note, "note"), class_="card"
    )


def columns_table(columns: list[Facts]) -> Html:
    rows = []
    for column in columns:
        missing = column.get("missing")
        summary = text(column, "summary")
        left_out = text(column, "left_out")
        told = join([summary, " " if summary and left_out else None, el("em", left_out) if left_out else None])
        share = percent(missing) if defined(missing) and missing > 0 else ""
        rows.append([text(column, "name"), text(column, "role"), share, number(column.get("n_distinct")), told])
    heads = ["column", "read as", "missing", "distinct", "what is in it"]
    return folded(f"All {len(columns)} columns", table(heads, rows, left=(0, 1, 4), class_="audit"))
