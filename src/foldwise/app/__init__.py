"""The workbench: the run from a table to a decision, and its command line. Names are loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {"Run": "foldwise.app.result", "fit": "foldwise.app.run"}

__all__ = ["Run", "fit"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
