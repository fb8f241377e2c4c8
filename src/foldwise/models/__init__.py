"""The catalog of models: how each one is created, how columns are prepared for it, and its search space."""

from foldwise.models.catalogue import catalogue, models_for, register, spec_of, unregister
from foldwise.models.coded_labels import CodedLabels
from foldwise.models.column_roles import Outline, TargetScale, outline
from foldwise.models.date_features import DateFeatures
from foldwise.models.preprocessing import as_frame, for_trees, native, scaled
from foldwise.models.spec import Cost, ModelSpec
from foldwise.models.table_encoder import TableEncoder
from foldwise.models.target_transforms import TransformedTarget

__all__ = [
    "CodedLabels",
    "Cost",
    "DateFeatures",
    "ModelSpec",
    "Outline",
    "TableEncoder",
    "TargetScale",
    "TransformedTarget",
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
