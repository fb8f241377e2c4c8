"""Leaks visible in a table and its splits: duplicate rows, groups and times that occur in training and test rows."""

from foldwise.evaluation.leaks.duplicates import duplicate_groups
from foldwise.evaluation.leaks.finding import find_leaks
from foldwise.evaluation.leaks.report import Leak, Leaks

__all__ = ["Leak", "Leaks", "duplicate_groups", "find_leaks"]
