"""What a result remembers of the splits it comes from: enough to tell whether another has the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from foldwise.evaluation.intervals import share_tested
from foldwise.folds.splits import LeaveOneOutSplits, Split


@dataclass(frozen=True)
class SplitsRecord:
    """A mark of each split, which other rows or another order of splits would not have."""

    marks: tuple[str, ...]
    test_share: float  # test rows to training rows

    @classmethod
    def of(cls, splits: Sequence[Split]) -> SplitsRecord:
        if isinstance(splits, LeaveOneOutSplits):
            return cls(tuple(f"all of {len(splits)} but {row}" for row in splits.rows), share_tested(splits))
        return cls(tuple(map(mark_of, splits)), share_tested(splits))


def mark_of(split: Split) -> str:
    """A short digest of the training and test rows; their order does not matter."""
    digest = blake2b(digest_size=8)
    for rows in (split.train, split.test):
        digest.update(np.sort(rows).astype(np.int64).tobytes() + b"|")
    return digest.hexdigest()
