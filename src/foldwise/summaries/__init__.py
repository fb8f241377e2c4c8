"""Weighted summaries of rows, computed in one pass. `+` merges two of them, `-` removes rows; no model is involved."""

from foldwise.summaries.counts import CategoryCounts, Counts
from foldwise.summaries.gram import Gram, gram_of
from foldwise.summaries.gram_root import GramRoot, root_of
from foldwise.summaries.log_moments import LogMoments
from foldwise.summaries.moments import Moments
from foldwise.summaries.sums import Sums
from foldwise.summaries.values import Values, ValueWeights
from foldwise.summaries.word_counts import ColumnWords, WordCounts

__all__ = [
    "CategoryCounts",
    "ColumnWords",
    "Counts",
    "Gram",
    "GramRoot",
    "LogMoments",
    "Moments",
    "Sums",
    "ValueWeights",
    "Values",
    "WordCounts",
    "gram_of",
    "root_of",
]
