"""A few rows worked through: what was said, what was true, and which cells spoke for it."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.canvas import hint, strip
from foldwise.report.pictures.intervals import bar
from foldwise.report.pictures.scales import Scale
from foldwise.report.reading import Facts, defined, number, part, percent, records, text
from foldwise.report.sections.blocks import Section, paragraph

CELLS = 8  # of an example
CLASSES = 5


def examples(facts: Facts) -> Section | None:
    """Right and wrong predictions, cell by cell."""
    rows = records(facts, "examples")
    if not rows:
        return None
    words = (
        "What was said, and how likely, comes from models that had not seen the row. The bars are of the final model, "
        "which has learned from it since: those to the right speak for the class named above them, those to the left "
        "against it; with the starting point they sum to its log-odds."
    )
    cards = el("div", *(example(row) for row in rows), class_="grid cards")
    return Section("examples", "A few predictions worked through", join([paragraph(words), cards]))


def example(row: Facts) -> Html:
    """One row as a card."""
    right = bool(row.get("right"))
    verdict = el("span", "right" if right else "wrong", class_="tag good" if right else "tag bad")
    outcome = f"said {text(row, 'said')}, truth {text(row, 'truth')}"
    head = el("h3", f"Row {text(row, 'row')}", " ", verdict)
    return el("article", head, paragraph(outcome), probabilities(row), cells_of(row), class_="card")


def probabilities(row: Facts) -> Html | None:
    """The likeliest classes, each a bar."""
    proba = {name: p for name, p in part(row, "proba").items() if defined(p)}
    if not proba:
        return None
    lines = []
    for name, p in sorted(proba.items(), key=lambda pair: -pair[1])[:CLASSES]:
        told = hint(f"{name}: {percent(p, 1)}")
        chosen = "bar" if name == row.get("said") else "bar faint"
        mark = strip(el("rect", told, x=0, width=f"{100 * p:.2f}%", y=6, height=10, rx=1.5, class_=chosen))
        lines.append(join([el("span", name, class_="name"), mark, el("span", percent(p), class_="figure")]))
    return el("div", *lines, class_="strips narrow")


def cells_of(row: Facts) -> Html | None:
    """The cells that say most, and the others as one."""
    cells = [cell for cell in records(row, "cells") if defined(cell.get("contribution"))]
    if not cells:
        return None
    ranked = sorted(cells, key=lambda cell: -abs(cell["contribution"]))
    lines = [(f"{text(cell, 'column')} = {text(cell, 'cell')}", float(cell["contribution"])) for cell in ranked[:CELLS]]
    if len(ranked) > CELLS:
        rest = sum(float(cell["contribution"]) for cell in ranked[CELLS:])
        lines.append((f"{len(ranked) - CELLS} other columns", rest))
    base, total = row.get("base"), row.get("total")
    if defined(base):
        lines.insert(0, ("starting point", float(base)))
    foot = None
    if defined(total):
        words = el("span", el("b", "sum"), class_="name")
        foot = join([words, el("span"), el("span", el("b", signed(float(total))), class_="figure")])
    title = f"For and against {text(row, 'about')}" if text(row, "about") else "For and against"
    return join([el("h4", title), el("div", *bars(lines), foot, class_="strips narrow")])


def bars(lines: Sequence[tuple[str, float]]) -> list[Html]:
    """Bars to both sides of 0."""
    most = max(abs(value) for _, value in lines) or 1.0
    scale = Scale(-most, most, 1.0, 99.0)
    return [
        join(
            [
                el("span", name, class_="name", title=name),
                bar(scale, value, None, None, f"{name}: {signed(value)}", "bar for" if value >= 0 else "bar against"),
                el("span", signed(value), class_="figure"),
            ]
        )
        for name, value in lines
    ]


def signed(value: float) -> str:
    return f"{'+' if value >= 0 else '−'}{number(abs(value), 2)}"
