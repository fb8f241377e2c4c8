"""The catalogue of models: each family that can be trained, its preparation of columns and its search space."""

from foldwise.models.catalogue import catalogue, models_for, register, spec_of, unregister
from foldwise.models.coded import CodedLabels
from foldwise.models.preparing import as_frame, for_trees, native, scaled
from foldwise.models.roles import Outline, outline
from foldwise.models.spec import Cost, ModelSpec

__all__ = [
    "CodedLabels",
    "Cost",
    "ModelSpec",
    "Outline",
    "as_frame",
    "catalogue",
    "for_trees",
    "models_for",
    "native",
    "outline",
    "register",
    "scaled",
    "spec_of",
    "unregister",
]
