"""What the page of a result shows, read from its run folder. The sections are those of the report. Runs in a worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldwise.app.run_folder import HELD_OUT, current, read_facts
from foldwise.report.facts import ReportFacts
from foldwise.report.html import EXPLORATION, SECTIONS
from foldwise.report.sections.elements import Section
from foldwise.report.sections.exploration.answers import top
from foldwise.report.sections.headline import headline

LEFT_OUT = ("glossary", "repeat", "history", "searches", "nomogram", "data")  # the report has them
CONFUSION = "mistakes"  # the section; for two classes, the matrix of the slider replaces it


def result_facts(folder: str, whole: bool = False) -> dict[str, Any]:
    """The result of a run: the top of its report, its sections, and the largest mistakes.

    With `whole`, all sections of the report are there, also those that the page of the result replaces or leaves out.
    """
    facts = read_facts(Path(folder))
    read = ReportFacts(facts)
    is_fit, has_held_out = read.text("kind") == "", current(Path(folder), HELD_OUT).is_file()
    first, sections = (headline, SECTIONS) if is_fit else (top, EXPLORATION)
    made: list[Section] = [one for section in sections if (one := section(read)) is not None]
    has_slider = has_held_out and len(read.part("task").texts("classes")) == 2
    left_out = () if whole else (*LEFT_OUT, CONFUSION) if has_slider else LEFT_OUT
    shown = [one for one in made if one.name not in left_out]
    return {
        "is_fit": is_fit,
        "top": str(first(read)),
        "sections": [{"name": one.name, "title": one.title, "body": str(one.body)} for one in shown],
        "mistakes": facts.get("largest_mistakes") or [],
        "target": read.part("task").text("target"),
        "has_held_out": has_held_out,
    }
