"""Splitters with a seed, spared the making of a generator: making one costs more than shuffling a thousand rows.

scikit-learn's splitters make a RandomState of their seed whenever they split, and take one as it is. Each thread keeps
one, and seeds it anew, which gives the same numbers.
"""

from __future__ import annotations

import copy
from threading import local
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

ONE_GENERATOR = frozenset({KFold, StratifiedKFold, ShuffleSplit, StratifiedShuffleSplit})  # asked for once a split

_OWN = local()


def seeded(cv: Any) -> Any:
    """A splitter that splits as `cv` does, once, before this thread asks for another; or `cv` itself."""
    seed = getattr(cv, "random_state", None)
    if type(cv) not in ONE_GENERATOR or type(seed) is not int or not 0 <= seed < 1 << 32:
        return cv
    if not hasattr(_OWN, "generator"):
        _OWN.generator = np.random.RandomState()
    _OWN.generator.seed(seed)
    twin = copy.copy(cv)
    twin.random_state = _OWN.generator
    return twin
