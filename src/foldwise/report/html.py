"""`render`: format the facts of a run as one HTML file that loads nothing and escapes all text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from foldwise.errors import InputError
from foldwise.report.facts import ReportFacts
from foldwise.report.markup import Html, el, join
from foldwise.report.sections.bayes import bayes
from foldwise.report.sections.check import changed_columns, check_schema, check_scores, check_top
from foldwise.report.sections.columns import audit, importance
from foldwise.report.sections.coverage import coverage
from foldwise.report.sections.elements import Section
from foldwise.report.sections.examples import examples
from foldwise.report.sections.exploration.answers import top
from foldwise.report.sections.exploration.clusters import clusters
from foldwise.report.sections.exploration.findings import factors, outliers, remarkable, rules
from foldwise.report.sections.exploration.map import map_section
from foldwise.report.sections.glossary import glossary
from foldwise.report.sections.headline import headline
from foldwise.report.sections.history import history
from foldwise.report.sections.leaderboard import leaderboard
from foldwise.report.sections.predictions import curves, mistakes
from foldwise.report.sections.refit import refit_scores, refit_top
from foldwise.report.sections.reproduction import reproduction
from foldwise.report.sections.residuals import errors, residuals_by_column
from foldwise.report.sections.searches import searches
from foldwise.report.sections.slices import slices
from foldwise.report.sections.tuning import strategy_pictures, tuning_top

FORMAT = 1
EXPLORATION = (map_section, clusters, outliers, rules, factors, remarkable, audit, reproduction)
REFIT = (refit_scores,)
CHECK = (check_scores, changed_columns, slices, check_schema)
TUNING = (strategy_pictures, searches, reproduction)
SECTIONS = (
    *(leaderboard, mistakes, curves, errors, residuals_by_column, coverage, slices, importance, examples, bayes),
    *(audit, searches, history, reproduction, glossary),
)
SCRIPTS = ("nomogram", "map")  # for sections that embed facts of this name
# nothing may be loaded, whatever the facts hold: only the page's own script runs, and pictures lie in the page
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def render(facts: dict[str, Any]) -> str:
    """Render the facts of a run as one HTML file.

    Parameters
    ----------
    facts : dict
        The facts of a run in format 1, as `run.json` holds them. Parts that are None or missing are left out.

    Returns
    -------
    str
        The text of the HTML file.

    Examples
    --------
    >>> from foldwise.report import render
    >>> render({"format": 1, "title": "loans"}).startswith("<!doctype html>")
    True
    """
    if facts.get("format", FORMAT) != FORMAT:
        raise InputError(
            f"the facts of a run must be in format {FORMAT}, got format {facts['format']!r}.",
            "use the version of Foldwise that made the run.",
        )
    read = ReportFacts(facts)
    kinds = {
        "explore": (top, EXPLORATION),
        "tune": (tuning_top, TUNING),
        "check": (check_top, CHECK),
        "refit": (refit_top, REFIT),
    }
    first_of, sections = kinds.get(read.text("kind"), (headline, SECTIONS))
    made = [section(read) for section in sections]
    shown = [section for section in made if section is not None]
    first = first_of(read)
    body = el("main", first, contents(shown), *(section.html() for section in shown), footer(read))
    wanted = [name for name in SCRIPTS if any(f'id="{name}-facts"' in section.body for section in shown)]
    scripts = [Html(f"<script>{page(f'{name}.js')}</script>") for name in ("page", *wanted)]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{read.text('title') or 'Report'} · Foldwise"),
        Html(f"<style>{page('style.css')}</style>"),
    )
    return f"<!doctype html>\n{el('html', head, el('body', body, *scripts), lang='en')}\n"


def contents(shown: list[Section]) -> Html | None:
    """Links to the sections."""
    if len(shown) < 2:
        return None
    links = join(el("li", el("a", section.title, href=f"#{section.name}")) for section in shown)
    return el("nav", el("ul", links), aria_label="contents")


def footer(facts: ReportFacts) -> Html:
    version = facts.part("made", "versions").text("foldwise")
    return el("footer", f"Made by Foldwise {version}".strip() + ". This file loads nothing from the network.")


@cache
def page(name: str) -> str:
    """A style or script that ships with the package."""
    return files("foldwise.report").joinpath("page", name).read_text(encoding="utf-8")
