"""Tables: reading them from files and frames, and describing their columns.

The names below are loaded when first used, so a module of this room costs only what it imports itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foldwise.data.reading.tables import read_table
    from foldwise.data.schema import Column, Schema
    from foldwise.data.table import Table

_HOMES = {"Column": "schema", "Schema": "schema", "Table": "table", "read_table": "reading.tables"}

__all__ = ["Column", "Schema", "Table", "read_table"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"foldwise.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'foldwise.data' has no attribute {name!r}")
