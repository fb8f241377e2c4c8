"""Where the difference between members comes from: one file a way, and their composition."""

from foldwise.ensembles.diversity.composition import Together
from foldwise.ensembles.diversity.hyperparameters import Settings
from foldwise.ensembles.diversity.partitions import ColumnParts, RowParts
from foldwise.ensembles.diversity.poisson import Poisson
from foldwise.ensembles.diversity.recoding import Recoded
from foldwise.ensembles.diversity.sampling import Bootstrap, Pasting
from foldwise.ensembles.diversity.subspaces import Subspaces

DIVERSITIES = {
    "bootstrap": Bootstrap,
    "pasting": Pasting,
    "poisson": Poisson,
    "row_parts": RowParts,
    "column_parts": ColumnParts,
    "subspaces": Subspaces,
}

__all__ = [
    "DIVERSITIES",
    "Bootstrap",
    "ColumnParts",
    "Pasting",
    "Poisson",
    "Recoded",
    "RowParts",
    "Settings",
    "Subspaces",
    "Together",
]
