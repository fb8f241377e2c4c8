"""The top of the page, and what all answers share: why there is none, and which rows they come from."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted
from foldwise.report.markup import Html, el, join
from foldwise.report.sections.elements import Section, bullets, details, paragraph, table


def top(facts: ReportFacts) -> Html:
    """Title, the answers in a sentence each, and warnings."""
    size, words = facts.part("table"), facts.part("headline").texts("words")
    pieces = [
        counted(size.number("n_rows"), "row", "rows"),
        counted(size.number("n_columns"), "column", "columns"),
        facts.part("made").text("when")[:10].replace("-", "\u2011"),  # hyphens that do not break
    ]
    warnings = facts.part("audit").texts("warnings")
    box = el("div", el("h3", "Warnings"), bullets(warnings), class_="box warn") if warnings else None
    return el(
        "header",
        el("p", " · ".join(pieces), class_="kicker"),
        el("h1", f"Exploring {facts.text('title')}"),
        *(paragraph(sentence, "lead" if i == 0 else None) for i, sentence in enumerate(words)),
        box,
    )


def answer(name: str, title: str, found: ReportFacts, *body: Html | None) -> Section | None:
    """A section, or one sentence that says why there is no answer."""
    if not found:
        return None
    if why := found.text("none"):
        return Section(name, title, el("p", why, class_="calm"))
    return Section(name, title, join([*body, paragraph(found.text("sample"), "note")]))


def row_table(records: list[ReportFacts]) -> Html | None:
    """Rows of the table with their cells."""
    if not records:
        return None
    pairs = [[cell for cell in one.items("cells") if isinstance(cell, list) and len(cell) == 2] for one in records]
    names = [str(name) for name, _ in pairs[0]]
    rows = [[one.text("row"), *(str(cell) for _, cell in cells)] for one, cells in zip(records, pairs, strict=True)]
    return table(["row", *names], rows, left=range(1, len(names) + 1), class_="small")


def folded_rows(title: str, records: list[ReportFacts]) -> Html | None:
    """The same, opened by a click."""
    found = row_table(records)
    return None if found is None else details(title, found)
