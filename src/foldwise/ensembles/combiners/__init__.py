"""Combiners: how the predictions of members become one."""

from foldwise.ensembles.combiners.arbiters import ArbiterTree
from foldwise.ensembles.combiners.averages import LogMean, Mean, Median, Sum, Vote
from foldwise.ensembles.combiners.decoding import Decode
from foldwise.ensembles.combiners.grading import Grading
from foldwise.ensembles.combiners.stacking import Stacking
from foldwise.ensembles.combiners.weighted import Best, Weighted

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
