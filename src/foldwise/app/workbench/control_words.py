"""Sentences for pages: advice that names options of the command line names the controls of the page instead."""

from __future__ import annotations

import re

from foldwise.app.option_words import with_options

CONTROLS = {
    "separator": "Separator",
    "decimal": "Decimal mark",
    "quote": "Quote",
    "encoding": "Encoding",
    "header": "Header",
    "skip-rows": "Lines before the header",
    "sheet": "Sheet of a workbook",
    "table": "Table of a database",
    "missing": "Also treat as missing",
    "target": "Target",
    "task": "Task",
    "groups": "Groups",
    "time": "Time order",
    "weights": "Row weights",
    "positive": "Positive class",
    "metric": "Metric",
    "coverage": "Intervals or sets",
    "slices": "Slices",
}
VALUE = r"(?: ('[^']*'|[^\s,.;:]+(?=[\s,.;:])))"
PASS = r"(?<![\w-])(pass )?--"
KIND = re.compile(rf"{PASS}kind '?[^=']*=(\w+)'?", re.IGNORECASE)
DROP = re.compile(rf"{PASS}drop{VALUE}", re.IGNORECASE)
OPTION = re.compile(rf"{PASS}({'|'.join(CONTROLS)})\b{VALUE}?", re.IGNORECASE)


def with_controls(sentence: str) -> str:
    """Replace arguments of Python functions, and options of the command line, with the controls of the page.

    >>> with_controls("Pass kinds={'Date': 'text'} to treat it as text instead.")
    'Choose the kind text to treat it as text instead.'
    >>> with_controls("If it does, pass drop='subject' to leave it out.")
    'If it does, choose the kind leave out to leave it out.'
    >>> with_controls("If 0 means missing, pass missing_values={'size': 0}.")
    "If 0 means missing, enter 'size=0' under Also treat as missing."
    >>> with_controls("Pass sheet= for another.")
    'Use the control Sheet of a workbook for another.'
    """
    text = KIND.sub(lambda found: kind(found, found[2]), with_options(sentence))
    return OPTION.sub(control, DROP.sub(lambda found: kind(found, "leave out"), text))


def kind(found: re.Match[str], name: str) -> str:
    """The kind to choose for a column."""
    return start(found[0], f"choose the kind {name}") if found[1] else f"the kind {name}"


def control(found: re.Match[str]) -> str:
    """An option in words, with its value."""
    name, value = CONTROLS[found[2].lower()], found[3]
    if not found[1]:
        return f"{name} {value}" if value else name
    if value is None or value.strip("'") in ("for", "to", "with", "or", "and"):
        return start(found[0], f"use the control {name}{f' {value}' if value else ''}")
    return start(found[0], f"enter {quoted(value)} under {name}")


def start(before: str, words: str) -> str:
    """Words that begin a sentence if those before did."""
    return words[0].upper() + words[1:] if before[:1].isupper() else words


def quoted(value: str) -> str:
    return value if value.startswith("'") else f"'{value}'"
