"""Slices of the table: every metric by category or range of a column, and which slices differ from the rest."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import NOTHING, counted, number, p_text
from foldwise.report.markup import Html, join
from foldwise.report.pictures.intervals import ends_of, interval
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.sections.elements import Section, bullets, details, figure, paragraph, strip_row, strips, table

SHOWN = 6  # differences
CLEAR = ("better", "worse", "differs")
WORDS = {"calibration": "Calibration: observed minus predicted"}


def slices(facts: ReportFacts) -> Section | None:
    """The section on slices of a run or of a check."""
    found = facts.part("slices")
    scores = found.records("scores")
    if not scores:
        return None
    *clear, note = found.texts("words") or [""]
    names = list(dict.fromkeys(one.text("metric") for one in scores))
    pictures = [metric_figure([one for one in scores if one.text("metric") == name], found, name) for name in names]
    shown = [pictures[0], *([pictures[-1]] if len(pictures) > 1 else [])]  # the metric of the run, and the calibration
    tested = found.number("tests") != 0
    body = [
        None if tested else paragraph(note),
        bullets(clear[:SHOWN]) if clear else paragraph("No slice differs clearly from the rest." if tested else ""),
        details(f"{len(clear) - SHOWN} more differences", bullets(clear[SHOWN:])) if len(clear) > SHOWN else None,
        *shown,
        details("Other metrics", *pictures[1:-1]) if len(pictures) > 2 else None,
        details("All scores", table(*all_scores(scores), left=(0, 1, 7))),
        paragraph(note if tested else "", "note"),
    ]
    return Section("slices", "Slices of the table", join(body))


def metric_figure(scores: list[ReportFacts], found: ReportFacts, name: str) -> Html:
    """One metric of all slices."""
    overall = found.part("overall").number(name)
    scale = around(ends_of(scores, [] if overall is None else [overall], names=("value", "low", "high")), 0.02)
    title = scores[0].text("title") if scores else name
    title = WORDS.get(name, title[:1].upper() + title[1:])
    return figure(title, strips([slice_row(one, scale, overall) for one in scores], scale), class_="card")


def slice_row(one: ReportFacts, scale: Scale, overall: float | None) -> Html:
    verdict = one.text("verdict")
    shown = "no clear difference" if verdict == "not clear" else verdict
    name = f"{one.text('column')}: {one.text('label')}"
    words = f"{name}: {score_text(one)}, {counted(one.number('n_rows'), 'row', 'rows')}, {shown}"
    mark = interval(scale, one, "main" if verdict in CLEAR else "plain", words, reference=overall)
    value = f"{number(one.number('value'))}{f' {verdict}' if verdict in (*CLEAR, 'not tested') else ''}"
    return strip_row(name, mark, value)


def score_text(one: ReportFacts) -> str:
    low, high = one.number("low"), one.number("high")
    between = "" if low is None or high is None else f" ({number(low)} to {number(high)})"
    return f"{number(one.number('value'))}{between}"


def all_scores(scores: list[ReportFacts]) -> tuple[list[str], list[list[str]]]:
    """The headings and rows of the table of all scores."""
    heads = ["slice", "metric", "rows", "score (95% interval)", "rest", "difference", "corrected p", "verdict"]
    rows = [
        [
            f"{one.text('column')}: {one.text('label')}",
            one.text("title"),
            number(one.number("n_rows")),
            score_text(one),
            number(one.number("rest")),
            number(one.number("difference")),
            p_text(one.number("p_corrected")) or NOTHING,
            one.text("verdict"),
        ]
        for one in scores
    ]
    return heads, rows
