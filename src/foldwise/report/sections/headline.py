"""The top of the page, in words that need no training: how good really, what decides, what to beware of."""

from __future__ import annotations

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import axis, bar, ends_of, interval, point
from foldwise.report.pictures.scales import Scale, around
from foldwise.report.reading import (
    Facts,
    counted,
    defined,
    duration,
    estimate_text,
    items,
    number,
    part,
    percent,
    records,
    text,
    texts,
)
from foldwise.report.sections.blocks import bullets, folded, paragraph, table

DECIDING = 5  # columns that the top names


def headline(facts: Facts) -> Html:
    """Title, sentences, the estimate in a picture, and two boxes."""
    words = texts(part(facts, "headline"), "words")
    target = text(part(facts, "task"), "target")
    title = f"Predicting {target}" if target else text(facts, "title") or "A report without facts"
    boxes = join([decides(facts), beware(facts)])
    return el(
        "header",
        el("p", about(facts), class_="kicker"),
        el("h1", title),
        paragraph(words[0], "lead") if words else None,
        *(paragraph(word) for word in words[1:]),
        honest(facts),
        other_measures(facts),
        separate_test(facts),
        el("div", boxes, class_="boxes") if boxes else None,
    )


def about(facts: Facts) -> str:
    """One line on what was looked at."""
    task, made = part(facts, "task"), part(facts, "made")
    pieces = [text(facts, "title")]
    if defined(task.get("n_rows")):
        pieces.append(counted(task["n_rows"], "row", "rows"))
    if defined(task.get("n_columns")):
        pieces.append(counted(task["n_columns"], "column", "columns"))
    if items(task, "classes"):
        pieces.append(counted(len(items(task, "classes")), "class", "classes"))
    if text(made, "when"):
        pieces.append(text(made, "when")[:10])
    return " · ".join(piece for piece in pieces if piece)


def honest(facts: Facts) -> Html | None:
    """The estimate with its interval beside the naive figure and the baseline."""
    top = part(facts, "headline")
    estimate, baseline = part(top, "estimate"), part(top, "baseline")
    ends = ends_of([estimate, baseline])
    if not ends:
        return None
    scale = around(ends)
    title = text(estimate, "title") or text(part(facts, "task"), "metric_title")
    greater = bool(estimate.get("greater", part(facts, "task").get("greater")))
    lines = []
    if defined(estimate.get("value")):
        words = f"{title}: {estimate_text(estimate)}"
        mark = interval(scale, estimate, "main", words)
        lines += [
            line("On new rows", "the honest estimate, with its 95 % interval", mark, estimate_text(estimate), "main")
        ]
    if defined(estimate.get("naive")):
        naive = number(estimate["naive"])
        mark = point(scale, float(estimate["naive"]), f"naive: {naive}")
        lines += [line("Naive", "what the search itself would report", mark, naive)]
    if defined(baseline.get("value")):
        mark = interval(scale, baseline, "plain", f"baseline: {estimate_text(baseline)}")
        lines += [line("Baseline", "without looking at any column", mark, estimate_text(baseline))]
    direction = "to the right is better" if greater else "to the left is better"
    return el(
        "figure",
        el("figcaption", f"How good really: {title}, {direction}" if title else direction),
        el("div", *lines, el("span"), axis(scale), el("span"), class_="strips estimate"),
        paragraph(f"How it was found: {text(estimate, 'method')}." if text(estimate, "method") else "", "note"),
        class_="card",
    )


def line(name: str, about: str, mark: Html, figures: str, class_: str | None = None) -> Html:
    label = el("span", el("b", name), " ", el("small", about), class_="name")
    return join([label, mark, el("span", figures, class_=f"figure {class_ or ''}".strip())])


def other_measures(facts: Facts) -> Html | None:
    """The same procedure by other metrics."""
    others = records(part(facts, "headline"), "others")
    if not others:
        return None
    rows = []
    for other in others:
        estimate = part(other, "estimate")
        better = "more is better" if other.get("greater") else "less is better"
        name = text(other, "title") or text(other, "metric")
        cells = [estimate_text(estimate), number(estimate.get("naive")), number(other.get("baseline"))]
        rows.append([join([name, " ", el("small", better)]), *cells])
    heads = ["measure", "estimate (95 % interval)", "naive", "baseline"]
    return folded("The same by other measures", table(heads, rows))


def separate_test(facts: Facts) -> Html | None:
    """The scores on a test table of its own."""
    test = part(facts, "headline", "test")
    scores = [[text(score, "title"), number(score.get("value"))] for score in records(test, "scores")]
    if not scores:
        return None
    caption = f"On the separate test table ({counted(test.get('n_rows'), 'row', 'rows')})"
    return el("div", el("h3", caption), table(["measure", "score"], scores, class_="small"))


def decides(facts: Facts) -> Html | None:
    """What the final model is, how it decides, which columns carry it."""
    final = part(facts, "final")
    bars = deciding_columns(facts)
    words = [text(final, "words"), text(final, "decides")]
    if not bars and not any(words):
        return None
    return el("div", el("h3", "What decides"), *(paragraph(word) for word in words), bars, class_="box")


def deciding_columns(facts: Facts) -> Html | None:
    """The most important columns."""
    ranked = [entry for entry in records(facts, "importance") if defined(entry.get("mean"))]
    ranked = sorted(ranked, key=lambda entry: -entry["mean"])[:DECIDING]
    ranked = [entry for entry in ranked if entry["mean"] > 0]
    if not ranked:
        return None
    scale = Scale(0.0, max(entry["mean"] for entry in ranked), 0.0, 96.0)
    lines = []
    for entry in ranked:
        words = f"{text(entry, 'column')}: {number(entry['mean'])}"
        lines += [el("span", text(entry, "column"), class_="name"), bar(scale, entry["mean"], None, None, words)]
    return el("div", *lines, class_="strips deciding")


def beware(facts: Facts) -> Html:
    """What may make the figures wrong."""
    warnings = texts(part(facts, "audit"), "warnings")
    made = part(facts, "made")
    if made.get("interrupted"):
        warnings.append(f"The run was stopped after {duration(made.get('seconds'))}; what was done by then is here.")
    broken = [text(entry, "title") for entry in records(facts, "leaderboard") if entry.get("status") == "failed"]
    if broken:
        warnings.append(f"Not every model could be trained: {', '.join(broken)}.")
    gap = part(facts, "predictions").get("calibration_error")
    if defined(gap) and gap > 0.1:
        warnings.append(f"Probabilities are off by {percent(gap)} on average: read them as a ranking.")
    body = bullets(warnings) or el("p", "Nothing in the table or in the run calls for caution.", class_="calm")
    return el("div", el("h3", "What to beware of"), body, class_="box warn" if warnings else "box")
