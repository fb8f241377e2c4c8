"""Missing cells of numbers as evidence (`missing="category"`), without each row's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foldwise.bayes.families.protocol import Setting
from foldwise.bayes.families.reading import log_shares
from foldwise.bayes.left_out.rows import Bools, LeftOut, shrunk
from foldwise.summaries.alignment import weight_left
from foldwise.summaries.number_kernels import Floats


class PresenceTurns:
    """The factors of `WithPresence`, for the cells of each row; nothing unless missing cells are evidence."""

    def __init__(self, there: Bools, present: tuple[Floats, Floats], left: LeftOut, columns: Sequence[int]) -> None:
        self._columns, self._there = columns, there[:, None]  # (m, 1, d)
        weight, rows = present  # (K, d) both
        taken, counted = left.taken(there)  # (m, K, d)
        left_rows = rows - counted
        there_left = weight_left(weight, taken, left_rows)
        classes = left.classes()
        absent = weight_left(classes.weight[:, :, None], there_left, classes.rows[:, :, None] - left_rows)
        self._held = np.where(self._there, there_left, absent)
        self._total = classes.weight[:, :, None]
        self._speaks = absent.any(axis=1, keepdims=True)
        self._poor: Bools = np.zeros(len(there), dtype=bool)
        if not left.whole:
            before = np.where(self._there, weight, left.totals.missing(weight.T, rows.T).T)
            self._poor = np.asarray(shrunk(before, self._held).any(axis=(1, 2)))

    def scores(self, setting: Setting) -> tuple[Floats, Bools]:  # (m, K), (m,)
        if setting.missing != "category":
            return np.zeros(self._held.shape[:2]), np.zeros(len(self._held), dtype=bool)
        under = self._total + 2 * setting.alpha
        over = np.where(under == 0, 1.0, self._held + setting.alpha)
        log = log_shares(over, np.where(under == 0, 2.0, under))
        used = self._speaks & np.array([setting.uses(j) for j in self._columns])
        return np.where(used, log, 0.0).sum(axis=2), self._poor
