"""How many members: known beforehand, seen during training, or chosen after it."""

from foldwise.ensembles.sizes.chosen import Greedy, Pruned
from foldwise.ensembles.sizes.fixed import Fixed
from foldwise.ensembles.sizes.selection import Selection, select_greedily
from foldwise.ensembles.sizes.settled import Settled

__all__ = ["Fixed", "Greedy", "Pruned", "Selection", "Settled", "select_greedily"]
