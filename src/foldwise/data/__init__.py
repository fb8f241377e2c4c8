"""A table, what its columns are, and how files and frames become one."""

from foldwise.data.reading import read_table
from foldwise.data.schema import Column, Schema
from foldwise.data.table import Table

__all__ = ["Column", "Schema", "Table", "read_table"]
