"""The page of a refit: the old and the new model on the same held-out rows."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import number
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import ends_of, interval
from foldwise.report.pictures.scales import around
from foldwise.report.sections.elements import Section, bullets, details, figure, strip_row, strips, table


def refit_top(facts: ReportFacts) -> Html:
    """The title and the answer."""
    return join([el("h1", f"Refitting on {facts.text('title') or 'new rows'}"), bullets(facts.texts("sentences"))])


def refit_scores(facts: ReportFacts) -> Section | None:
    """Both models with intervals, and their scores by fold."""
    sides = [(name, facts.part(name.split()[0])) for name in ("old model", "new model")]
    if not all(side for _, side in sides):
        return None
    scale = around(ends_of([side for _, side in sides], names=("value", "low", "high")), 0.02)
    rows = [
        strip_row(
            name, interval(scale, side, "main" if name == "new model" else "plain", name), number(side.number("value"))
        )
        for name, side in sides
    ]
    folds = [
        [str(i + 1), number(one.number("old")), number(one.number("new"))]
        for i, one in enumerate(facts.records("folds"))
    ]
    title = facts.text("metric_title")
    body = [
        figure(title[:1].upper() + title[1:], strips(rows, scale), class_="card"),
        details("Scores by fold", table(["fold", "old model", "new model"], folds)),
    ]
    return Section("refit", "Old and new model", join(body))
