"""Foldwise: from a table to a tuned, honestly evaluated, explained classifier.

The names below are loaded when first used, so `import foldwise` itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwise.bayes import NaiveBayes
    from foldwise.data import Column, Schema, Table, read_table
    from foldwise.evaluation import nested_cv
    from foldwise.tuning import GridSearchCV, RandomizedSearchCV

__version__ = "0.1.0.dev0"

_HOMES = {
    "Column": "foldwise.data",
    "GridSearchCV": "foldwise.tuning",
    "NaiveBayes": "foldwise.bayes",
    "RandomizedSearchCV": "foldwise.tuning",
    "Schema": "foldwise.data",
    "Table": "foldwise.data",
    "nested_cv": "foldwise.evaluation",
    "read_table": "foldwise.data",
}

__all__ = [
    "Column",
    "GridSearchCV",
    "NaiveBayes",
    "RandomizedSearchCV",
    "Schema",
    "Table",
    "__version__",
    "nested_cv",
    "read_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'foldwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
