"""`DistanceSpec`: which distance to use and its options, already checked, before anything is learned from rows.

Notes
-----
With column weights w (1 by default) and a, b the values of two rows in one column:

========== =========================================================================================================
euclidean  (Σ w |a - b|²)^½
manhattan  Σ w |a - b|
minkowski  (Σ w |a - b|^p)^(1/p), p >= 1
chebyshev  max of w |a - b| over the columns with w > 0
cosine     1 - a·b / (|a| |b|), w in all three inner products. A row of zeros is at distance 1 from every row,
           including other rows of zeros, as in scikit-learn's `cosine_distances` of two tables.
gower      Σ w s / Σ w over the columns present in both rows; s = |a - b| / range for numbers, 0 or 1 for equal or
           different categories (Gower 1971). It is 1 if no column of positive weight is present in both rows.
heom       (Σ w s²)^½ with the same s, and s = 1 if the value is missing in either row (Wilson & Martinez 1997).
hvdm       (Σ w s²)^½ with s = |a - b| / 4σ for numbers, (Σ_c (P(c|a) - P(c|b))²)^½ for categories, and 1 if the value
           is missing in either row (Wilson & Martinez 1997).
========== =========================================================================================================

Range and σ (population formula) are computed from the training rows without missing values; if they are 0, so is s.
Queries outside the range are not clipped. A category that did not occur in training differs from every other category;
its P are 0. The first five distances accept numeric columns without missing values only; `scale` and `components`
apply to them alone.

References: Gower, Biometrics 27 (1971) 857-871. Wilson & Martinez, JAIR 6 (1997) 1-34.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NUMERIC = ("euclidean", "manhattan", "minkowski", "chebyshev", "cosine")
MIXED = ("gower", "heom", "hvdm")
SCALES = ("standard", "minmax", "robust")


@dataclass(frozen=True)
class DistanceSpec:
    """A distance and its options.

    Attributes
    ----------
    metric : str
        Name of the distance.
    p : float, default 2.0
        Power of the Minkowski distance.
    scale : str or None
        Scaling of numeric columns; numeric distances only.
    number_weights, code_weights : ndarray or None
        Weights of the numeric and of the categorical columns. None weighs all alike.
    components : int, float or None
        Principal components of the scaled columns; numeric distances only.

    Examples
    --------
    >>> DistanceSpec("gower").learns, DistanceSpec("euclidean").learns
    (True, False)
    """

    metric: str
    p: float = 2.0  # minkowski only
    scale: str | None = None  # one of SCALES; numeric metrics only
    number_weights: NDArray[np.float64] | None = None  # (n_numeric,), >= 0
    code_weights: NDArray[np.float64] | None = None  # (n_categorical,), >= 0; mixed metrics only
    components: int | float | None = None  # of a PCA of the scaled numbers; numeric metrics only

    @property
    def learns(self) -> bool:
        """Whether the distance between two rows depends on the training rows."""
        return self.metric in MIXED or self.scale is not None or self.components is not None

    @property
    def is_mixed(self) -> bool:
        """Whether the distance accepts categories and missing values."""
        return self.metric in MIXED
