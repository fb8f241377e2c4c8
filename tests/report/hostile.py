"""Facts whose every text tries to become markup."""

from __future__ import annotations

from typing import Any

PAYLOAD = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--\u2028"
FIXED = {"status", "kind"}  # words of the format, not of the data


def hostile(facts: Any, name: str = "") -> Any:
    """The same facts with the payload behind every text and every name of a column, class or setting."""
    if isinstance(facts, str):
        return facts if name in FIXED else facts + PAYLOAD
    if isinstance(facts, list):
        return [hostile(item, name) for item in facts]
    if isinstance(facts, dict):
        named = name in ("settings", "proba", "versions")  # whose keys come from data
        return {key + PAYLOAD if named else key: hostile(value, key) for key, value in facts.items()}
    return facts
