"""Foldwise: from a table to a tuned, honestly evaluated, explained classifier.

The names below are loaded when first used, so `import foldwise` itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwise.bayes import NaiveBayes
    from foldwise.data import Column, Schema, Table, read_table

__version__ = "0.1.0.dev0"

_HOMES = {
    "Column": "foldwise.data",
    "NaiveBayes": "foldwise.bayes",
    "Schema": "foldwise.data",
    "Table": "foldwise.data",
    "read_table": "foldwise.data",
}

__all__ = ["Column", "NaiveBayes", "Schema", "Table", "__version__", "read_table"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'foldwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
