"""The page of `foldwise tune`: its top, and the pictures of what the strategy did.

The pictures are drawn elsewhere and arrive as encoded PNG files, because their kinds grow with the strategies.
"""

from __future__ import annotations

import re

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import settings_text
from foldwise.report.markup import Html, el, join
from foldwise.report.sections.elements import Section, figure, paragraph
from foldwise.report.sections.headline import overview, performance

BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")

# kind → caption and description
KINDS = {
    "heat_map": ("Scores of the settings", "Each dot is a setting of two hyperparameters, and its color is its score."),
    "parallel": ("All hyperparameters", "Each line is a setting, and its color is its score."),
    "process": (
        "What the search expects",
        "The score that the search's own model, a Gaussian process, expects for each setting. The picture also shows "
        "the settings tried, how promising the untried ones are, and which one the search would try next.",
    ),
    "generations": ("Generations", "The scores of the settings of each generation, their median and the best so far."),
    "paths": ("Paths of the gradient", "The steps from each start to its end point."),
    "best_so_far": ("Best score so far", "The score of each setting in the order of trials, and the best so far."),
    "importance": (
        "Importance of hyperparameters",
        "How much of the variation of scores each one explains.",
    ),
}


def tuning_top(facts: ReportFacts) -> Html:
    """Title, sentences, the estimate in a picture, and the best setting."""
    final, target = facts.part("final"), facts.part("task").text("target")
    best = settings_text(final.part("settings"))
    return el(
        "header",
        el("p", overview(facts), class_="kicker"),
        el("h1", f"Tuning {final.text('title')} to predict {target}"),
        *(paragraph(word, "lead" if i == 0 else None) for i, word in enumerate(facts.part("headline").texts("words"))),
        performance(facts),
        el("div", el("h3", "The best setting"), paragraph(best), paragraph(final.text("words")), class_="box"),
    )


def strategy_pictures(facts: ReportFacts) -> Section | None:
    """The pictures of the search, that of its strategy among them."""
    found = [picture(one) for one in facts.records("pictures")]
    shown = [one for one in found if one is not None]
    words = facts.text("no_pictures")
    if not shown and not words:
        return None
    strategy = facts.part("made").text("strategy")
    grid = el("div", *shown, class_="grid drawings") if shown else None
    return Section("strategy", f"The search (strategy: {strategy})", join([paragraph(words, "note"), grid]))


def picture(one: ReportFacts) -> Html | None:
    """One picture; None if it is not an encoded file."""
    encoded, kind = one.text("png"), one.text("kind")
    if not BASE64.fullmatch(encoded):
        return None
    title, about = KINDS.get(kind, (kind, ""))
    image = el("img", src=f"data:image/png;base64,{encoded}", alt=f"{title}. {about}", class_="drawn")
    return figure(title, image, paragraph(about, "note"))
