"""What an adapter relies on in another library: versions it was tested with, and attributes that are not public.

The registry checks both before it opens a session. Outside of them the estimator is refitted, with one warning.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from foldwise.folds.fallback import report_fallback


@dataclass(frozen=True)
class TestedVersions:
    """The versions of a library that an adapter was tested with, from the lowest to the highest minor version."""

    __test__ = False  # not a test, whatever pytest thinks of its name

    package: str  # as it is imported
    name: str  # as people call it
    lowest: tuple[int, ...]
    highest: tuple[int, int]

    def problem(self) -> str:
        """Why the installed version is not one of them; empty if it is."""
        version = str(getattr(sys.modules.get(self.package) or import_module(self.package), "__version__", ""))
        found = re.match(r"\d+(\.\d+)*", version)
        numbers = tuple(map(int, found[0].split("."))) if found else ()
        if self.lowest <= numbers and numbers[:2] <= self.highest:
            return ""
        low, high = (".".join(map(str, one)) for one in (self.lowest, self.highest))
        return f"version {version} is not between {low} and {high}, which were tested"


# 1.9.1 divides the variances of discriminant analysis by n, 1.9.0 by n less the number of classes
SKLEARN = TestedVersions("sklearn", "scikit-learn", (1, 9, 1), (1, 9))


@dataclass(frozen=True)
class Support:
    """What an adapter was tested with and relies on."""

    versions: TestedVersions
    attributes: tuple[str, ...] = ()  # private ones of the estimator
    functions: tuple[str, ...] = ()  # private ones of modules and classes, by their import path
    fitted: tuple[str, ...] = field(default=())  # private ones of fitted models: checked by `has_fitted`

    def is_given(self, estimator: Any) -> bool:
        """Whether a session may be opened; if not, a warning has said why."""
        missing = missing_attributes(estimator, self.attributes) + missing_functions(self.functions)
        return self._report(self.versions.problem() or missing_reason(missing))

    def has_fitted(self, model: Any) -> bool:
        """Whether a fitted model has all private attributes that are read; if not, a warning has said so."""
        return self._report(missing_reason(missing_attributes(model, self.fitted)))

    def _report(self, problem: str) -> bool:
        if problem:
            report_fallback(self.versions.name, problem)
        return not problem


def missing_attributes(holder: Any, names: Iterable[str]) -> list[str]:
    return [f"{type(holder).__name__}.{name}" for name in names if not hasattr(holder, name)]


def missing_functions(names: Iterable[str]) -> list[str]:
    missing = []
    for name in names:
        try:
            resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    return missing


def missing_reason(missing: list[str]) -> str:
    return f"{', '.join(missing)} is missing" if missing else ""
