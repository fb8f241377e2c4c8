"""Recognize text with an order: rating words, weekdays, months, ranges of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

SCALES = tuple(
    frozenset(scale.split("|"))
    for scale in (
        "very low|low|lower|below average|medium|middle|moderate|average|normal|above average|high|higher|very high",
        "very poor|poor|bad|fair|so-so|average|ok|good|better|very good|great|generous|excellent|outstanding|best",
        "none|poor|low|bad|fair|average|medium|good|high|better|best",
        "never|almost never|rarely|seldom|sometimes|occasionally|often|frequently|usually|almost always|always",
        "non travel|travel rarely|travel frequently",
        "none|no|minimal|trace|mild|minor|moderate|major|severe|pot severe|critical|extreme",
        "tiny|xs|s|small|m|medium|med|l|large|big|xl|xxl|huge",
        "strongly disagree|disagree|somewhat disagree|neutral|neither|somewhat agree|agree|strongly agree",
        "very unfavorably|somewhat unfavorably|neither favorably nor unfavorably (neutral)|somewhat favorably|"
        "very favorably|unfamiliar (n/a)",
        "primary|elementary|secondary|high school|tertiary|below college|college|bachelor|master|doctor|phd",
        "young|pre presbyopic|presbyopic|middle aged|old|child|teen|adult|senior|elderly",
        "lt norm|norm|gt norm",
        "first|second|third|fourth|fifth|sixth",
        "monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        "mon|tue|wed|thu|fri|sat|sun",
        "january|february|march|april|may|june|july|august|september|october|november|december",
        "jan|feb|mar|apr|may|jun|june|jul|july|aug|sep|sept|oct|nov|dec",
        "zero|one|two|three|four|five|six|seven|eight|nine|ten",
        "vlow|low|med|high|vhigh",
    )
)
RANGE = re.compile(r"[<>≤≥=~\s$€£]*\d[\d.,]*\s*(-|–|to\b|\+|%|more\b|<=?|and\b|$|[a-z]+$)", re.IGNORECASE)


def ordering_of(levels: Sequence[str]) -> str | None:
    """Say in words what gives the levels an order; None if nothing does."""
    if not 3 <= len(levels) <= 25:
        return None
    words = {re.sub(r"[_\-\s]+", " ", level.strip().lower()) for level in levels}
    if any(words <= scale for scale in SCALES):
        return "words with a natural order"
    ranges = [level for level in levels if RANGE.match(level.strip())]
    plain = [level for level in levels if level.strip().isdigit()]
    if len(ranges) >= 3 and len(ranges) >= len(levels) - 1 and not any(cell.startswith("0") for cell in plain):
        mostly = "mostly " if len(ranges) < len(levels) else ""
        return f"{mostly}numbers or ranges of numbers"
    return None
