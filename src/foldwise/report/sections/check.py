"""The page of a check: what changed since training, column by column, and the scores to expect and found."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import NOTHING, counted, fixed, number, p_text, percent
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import bar, ends_of, interval
from foldwise.report.pictures.scales import around
from foldwise.report.sections.elements import Section, bullets, details, figure, paragraph, strip_row, strips, table

SHOWN = 200
HEADS = [
    "column",
    "PSI",
    "KS",
    "JS",
    "missing before",
    "missing now",
    "cells with a new category",
    "corrected p",
    "effect",
    "",
]


def check_top(facts: ReportFacts) -> Html:
    """The title and the answer."""
    state = facts.text("state") or ("changed" if facts.flag("changed") else "not changed")
    words = {"changed": "Changed since training", "not changed": "No column has changed since training"}
    changed = words.get(state, f"{state[:1].upper()}{state[1:]}")
    rows, predicted = facts.number("rows"), facts.number("rows_predicted")
    size = counted(rows, "row", "rows")
    if predicted is not None and rows is not None and 0 < predicted < rows:
        size += f"; predictions are of a random sample of {number(predicted)} of them"
    return join(
        [
            el("h1", f"Checking {facts.text('title') or 'new rows'}"),
            el("p", f"{changed}. {size}.", class_="lead"),
            bullets(facts.texts("sentences")),
        ]
    )


def changed_columns(facts: ReportFacts) -> Section | None:
    """All columns, with the effect of those that moved."""
    columns = facts.records("columns")
    if not columns:
        return None
    moved = [(one, effect) for one in columns if (effect := one.number("effect")) is not None]
    picture = None
    if moved:
        scale = around([0.0, *(effect for _, effect in moved)], 0.02)
        rows = [
            strip_row(
                one.text("column"),
                bar(scale, effect, None, None, f"{one.text('column')}: {number(effect)}"),
                fixed(effect, 3),
            )
            for one, effect in moved[:30]
        ]
        title = "How much predictions would change if a column were distributed as in training"
        picture = figure(title, strips(rows, scale), class_="card")
    shown = [column_row(one) for one in columns[:SHOWN]]
    first = [row for row, one in zip(shown, columns, strict=False) if one.flag("changed")]
    rest = [row for row, one in zip(shown, columns, strict=False) if not one.flag("changed")]
    body = [
        picture,
        table(HEADS, first, left=(0, 9)) if first else None,
        details(f"{counted(len(rest), 'column', 'columns')} that did not change", table(HEADS, rest, left=(0, 9)))
        if rest
        else None,
        paragraph(f"The first {SHOWN} columns are shown." if len(columns) > SHOWN else None, "note"),
        paragraph(facts.text("rule"), "note"),
    ]
    return Section("columns", "Columns", join(body))


def column_row(one: ReportFacts) -> list[str]:
    unseen = one.number("n_unseen")
    return [
        one.text("column"),
        number(one.number("psi")),
        number(one.number("ks")),
        number(one.number("js")),
        percent(one.number("missing_before"), 1),
        percent(one.number("missing_now"), 1),
        number(unseen) if unseen else "",
        p_text(one.number("p_corrected")),
        number(one.number("effect")),
        "changed" if one.flag("changed") else "",
    ]


def check_scores(facts: ReportFacts) -> Section | None:
    """Expected and actual scores, and the estimate of the run."""
    expected = {one.text("metric"): one for one in facts.records("expected")}
    realized = {one.text("metric"): one for one in facts.records("realized")}
    if not expected and not realized:
        return None
    figures = []
    for name in dict.fromkeys([*realized, *expected]):
        hope, real = expected.get(name, ReportFacts()), realized.get(name, ReportFacts())
        promise = ReportFacts({key: real.values.get(f"promise{end}") for key, end in ENDS})
        lines = [
            ("estimate of the run", promise),
            ("expected on these rows", hope),
            ("actual on these rows", real),
        ]
        shown = [(words, one) for words, one in lines if one.number("value") is not None]
        scale = around(ends_of([one for _, one in shown], names=("value", "low", "high")), 0.02)
        rows = [
            strip_row(words, interval(scale, one, "main" if one is real else "plain", words), score_text(one))
            for words, one in shown
        ]
        title = real.text("title") or hope.text("title")
        figures.append(figure(title[:1].upper() + title[1:], strips(rows, scale), class_="card"))
    body = [figures[0], details("Other metrics", *figures[1:]) if len(figures) > 1 else None, paragraph(WORDS, "note")]
    return Section("scores", "Scores", join(body))


ENDS = (("value", ""), ("low", "_low"), ("high", "_high"))
WORDS = (
    "The expected score follows from the predictions, and from how good such predictions were for held-out rows of the "
    "training table. Its interval holds if the relation between columns and target is the same as in training. "
    "Intervals are 95% intervals."
)


def score_text(one: ReportFacts) -> str:
    value = one.number("value")
    return NOTHING if value is None else number(value)


def check_schema(facts: ReportFacts) -> Section | None:
    """Columns that are missing or not used, and the distribution of predictions."""
    missing, extra = facts.texts("missing_columns"), facts.texts("extra_columns")
    predictions = facts.part("predictions")
    lines = []
    if missing:
        lines.append(f"Missing columns: {', '.join(missing[:SHOWN])}.")
    if extra:
        lines.append(f"Columns that the model does not use: {', '.join(extra[:SHOWN])}.")
    if predictions:
        lines.append(
            f"Predictions {'differ' if facts.flag('predictions_differ') else 'do not clearly differ'} from those of "
            f"held-out training rows (PSI {number(predictions.number('psi'))}, KS {number(predictions.number('ks'))})."
        )
    title = "Columns and predictions" if missing or extra else "Predictions"
    return Section("schema", title, join([bullets(lines)])) if lines else None
