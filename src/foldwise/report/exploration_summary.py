"""The summary of an exploration: as text for the terminal, and as HTML for notebooks."""

from __future__ import annotations

import textwrap
from typing import Any

from foldwise.report.markup import el, join
from foldwise.report.sections.elements import bullets, paragraph

WIDTH = 76  # of sentences on a terminal of 80 columns
SHOWN = 5


def exploration_text(facts: dict[str, Any]) -> str:
    """Format the answers as text."""
    lines = [overview(facts), ""]
    for words in facts["headline"]["words"]:
        lines += textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="  ")
    for title, entries in listed(facts):
        lines += ["", f"  {title}"]
        for entry in entries:
            lines += textwrap.wrap(entry, WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return "\n".join(lines)


def exploration_html(facts: dict[str, Any]) -> str:
    """Format the same as HTML, with all text escaped."""
    parts = [el("strong", overview(facts)), *map(paragraph, facts["headline"]["words"])]
    for title, entries in listed(facts):
        parts += [el("strong", title), bullets(entries)]
    return el("div", join(parts))


def overview(facts: dict[str, Any]) -> str:
    """One line on the table."""
    size = facts["table"]
    rows = f"{size['n_rows']:,} row{'s' * (size['n_rows'] != 1)}"
    return f"{facts['title']}: {rows}, {size['n_columns']:,} column{'s' * (size['n_columns'] != 1)}"


def listed(facts: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """The clusters, the first outliers and rules, what was not answered, and warnings; empty lists are left out."""
    titles = {"clusters": "clusters", "outliers": "outliers", "associations": "rules", "factors": "factors"}
    titles |= {"map": "map", "ranking": "central and influential rows"}
    found = [
        ("clusters", [cluster_line(card) for card in facts["clusters"].get("cards", [])]),
        ("outliers", [outlier_line(one) for one in facts["outliers"].get("rows", [])[:SHOWN]]),
        ("rules", [rule_line(one) for one in facts["associations"].get("rules", [])[:SHOWN]]),
        ("not answered", sentences_of(facts, titles, "none")),
        ("samples", sentences_of(facts, titles, "sample")),
        ("notes", [note for note in facts["audit"]["notes"] if note.endswith("left out.")]),
        ("warnings", facts["audit"]["warnings"]),
    ]
    return [(title, entries) for title, entries in found if entries]


def sentences_of(facts: dict[str, Any], titles: dict[str, str], key: str) -> list[str]:
    """What is said about single questions and not in the headline. A sentence about several of them is written once."""
    found: dict[str, list[str]] = {}
    for name, title in titles.items():
        if key in facts[name] and facts[name][key] not in facts["headline"]["words"]:
            found.setdefault(facts[name][key], []).append(title)
    return [f"{', '.join(about)}: {words}" for words, about in found.items()]


def cluster_line(card: dict[str, Any]) -> str:
    """One cluster."""
    apart = "; ".join(f"{one['column']}: {one['words']}" for one in card["contrasts"][:2])
    return f"{card['cluster']}: {card['size']:,} rows ({card['share']:.0%}), {card['rule'] or apart}"


def outlier_line(one: dict[str, Any]) -> str:
    """One outlier with its most unusual cell."""
    cell = next(iter(one["cells"]), None)
    why = f": {cell['column']} = {cell['value']} ({cell['reason']})" if cell else ""
    return f"row {one['row']}{why}"


def rule_line(one: dict[str, Any]) -> str:
    """One rule with its confidence."""
    shares = f"in {one['confidence']:.0%} of these rows, compared with {one['base_rate']:.0%} of all held-out rows"
    return f"{' and '.join(one['if'])} → {one['then']} {shares}"
