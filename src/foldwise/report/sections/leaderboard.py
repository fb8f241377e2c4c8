"""The leaderboard: every model with its interval, and which are really different."""

from __future__ import annotations

from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import axis, ends_of, folds_of, interval
from foldwise.report.pictures.scales import around
from foldwise.report.reading import (
    Facts,
    counted,
    defined,
    duration,
    estimate_text,
    number,
    part,
    percent,
    records,
    short,
    text,
)
from foldwise.report.sections.blocks import Section, folded, paragraph, table


def leaderboard(facts: Facts) -> Section | None:
    """Models best first; those tied with the best are marked."""
    entries = records(facts, "leaderboard")
    if not entries:
        return None
    scored = [entry for entry in entries if defined(part(entry, "estimate").get("value"))]
    others = [entry for entry in entries if entry not in scored]
    body = [
        paragraph(tied_words(scored)),
        ranking(facts, scored) if scored else None,
        paragraph(
            "A line is the 95 % interval, faint dots are single folds; the upright line is the baseline.", "note"
        ),
        unfinished(others),
        details(entries),
    ]
    return Section("leaderboard", "Which model", join(body))


def tied_words(scored: list[Facts]) -> str:
    """Which models cannot be told apart from the best."""
    if not scored:
        return ""
    best = sentence(text(scored[0], "title"))
    tied = [text(entry, "title") for entry in scored[1:] if entry.get("tied")]
    if not tied:
        return f"{best} is best; no other model is tied with it." if len(scored) > 1 else f"{best} was the only one."
    names = tied[0] if len(tied) == 1 else f"{', '.join(tied[:-1])} and {tied[-1]}"
    return f"{best} comes first, but the data do not tell it apart from {names}."


def sentence(words: str) -> str:
    """Words that begin a sentence."""
    return words[:1].upper() + words[1:]


def ranking(facts: Facts, scored: list[Facts]) -> Html:
    """One strip a model on a common scale."""
    estimates = [part(entry, "estimate") for entry in scored]
    baseline = part(facts, "headline", "baseline").get("value")
    more = [float(baseline)] if defined(baseline) else []
    for entry in scored[:1]:
        more += folds_of(entry)
    scale = around(ends_of([{**e, "naive": None} for e in estimates], more))
    lines = []
    for entry, estimate in zip(scored, estimates, strict=True):
        first = entry is scored[0]
        tied = first or bool(entry.get("tied"))
        words = f"{text(entry, 'title')}: {estimate_text(estimate)}"
        name = el("span", text(entry, "title"), remark(entry, first), class_="name")
        mark = interval(scale, estimate, "main" if tied else "plain", words, folds_of(entry), baseline)
        lines.append(join([name, mark, el("span", estimate_text(estimate), class_="figure")]))
    metric = text(part(facts, "task"), "metric_title")
    return el(
        "figure",
        el("figcaption", metric) if metric else None,
        el("div", *lines, el("span"), axis(scale), el("span"), class_="strips"),
        class_="card",
    )


def remark(entry: Facts, first: bool) -> Html | None:
    """A mark behind a name."""
    weight = entry.get("weight")
    marks = []
    if not first and entry.get("tied"):
        marks.append(el("small", "tied", class_="tag"))
    if defined(weight) and weight > 0:
        marks.append(el("small", f"{percent(weight)} of the final model", class_="tag strong"))
    return join([" ", *marks]) if marks else None


def unfinished(others: list[Facts]) -> Html | None:
    """Models without a score, and why."""
    if not others:
        return None
    lines = []
    for entry in others:
        why = text(entry, "why")
        words = f": {text(entry, 'status')}{', ' + why if why else ''}"
        lines.append(el("li", el("b", text(entry, "title")), words))
    return join([el("h3", "Without a score"), el("ul", *lines)])


def details(entries: list[Facts]) -> Html:
    """Settings and figures of each model."""
    rows = []
    for entry in entries:
        settings = ", ".join(f"{name} = {short(value)}" for name, value in part(entry, "settings").items())
        p = entry.get("p")
        rows.append(
            [
                text(entry, "title"),
                estimate_text(part(entry, "estimate")),
                number(part(entry, "estimate").get("naive")),
                number(p) if defined(p) else "",
                counted(entry.get("n_settings"), "setting", "settings") if defined(entry.get("n_settings")) else "",
                duration(entry.get("seconds")),
                settings or ("as it comes" if part(entry, "estimate") and entry.get("n_settings") else ""),
            ]
        )
    heads = ["model", "estimate (95 % interval)", "naive", "p against the best", "tried", "time", "its best settings"]
    return folded("Figures and settings of every model", table(heads, rows, left=(0, 6)))
