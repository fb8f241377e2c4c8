"""The types of arrays that many files pass around. Comments beside signatures say their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
AnyInts = NDArray[np.integer[Any]]  # whole numbers of any width
Codes = NDArray[np.integer[Any]]  # classes or levels by their index
