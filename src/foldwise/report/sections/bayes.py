"""The interactive nomogram of naive Bayes, and its table of probabilities."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import listing
from foldwise.report.markup import Html, el, embedded, join
from foldwise.report.sections.elements import Section, details, paragraph, table

WORDS = (
    "A naive Bayes model adds up the evidence of each value. To see the probabilities of a row, choose its values with "
    "the controls or by clicking dots. Click a class to see the evidence for and against it. The final "
    "model may predict differently."
)


def bayes(facts: ReportFacts) -> Section | None:
    """The nomogram, drawn by the page's own script, and the table."""
    model = facts.part("bayes")
    if hidden := model.text("hidden"):
        words = f"The nomogram is not shown, because {hidden}. {model.text('words')}".strip()
        return Section("nomogram", "Naive Bayes nomogram", join([paragraph(words)]))
    if not model.items("classes") or not model.records("columns"):
        return None
    kept = {name: model.values.get(name) for name in ("classes", "log_prior", "rest", "columns", "inverse")}
    body = [
        paragraph(f"{WORDS} {model.text('words')}".strip()),
        el("div", el("noscript", "The nomogram needs JavaScript."), id="nomogram-room", class_="card"),
        columns_not_shown(model),
        probability_table(model),
        embedded(kept, "nomogram-facts"),
    ]
    return Section("nomogram", "Naive Bayes nomogram", join(body))


def columns_not_shown(model: ReportFacts) -> Html | None:
    """Columns without an axis count as missing."""
    by_reason: dict[str, list[str]] = {}
    for column in model.records("not_shown"):
        by_reason.setdefault(column.text("why"), []).append(column.text("name"))
    reasons = [f"{listing(names)} ({why})" for why, names in by_reason.items()]
    return paragraph(f"Not shown and treated as missing: {'; '.join(reasons)}." if reasons else None, "note")


def probability_table(model: ReportFacts) -> Html | None:
    """Attribute, parameter, and one column per class."""
    found, classes = model.part("table"), [str(name) for name in model.items("classes")]
    lines = [[str(cell) for cell in line] for line in found.items("lines") if line and len(line) == len(classes) + 2]
    if not lines:
        return None
    rows = []
    for i, line in enumerate(lines):
        same = i > 0 and line[0] == lines[i - 1][0]
        rows.append(["" if same else line[0], *line[1:]])
    hidden = found.number("hidden")
    note = paragraph(f"{number_of_lines(hidden)} not shown." if hidden else None, "note")
    return details("Naive Bayes table", table(["attribute", "parameter", *classes], rows, left=(0, 1)), note)


def number_of_lines(hidden: float) -> str:
    return f"{hidden:,.0f} more {'line is' if hidden == 1 else 'lines are'}"
