"""Tables: reading them from files and frames, and describing their columns."""

from foldwise.data.reading import read_table
from foldwise.data.schema import Column, Schema
from foldwise.data.table import Table

__all__ = ["Column", "Schema", "Table", "read_table"]
