"""Requirements of adapters: tested versions of a library, and private attributes that they use.

The registry checks the version before it imports an adapter, and the rest before it opens a session. If they do not
hold, the estimator is refitted, with one warning.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from numbers import Integral, Real
from pkgutil import resolve_name
from typing import Any

import numpy as np

from foldwise.folds.fallback import REFITTED, report_fallback


@dataclass(frozen=True)
class TestedVersions:
    """The versions of a library that an adapter was tested with, from the lowest to the highest minor version."""

    __test__ = False  # pytest takes it for a test because of its name

    package: str  # the name of the import
    name: str  # the name of the library
    lowest: tuple[int, ...]
    highest: tuple[int, int]

    @property
    def tested(self) -> str:
        """The range in words."""
        return " to ".join(".".join(map(str, one)) for one in (self.lowest, self.highest))

    def problem(self) -> str:
        """Why the installed version is not supported; empty if it is."""
        version = str(getattr(sys.modules.get(self.package) or import_module(self.package), "__version__", ""))
        found = re.match(r"\d+(\.\d+)*", version)
        numbers = tuple(map(int, found[0].split("."))) if found else ()
        if self.lowest <= numbers and numbers[:2] <= self.highest:
            return ""
        return f"version {version} is outside the tested versions {self.tested}"


# discriminant analysis divides variances by n in 1.9.1, and by n - n_classes in 1.9.0
SKLEARN = TestedVersions("sklearn", "scikit-learn", (1, 9, 1), (1, 9))
LIGHTGBM = TestedVersions("lightgbm", "LightGBM", (4, 7), (4, 7))
XGBOOST = TestedVersions("xgboost", "XGBoost", (3, 0), (3, 2))
CATBOOST = TestedVersions("catboost", "CatBoost", (1, 2, 10), (1, 2))
LIBRARIES = {versions.package: versions for versions in (SKLEARN, LIGHTGBM, XGBOOST, CATBOOST)}


@dataclass(frozen=True)
class Support:
    """The requirements of an adapter."""

    versions: TestedVersions
    attributes: tuple[str, ...] = ()  # private attributes of the estimator
    functions: tuple[str, ...] = ()  # private functions, by import path; adapters import them when they use them
    fitted: tuple[str, ...] = field(default=())  # private attributes of fitted models, checked by `has_fitted`
    otherwise: str = REFITTED  # what follows if they do not hold, for the warning

    def is_given(self, estimator: Any) -> bool:
        """Whether a session can be opened; if not, warn."""
        missing = missing_attributes(estimator, self.attributes) + missing_functions(self.functions)
        return self._report(self.versions.problem() or missing_reason(missing))

    def has_fitted(self, model: Any) -> bool:
        """Whether a fitted model has all private attributes that are used; if not, warn."""
        return self._report(missing_reason(missing_attributes(model, self.fitted)))

    def _report(self, problem: str) -> bool:
        if problem:
            report_fallback(self.versions.name, problem, self.otherwise)
        return not problem


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, and not a bool."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any, most: float = sys.float_info.max) -> bool:
    """Whether a value is a real number from 0 to `most`, and not a bool."""
    number: Any = value.item() if isinstance(value, np.generic) else value
    is_real = not isinstance(number, bool) and isinstance(number, Real)
    return is_real and bool(0 <= number <= most)


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
