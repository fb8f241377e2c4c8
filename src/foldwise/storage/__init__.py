"""The model file: one fitted model with its schema, opened without executing anything that is in it."""

from foldwise.storage.model_file import open_model, save_model
from foldwise.storage.stored_model import StoredModel

__all__ = ["StoredModel", "open_model", "save_model"]
