"""The leaderboard: every model with its interval, and which are statistically tied with the best."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, duration, estimate_text, number, percent, settings_text
from foldwise.report.markup import Html, el, join
from foldwise.report.pictures.intervals import ends_of, interval
from foldwise.report.pictures.scales import around
from foldwise.report.sections.elements import Section, details, figure, paragraph, strip_row, strips, table

LEGEND = "Each line is a 95% interval, faint dots are single folds, and the vertical line is the baseline."


def leaderboard(facts: ReportFacts) -> Section | None:
    """Models, the best first; those tied with the best are marked."""
    entries = facts.records("leaderboard")
    if not entries:
        return None
    scored = [entry for entry in entries if entry.part("estimate").number("value") is not None]
    body = [
        paragraph(tied_words(scored)),
        ranking(facts, scored) if scored else None,
        paragraph(LEGEND, "note"),
        without_score([entry for entry in entries if entry not in scored]),
        all_models(entries),
    ]
    return Section("leaderboard", "Models", join(body))


def tied_words(scored: list[ReportFacts]) -> str:
    """Which models are statistically tied with the best."""
    if not scored:
        return ""
    tied = [entry.text("title") for entry in scored[1:] if entry.flag("tied")]
    others = f"Statistically tied with it: {', '.join(tied)}." if tied else "No other model is tied with it."
    return f"Best single model: {scored[0].text('title')}. {others if len(scored) > 1 else ''}".strip()


def ranking(facts: ReportFacts, scored: list[ReportFacts]) -> Html:
    """One strip per model on a common scale."""
    baseline = facts.part("headline", "baseline").number("value")
    more = scored[0].numbers("folds") + ([] if baseline is None else [float(baseline)])
    estimates = [entry.part("estimate") for entry in scored]
    scale = around(ends_of(estimates, more, names=("value", "low", "high")))
    rows = []
    for i, (entry, estimate) in enumerate(zip(scored, estimates, strict=True)):
        title, value = entry.text("title"), estimate_text(estimate)
        kind = "main" if i == 0 or entry.flag("tied") else "plain"
        mark = interval(scale, estimate, kind, f"{title}: {value}", entry.numbers("folds"), baseline)
        rows.append(strip_row(el("span", title, *tags(entry, first=i == 0), class_="name"), mark, value))
    return figure(facts.part("task").text("metric_title"), strips(rows, scale), class_="card")


def tags(entry: ReportFacts, first: bool) -> list[Html]:
    """Tags behind the name of a model."""
    weight = entry.number("weight")
    found = []
    if not first and entry.flag("tied"):
        found.append(join([" ", el("small", "tied", class_="tag")]))
    if weight is not None and weight > 0:
        found.append(join([" ", el("small", f"{percent(weight)} of the final model", class_="tag strong")]))
    return found


def without_score(entries: list[ReportFacts]) -> Html | None:
    """Models without a score, and why."""
    rows = [
        el("li", el("b", entry.text("title")), ": ", ", ".join(filter(None, map(entry.text, ("status", "why")))))
        for entry in entries
    ]
    return join([el("h3", "Without a score"), el("ul", *rows)]) if rows else None


def all_models(entries: list[ReportFacts]) -> Html:
    """Settings and figures of each model."""
    rows = []
    for entry in entries:
        estimate, n_settings, p = entry.part("estimate"), entry.number("n_settings"), entry.number("p")
        tried = "" if n_settings is None else counted(n_settings, "setting", "settings")
        settings = settings_text(entry.part("settings"), "default settings" if estimate and n_settings else "")
        figures = [
            estimate_text(estimate),
            number(estimate.number("search_score")),
            "" if p is None else number(p),
            tried,
        ]
        rows.append([entry.text("title"), *figures, duration(entry.number("seconds")), settings])
    heads = [
        "model",
        "estimate (95% interval)",
        "search score (optimistic)",
        "p against the best",
        "tried",
        "time",
        "best settings",
    ]
    return details("Scores and settings of every model", table(heads, rows, left=(0, 6)))
