"""Save fitted models with their schema, and open them without running any code from the file."""

from foldwise.storage.model_file import open_model, save_model
from foldwise.storage.stored_model import StoredModel

__all__ = ["StoredModel", "open_model", "save_model"]
