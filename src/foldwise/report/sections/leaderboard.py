"""The leaderboard: every model with its interval, and which are statistically tied with the best."""

from __future__ import annotations

from collections.abc import Sequence

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import counted, duration, estimate_text, number, p_text, percent, settings_text
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
        paragraph(tied_words(facts, scored)),
        ranking(facts, scored) if scored else None,
        paragraph(f"{LEGEND} {facts.part('task').text('scored_folds')}".strip(), "note"),
        without_score([entry for entry in entries if entry not in scored]),
        all_models(entries),
    ]
    return Section("leaderboard", "Models", join(body))


def tied_words(facts: ReportFacts, scored: list[ReportFacts]) -> str:
    """Which model is best, if the test against the baseline says so, and which are statistically tied with it."""
    models = [entry for entry in scored if entry.text("model") != "baseline"]
    if not models:
        return ""
    first, verdict = models[0].text("title"), facts.part("headline", "verdict")
    if len(models) == 1:
        start = f"Only one model was scored: {first}."
        clear = verdict.flag("best")
        against = f"It is {'' if clear else 'not '}clearly better than the baseline." if verdict else ""
        return " ".join(filter(None, [start, against, other_calibration(facts, models[0])]))
    names = [entry.text("title") for entry in models[1:] if entry.flag("tied")]
    tied = f"Statistically tied with it: {', '.join(names)}." if names else "No other model is tied with it."
    members = [entry.text("title") for entry in models if (entry.number("weight") or 0) > 0]
    quantity = facts.part("task").text("task") == "regression"
    if not verdict:
        related = "" if first in members else membership(first, members, quantity=quantity)
        return f"Best estimate: {first}. {tied} {related}".strip()
    if verdict.flag("best"):
        related = membership(first, members, quantity=quantity) or other_calibration(facts, models[0])
        return f"Best single model: {first}. {tied} {related}".strip()
    related = other_calibration(facts, models[0])
    if first not in members:
        related = membership(first, members, quantity=quantity)
    return f"No single model is clearly better than the baseline. Best estimate: {first}. {tied} {related}".strip()


def membership(best: str, members: Sequence[str], *, quantity: bool = False) -> str:
    """Say what the best single model has to do with the final model, unless they are the same.

    >>> membership("kNN", ["CatBoost", "kNN"])
    'The final model combines it with CatBoost.'
    >>> membership("kNN", ["CatBoost", "kNN", "logistic regression"])
    'The final model combines it with CatBoost and logistic regression.'
    >>> membership("kNN", ["CatBoost"], quantity=True).partition(". ")[0]
    'The final model does not contain kNN, which has the best estimate'
    """
    others = [title for title in members if title != best]
    if not others:
        return ""
    if best in members:
        named = ", ".join(others[:-1]) + f" and {others[-1]}" if len(others) > 1 else others[0]
        return f"The final model combines it with {named}."
    missing = f"The final model does not contain {best}, which has the best estimate."
    scores = "search scores" if quantity else "scores before calibration"
    return f"{missing} Members are selected by their {scores}, and only if there is time to fit them again on all rows."


def other_calibration(facts: ReportFacts, best: ReportFacts) -> str:
    """Say why the final model, if it is this model alone, has another estimate."""
    here, above = (part.number("value") for part in (best.part("estimate"), facts.part("headline", "estimate")))
    if best.number("weight") != 1 or number(here) == number(above):
        return ""
    several = len([entry for entry in facts.records("leaderboard") if entry.text("model") != "baseline"]) > 1
    words = two_estimates(several_models=several)
    if facts.part("task").text("task") == "regression":
        return f"The final model is this model alone. {words}"
    return f"The final model is this model alone, with a calibration of its own. {words}"


def two_estimates(*, several_models: bool) -> str:
    """Say why a final model of a single setting has two estimates."""
    chosen = "models, settings and weights" if several_models else "settings and weights"
    return (
        "Its estimate at the top differs from the one in the list of models. For the one at the top, "
        f"{chosen} are chosen again for each fold. For the one in the list, only the setting of this model is "
        "chosen again."
    )


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
    """Models without a score, in one line; the table of all models says why."""
    by_status: dict[str, list[str]] = {}
    for entry in entries:
        by_status.setdefault(entry.text("status") or "not scored", []).append(entry.text("title"))
    groups = [f"{status[:1].upper()}{status[1:]}: {', '.join(titles)}." for status, titles in by_status.items()]
    return paragraph(" ".join(["Models without a score.", *groups]) if groups else None, "note")


def all_models(entries: list[ReportFacts]) -> Html:
    """Settings and figures of each model."""
    rows = []
    for entry in entries:
        estimate, n_settings, p = entry.part("estimate"), entry.number("n_settings"), entry.number("p")
        tried = counted(n_settings, "setting", "settings") if n_settings else ""
        settings = settings_text(entry.part("settings"), "default settings" if estimate and n_settings else "")
        why = entry.text("why") if estimate.number("value") is None else ""
        figures = [
            estimate_text(estimate),
            number(estimate.number("search_score")),
            p_text(p),
            tried,
        ]
        rows.append([entry.text("title"), *figures, duration(entry.number("seconds")), why or settings])
    heads = [
        "model",
        "estimate (95% interval)",
        "search score (optimistic)",
        "p against the best",
        "tried",
        "time",
        "best settings, or why there is no score",
    ]
    return details("Scores and settings of every model", table(heads, rows, left=(0, 6)))
