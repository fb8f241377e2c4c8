"""The top of the page: expected performance, what the model uses, and warnings."""

from __future__ import annotations

import math

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, duration, estimate_text, number, percent, test_rows_name
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import bar, ends_of, interval, point
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.sections.columns import ranked_columns
from foldwise.report.sections.elements import bullets, details, figure, paragraph, strip_row, strips, table

TOP_COLUMNS = 5
LARGE_CALIBRATION_ERROR = 0.1
CHANCE = 1.26  # the error of perfect probabilities in ten bins of n rows is up to about this / √n


def headline(facts: ReportFacts) -> Html:
    """Title, sentences, the estimate in a picture, and two boxes."""
    words = facts.part("headline").texts("words")
    target = facts.part("task").text("target")
    title = f"Predicting {target}" if target else facts.text("title") or "A report without facts"
    return el(
        "header",
        el("p", overview(facts), class_="kicker"),
        el("h1", title),
        *(paragraph(word, "lead" if i == 0 else None) for i, word in enumerate(words)),
        performance(facts),
        other_metrics(facts),
        separate_test(facts),
        el("div", final_model(facts), warnings(facts), class_="boxes"),
    )


def overview(facts: ReportFacts) -> str:
    """One line on the table and the date."""
    task = facts.part("task")
    n_rows, n_columns, n_classes = task.number("n_rows"), task.number("n_columns"), len(task.items("classes"))
    held_out = facts.part("headline", "test").number("share") or facts.part("coverage").flag("guaranteed")
    rows = "training rows" if held_out else "rows"  # the table has more rows than the models learn from
    pieces = [
        facts.text("title"),
        "" if n_rows is None else counted(n_rows, "row", rows),
        "" if n_columns is None else counted(n_columns, "column", "columns"),
        counted(n_classes, "class", "classes") if n_classes else "",
        facts.part("made").text("when")[:10].replace("-", "\u2011"),  # hyphens that do not break
    ]
    return " · ".join(filter(None, pieces))


def performance(facts: ReportFacts) -> Html | None:
    """The honest estimate with its interval, next to the search score and the baseline."""
    estimate, baseline = facts.part("headline", "estimate"), facts.part("headline", "baseline")
    ends = ends_of([estimate, baseline])
    if not ends:
        return None
    scale, task = around(ends), facts.part("task")
    title = estimate.text("title") or task.text("metric_title") or "score"
    rows = []
    if estimate.number("value") is not None:
        value = estimate_text(estimate)
        mark = interval(scale, estimate, "main", f"{title}: {value}")
        about = "corrected for model selection"
        about += "" if estimate.number("low") is None else ", with its 95% interval"
        label = row_label("Honest estimate", about)
        rows.append(strip_row(label, mark, value, "figure main"))
    if (search := estimate.number("search_score")) is not None:
        label = row_label("Search score (optimistic)", "cross-validated on the rows used to select the model")
        rows.append(strip_row(label, point(scale, search, f"search score: {number(search)}"), number(search)))
    if baseline.number("value") is not None:
        value = estimate_text(baseline)
        mark = interval(scale, baseline, "plain", f"baseline: {value}")
        constant = "the mean" if is_regression(facts) else "the class frequencies"
        rows.append(strip_row(row_label("Baseline", f"predicts {constant}"), mark, value))
    better = "higher" if estimate.flag("greater_is_better", task.flag("greater_is_better")) else "lower"
    method = estimate.text("method")
    return figure(
        f"Expected performance on new data ({title}, {better} is better)",
        strips(rows, scale, "estimate"),
        paragraph(f"{method[:1].upper()}{method[1:]}. {task.text('scored_folds')}".strip() if method else "", "note"),
        class_="card",
    )


def is_regression(facts: ReportFacts) -> bool:
    """Whether the run predicts a quantity."""
    return facts.part("task").text("task") == "regression"


def row_label(name: str, about: str) -> Html:
    return el("span", el("b", name), " ", el("small", about), class_="name")


def other_metrics(facts: ReportFacts) -> Html | None:
    """The same model by other metrics."""
    rows = []
    for other in facts.part("headline").records("others"):
        estimate = other.part("estimate")
        better = "higher is better" if other.flag("greater_is_better") else "lower is better"
        name = join([other.text("title") or other.text("metric"), " ", el("small", better)])
        rows.append(
            [name, estimate_text(estimate), number(estimate.number("search_score")), number(other.number("baseline"))]
        )
    heads = ["metric", "estimate (95% interval)", "search score (optimistic)", "baseline"]
    return details("Other metrics", table(heads, rows)) if rows else None


def separate_test(facts: ReportFacts) -> Html | None:
    """The scores on the test rows of a run."""
    test = facts.part("headline", "test")
    rows = [[score.text("title"), number(score.number("value"))] for score in test.records("scores")]
    if not rows:
        return None
    unseen = test.number("n_unseen")
    beside = f", {unseen:,.0f} of classes not in the training table" if unseen else ""
    caption = f"On {test_rows_name(test)} ({counted(test.number('n_rows'), 'row', 'rows')}{beside})"
    return el("div", el("h3", caption), table(["metric", "score"], rows, class_="small"))


def final_model(facts: ReportFacts) -> Html | None:
    """What the final model is, how it decides, and its most important columns."""
    final = facts.part("final")
    words = [paragraph(final.text("words")), paragraph(final.text("decides"))]
    bars = top_columns(facts)
    if bars is None and not any(words):
        return None
    return el("div", el("h3", "The final model"), *words, bars, class_="box")


def top_columns(facts: ReportFacts) -> Html | None:
    """The most important columns."""
    ranked = [(one.text("column"), mean) for one, mean in ranked_columns(facts)[:TOP_COLUMNS] if mean > 0]
    if not ranked:
        return None
    scale = Scale(0.0, ranked[0][1], 0.0, 96.0)
    rows = [strip_row(name, bar(scale, mean, None, None, f"{name}: {number(mean)}")) for name, mean in ranked]
    member, title = facts.part("importance_member"), "Most important columns"
    if member:
        weight = percent(member.number("weight"))
        title += f" (for one setting of {member.text('title')}, which has {weight} of the weight)"
    return join([el("h4", title), strips(rows, class_="deciding")])


def warnings(facts: ReportFacts) -> Html:
    """What may make the figures wrong."""
    made = facts.part("made")
    found = facts.part("audit").texts("warnings")
    if made.flag("interrupted"):
        taken = duration(made.number("seconds"))
        found.append(f"The run was interrupted after {taken}. The report shows what was done by then.")
    failed = [entry.text("title") for entry in facts.records("leaderboard") if entry.text("status") == "failed"]
    if failed:
        found.append(f"Some models could not be trained: {', '.join(failed)}.")
    gap, n_rows = (facts.part("predictions").number(name) for name in ("calibration_error", "n"))
    if gap is not None and n_rows and gap > max(LARGE_CALIBRATION_ERROR, 2 * CHANCE / math.sqrt(n_rows)):
        points = f"{100 * gap:.0f} percentage points"
        found.append(f"Predicted probabilities are off by {points} on average. Use them only to rank rows.")
    body = bullets(found) or el("p", "No problems found in the data or in this run.", class_="calm")
    return el("div", el("h3", "Warnings"), body, class_="box warn" if found else "box")
