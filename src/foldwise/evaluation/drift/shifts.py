"""`ColumnShift`: how far a new column is from its training profile, and whether that can be chance.

Three distances are shown: the Kolmogorov–Smirnov distance of numbers, the population stability index and the
Jensen–Shannon distance. A p-value says whether samples of these sizes from one distribution would differ as much. Both
samples are finite, so both sizes enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from scipy.spatial.distance import jensenshannon

from foldwise.arrays import Floats, Ints
from foldwise.evaluation.comparing.paired import holm
from foldwise.evaluation.drift.profiles import ColumnCounts, ColumnProfile

LEAST_PSI, LEAST_KS = 0.1, 0.05  # smaller changes are not called changes, however many rows show them
ALPHA = 0.05
PSI_BINS = 10
LEAST_EXPECTED = 5.0  # cells of a bin, for the chi-squared distribution to hold


@dataclass(frozen=True)
class ColumnShift:
    """How a column differs from training.

    Attributes
    ----------
    column, kind : str
        The column, and how it is described ("number", "category" or "length").
    n_rows : int
        New rows.
    missing_before, missing_now : float
        Share of missing cells in training and now.
    ks : float or None
        Kolmogorov–Smirnov distance: the largest difference of the two cumulative shares. None for categories.
    psi : float
        Population stability index over tenths of the training cells, or over categories, with missing cells as one
        more bin.
    js : float
        Jensen–Shannon distance over the same bins, from 0 (equal) to 1 (disjoint).
    p, p_corrected : float
        p-value of the change, and the same after Holm's correction over columns.
    changed : bool
        Whether the change is significant after correction and above a stated effect.
    unseen : tuple of (str, int)
        Categories that did not occur in training, with their cells; the most frequent first.
    n_unseen : int
        Cells of such categories.
    effect : float or None
        How far predictions move if the column is given its training distribution again. None if it was not computed.
    """

    column: str
    kind: str
    n_rows: int
    missing_before: float
    missing_now: float
    ks: float | None
    psi: float
    js: float
    p: float
    p_corrected: float = 1.0
    changed: bool = False
    unseen: tuple[tuple[str, int], ...] = ()
    n_unseen: int = 0
    effect: float | None = None

    @property
    def is_large(self) -> bool:
        """Whether the change is above the stated effect: PSI 0.1, KS 0.05, or 5% more or fewer missing cells."""
        moved = abs(self.missing_now - self.missing_before)  # the KS distance of "is missing"
        return self.psi >= LEAST_PSI or max(self.ks or 0.0, moved) >= LEAST_KS


def shift_of(counts: ColumnCounts) -> ColumnShift:
    """Compare the counts of new cells with the profile of the training column.

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise.evaluation.drift.profiles import profile_column
    >>> counts = ColumnCounts(profile_column(pl.Series("x", range(1000))))
    >>> counts.add(pl.Series("x", range(500, 1000)))
    >>> found = shift_of(counts)
    >>> round(found.ks, 2), found.p < 1e-9
    (0.49, True)
    """
    before = counts.profile
    known = (before.n_known, counts.n_known)
    ks, p = None, 1.0
    if before.kind == "category":
        p = homogeneity(before.bins, counts.bins)
    elif min(known) > 0 and len(before.grid):
        ks = float(np.abs(before.below / known[0] - np.cumsum(counts.bins)[:-1] / known[1]).max())
        p = ks_p_value(ks, *known)
    missing = homogeneity(np.array([before.n_missing, known[0]]), np.array([counts.n_missing, known[1]]))
    has_missing = before.n_missing + counts.n_missing > 0
    old, new = psi_bins(before, counts)
    few = tuple(counts.unseen.most_common(20)) if not before.n_others else ()
    return ColumnShift(
        *(before.name, before.kind, counts.n_rows),
        *(before.n_missing / max(1, before.n_rows), counts.n_missing / max(1, counts.n_rows)),
        ks,
        stability_index(old, new),
        distance_of(old, new),
        min(1.0, 2 * min(p, missing)) if has_missing else p,  # two tests: of the cells, and of how many are missing
        unseen=few,
        n_unseen=counts.unseen.total() if few else 0,
    )


def corrected_shifts(shifts: Sequence[ColumnShift], others: Sequence[float] = ()) -> tuple[list[ColumnShift], Floats]:
    """Correct the p-values over columns, and say which columns changed.

    Further p-values of the same check are corrected together with them, and returned.
    """
    adjusted = holm([*(one.p for one in shifts), *others])
    found = [
        replace(one, p_corrected=p, changed=bool(p < ALPHA and one.is_large))
        for one, p in zip(shifts, adjusted.tolist(), strict=False)
    ]
    return found, adjusted[len(shifts) :]


def ks_p_value(distance: float, n_before: int, n_now: int) -> float:
    """The p-value of a Kolmogorov–Smirnov distance between two samples.

    The distance was taken at the quantiles of one sample only, so it is at most that of all cells, and the p-value is
    at least that of the exact test. Ties make it larger, too.
    """
    effective = n_before * n_now / (n_before + n_now)
    return float(stats.kstwo.sf(distance, max(1, round(effective))))


def homogeneity(before: Ints, now: Ints) -> float:
    """The p-value of the chi-squared test for equal shares. Rare bins are tested together."""
    table = np.array([before, now], dtype=np.float64)
    totals = table.sum(axis=1)
    if not totals.all():
        return 1.0
    expected = table.sum(axis=0) * totals.min() / totals.sum()
    rare = expected < LEAST_EXPECTED
    merged = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    merged = merged[:, merged.sum(axis=0) > 0]
    if merged.shape[1] < 2:
        return 1.0
    if merged.shape[1] == 2 and (merged.sum(axis=0) * totals.min() / totals.sum()).min() < LEAST_EXPECTED:
        return float(stats.fisher_exact(merged.astype(np.int64))[1])
    return float(stats.chi2_contingency(merged, correction=False)[1])


def psi_bins(before: ColumnProfile, counts: ColumnCounts) -> tuple[Ints, Ints]:
    """Training and new cells by tenths of the training cells, or by category; the last bin holds missing cells."""
    old, new = before.bins, counts.bins
    if before.kind != "category" and len(before.grid):
        share = before.below / max(1, before.n_known)
        ends = np.unique(np.searchsorted(share, np.linspace(0, 1, PSI_BINS + 1)[1:-1] - 1e-12))
        codes = np.searchsorted(ends, np.arange(len(old)), side="left")
        old, new = (np.bincount(codes, part).astype(np.int64) for part in (old, new))
    return np.append(old, before.n_missing), np.append(new, counts.n_missing)


def stability_index(before: Ints, now: Ints) -> float:
    """The population stability index. Half a cell is added to each bin, so that an empty bin does not make it infinite.

    >>> round(stability_index(np.array([50, 50]), np.array([70, 30])), 3)
    0.166
    """
    used = (before + now) > 0
    old, new = before[used] + 0.5, now[used] + 0.5
    p, q = old / old.sum(), new / new.sum()
    return float(((q - p) * np.log(q / p)).sum())


def distance_of(before: Ints, now: Ints) -> float:
    """The Jensen–Shannon distance, from 0 to 1."""
    if not before.sum() or not now.sum():
        return 0.0
    found = float(jensenshannon(before / before.sum(), now / now.sum(), base=2))
    return found if np.isfinite(found) else 0.0  # rounding can make the divergence of equal shares slightly negative
