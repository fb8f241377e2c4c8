"""A fitted model as SQL, each export with its check."""

from foldwise.exports.sql.export import SqlExport, to_sql

__all__ = ["SqlExport", "to_sql"]
