"""One-pass, mergeable, weighted facts about rows. They know `+` and `-` and nothing of models."""

from foldwise.summaries.counts import CategoryCounts, Counts
from foldwise.summaries.log_moments import LogMoments
from foldwise.summaries.moments import Moments
from foldwise.summaries.sums import Sums
from foldwise.summaries.values import Values, ValueWeights
from foldwise.summaries.word_counts import ColumnWords, WordCounts

__all__ = [
    "CategoryCounts",
    "ColumnWords",
    "Counts",
    "LogMoments",
    "Moments",
    "Sums",
    "ValueWeights",
    "Values",
    "WordCounts",
]
