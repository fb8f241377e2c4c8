"""The history of a run that was resumed: what every session tried, and how good the best model was afterwards."""

from __future__ import annotations

from foldwise.report.facts import ReportFacts
from foldwise.report.formatting import NOTHING, duration, number
from foldwise.report.markup import join
from foldwise.report.sections.elements import Section, details, paragraph, table

WORDS = (
    "This run was continued from where it had stopped. Every score of an earlier session was kept, and no finished "
    "fold was computed again. The best model is the one with the best mean score over all folds at the end of the "
    "session. These are search scores, which are optimistic. The estimates above use the settings of all sessions "
    "and are corrected for their selection."
)


def history(facts: ReportFacts) -> Section | None:
    """One line per session."""
    sessions = facts.records("history")
    if len(sessions) < 2:
        return None
    metric = facts.part("task").text("metric_title") or "score"
    heads = ["session", "started (UTC)", "ended", "time", "budget", "settings", "evaluations", "best model", metric]
    rows = [
        [
            number(one.number("number")),
            one.text("started").replace("T", " ")[:16],
            one.text("ended"),
            duration(one.number("seconds")),
            duration(one.number("budget")),
            number(one.number("n_settings")),
            number(one.number("n_models")),
            one.text("best") or NOTHING,
            number(one.number("score")),
        ]
        for one in sessions
    ]
    tried = [[number(one.number("number")), ", ".join(one.texts("models")) or NOTHING] for one in sessions]
    body = [
        paragraph(WORDS),
        table(heads, rows, left=(0, 1, 2, 7)),
        details("Models evaluated in each session", table(["session", "models"], tried, left=(0, 1), class_="small")),
    ]
    return Section("history", "History", join(body))
