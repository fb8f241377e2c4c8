"""How the answers of members become one answer: one file a way."""

from foldwise.ensembles.combiners.arbiters import ArbiterTree
from foldwise.ensembles.combiners.averages import LogMean, Mean, Median, Sum
from foldwise.ensembles.combiners.decoding import Decode
from foldwise.ensembles.combiners.grading import Grading
from foldwise.ensembles.combiners.stacking import Stacking
from foldwise.ensembles.combiners.votes import Vote
from foldwise.ensembles.combiners.weighing import Best, Weighted

COMBINERS = {
    "mean": Mean,
    "log_mean": LogMean,
    "median": Median,
    "sum": Sum,
    "vote": Vote,
    "weighted": Weighted,
    "best": Best,
    "stacking": Stacking,
    "grading": Grading,
    "arbiters": ArbiterTree,
    "decode": Decode,
}

__all__ = [
    "COMBINERS",
    "ArbiterTree",
    "Best",
    "Decode",
    "Grading",
    "LogMean",
    "Mean",
    "Median",
    "Stacking",
    "Sum",
    "Vote",
    "Weighted",
]
