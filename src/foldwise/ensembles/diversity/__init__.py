"""Diversities: what makes members differ, such as samples of rows or columns, hyperparameters, recoded classes."""

from foldwise.ensembles.diversity.output_codes import OutputCodes
from foldwise.ensembles.diversity.parameters import VariedParameters
from foldwise.ensembles.diversity.sampling import (
    Bootstrap,
    ColumnParts,
    Pasting,
    PoissonBootstrap,
    RowParts,
    Subspaces,
)

DIVERSITIES = {
    "bootstrap": Bootstrap,
    "pasting": Pasting,
    "poisson": PoissonBootstrap,
    "row_parts": RowParts,
    "column_parts": ColumnParts,
    "subspaces": Subspaces,
}

__all__ = [
    "Bootstrap",
    "ColumnParts",
    "OutputCodes",
    "Pasting",
    "PoissonBootstrap",
    "RowParts",
    "Subspaces",
    "VariedParameters",
]
