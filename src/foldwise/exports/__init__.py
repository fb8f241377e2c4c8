"""A fitted model as SQL or ONNX, each export with its check."""

from foldwise.exports.onnx.export import OnnxExport, to_onnx
from foldwise.exports.sql.export import SqlExport, to_sql

__all__ = ["OnnxExport", "SqlExport", "to_onnx", "to_sql"]
