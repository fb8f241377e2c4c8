"""Leaks that can be seen in a table and its splits: rows, groups and times that stand on both sides."""

from foldwise.evaluation.leaks.duplicates import duplicate_groups
from foldwise.evaluation.leaks.finding import find_leaks
from foldwise.evaluation.leaks.report import Leak, Leaks

__all__ = ["Leak", "Leaks", "duplicate_groups", "find_leaks"]
