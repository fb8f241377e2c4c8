"""The model file: one fitted model with its schema, opened without executing anything that is in it."""

from foldwise.storage.file import open_model, save_model
from foldwise.storage.stored import StoredModel

__all__ = ["StoredModel", "open_model", "save_model"]
