"""A table compared with what a run was trained on, as `foldwise check` does it. Runs in a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwise.app.checking.check import check
from foldwise.app.run_folder import open_run
from foldwise.report.facts import ReportFacts
from foldwise.report.html import CHECK
from foldwise.report.sections.check import check_top


def target_of(folder: str) -> str:
    """The column that a run predicts."""
    return open_run(folder).model.target or ""


def check_table(folder: str, table: str, labels: str | None, reading: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of the page that `foldwise check` writes."""
    found = check(folder, table, labels, reading=reading)
    facts = ReportFacts(found.to_dict())
    sections = [one for section in CHECK if (one := section(facts)) is not None]
    shown = [{"name": one.name, "title": one.title, "body": str(one.body)} for one in sections]
    return {"top": str(check_top(facts)), "sections": shown, "changed": found.changed}
