"""A fingerprint of splits, stored with results to check that two results come from the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from foldwise.evaluation.intervals import share_tested
from foldwise.folds.splits import LeaveOneOutSplits, Split


@dataclass(frozen=True)
class SplitsRecord:
    """One digest per split, and the ratio of test rows to training rows."""

    marks: tuple[str, ...]
    test_share: float

    @classmethod
    def of(cls, splits: Sequence[Split]) -> SplitsRecord:
        if isinstance(splits, LeaveOneOutSplits):
            return cls(tuple(f"all of {len(splits)} but {row}" for row in splits.rows), share_tested(splits))
        return cls(tuple(map(mark_of, splits)), share_tested(splits))


def mark_of(split: Split) -> str:
    """Compute a short digest of the training and test rows, whatever their order."""
    digest = blake2b(digest_size=8)
    for rows in (split.train, split.test):
        digest.update(np.sort(rows).astype(np.int64).tobytes() + b"|")
    return digest.hexdigest()
