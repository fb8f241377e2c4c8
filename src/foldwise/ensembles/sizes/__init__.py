"""How many members: known beforehand, seen during training, or chosen after it."""

from foldwise.ensembles.sizes.fixed import Fixed

__all__ = ["Fixed"]
