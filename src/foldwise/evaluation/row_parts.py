"""What each row adds to the error of accuracy, balanced accuracy and areas under the ROC curve.

A score is approximately its expected value plus one independent part per row. The variance of the score is the sum of
the squared parts; where rows come in groups, of the squared sums of groups. The registry's metrics score many settings
at once, and the functions here say for one setting how far each row moves the score. Their score is the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Codes, Floats
from foldwise.evaluation.shares import ShareSpread

Groups = NDArray[np.intp]


@dataclass(frozen=True)
class ScoreParts:
    """A score as a mean of proportions, with one part per row.

    Attributes
    ----------
    shares : tuple of float
        The proportions whose mean is the score.
    sizes : tuple of float
        Their effective numbers of rows, if rows are independent.
    parts : ndarray of shape (n_rows,)
        How far each row moves the score from its expected value.
    weights : ndarray of shape (n_rows,)
        The weights of the rows.
    """

    shares: tuple[float, ...]
    sizes: tuple[float, ...]
    parts: Floats
    weights: Floats

    def spread(self, groups: Groups | None = None) -> ShareSpread:
        """Make the spread of the score. With groups, its degrees of freedom are their number less one.

        Parameters
        ----------
        groups : ndarray of shape (n_rows,), default=None
            Codes of groups of dependent rows.

        Returns
        -------
        ShareSpread
            With the effective numbers of rows that the groups leave.
        """
        if groups is None:
            return ShareSpread(self.shares, self.sizes)
        factor = max(1.0, group_factor(self.parts, self.weights, groups))
        sizes = tuple(max(n / factor, 1.0) for n in self.sizes)
        return ShareSpread(self.shares, sizes, max(1.0, len(np.unique(groups)) - 1.0))


def group_factor(parts: Floats, weights: Floats, groups: Groups) -> float:
    """How many times greater the variance is because rows of a group depend on each other.

    Where no row deviates, as without a single error, the rows of a group count as one.
    """
    there, codes = np.unique(groups, return_inverse=True)
    alone = float((parts**2).sum())
    if alone < 1e-20:
        return float((np.bincount(codes, weights) ** 2).sum() / (weights**2).sum())
    together = float((np.bincount(codes, parts) ** 2).sum())
    return together / alone * len(there) / max(1, len(there) - 1)


def effective_size(share: float, variance: float, most: float) -> float:
    """The number of independent rows that would give a proportion this variance, at most as many as given."""
    return max(1.0, min(most, share * (1 - share) / variance)) if variance > 1e-20 else most


def mean_parts(hits: Floats, weights: Floats) -> ScoreParts:
    """Parts of the share of right rows.

    Parameters
    ----------
    hits : ndarray of shape (n_rows,)
        1 for a right row, 0 for a wrong one.
    weights : ndarray of shape (n_rows,)
        Weights of rows.

    Returns
    -------
    ScoreParts
        Of one proportion.

    Examples
    --------
    >>> mean_parts(np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4)).sizes
    (4.0,)
    """
    by_row = weights / weights.sum()
    value = float(by_row @ hits)
    parts = by_row * (hits - value)
    size = effective_size(value, float((parts**2).sum()), 1 / float((by_row**2).sum()))
    return ScoreParts((value,), (size,), parts, weights)


def accuracy_parts(truth: Codes, proba: Floats, weights: Floats, fold: Groups) -> ScoreParts:
    """Parts of accuracy. Folds do not matter, because all rows are counted together."""
    return mean_parts(hits_of(truth, proba), weights)


def balanced_accuracy_parts(truth: Codes, proba: Floats, weights: Floats, fold: Groups) -> ScoreParts:
    """Parts of balanced accuracy. Folds do not matter, because all rows are counted together."""
    return recall_parts(truth, hits_of(truth, proba), weights)


def hits_of(truth: Codes, proba: Floats) -> Floats:
    """1 for a row whose true class is the most probable one, otherwise 0."""
    return np.asarray(proba.argmax(axis=1) == truth, dtype=np.float64)


def recall_parts(truth: Codes, hits: Floats, weights: Floats) -> ScoreParts:
    """Parts of balanced accuracy, the mean over classes of the share of their rows that is right.

    Parameters
    ----------
    truth : ndarray of shape (n_rows,)
        Codes of the true classes.
    hits : ndarray of shape (n_rows,)
        1 for a right row, 0 for a wrong one.
    weights : ndarray of shape (n_rows,)
        Weights of rows.

    Returns
    -------
    ScoreParts
        Of one proportion per class.
    """
    present = np.unique(truth[weights > 0])
    parts, found = np.zeros(len(truth)), []
    for k in present.tolist():
        here = np.flatnonzero(truth == k)
        one = mean_parts(hits[here], weights[here])
        parts[here] = one.parts / len(present)
        found.append(one)
    return ScoreParts(tuple(one.shares[0] for one in found), tuple(one.sizes[0] for one in found), parts, weights)


def placements(score: Floats, positive: NDArray[np.bool_], weights: Floats) -> Floats:
    """For each row, the share of rows of the other side that it is ranked right against. Ties count half.

    These are the influence values of the area: their mean over the positive rows is the area of `metrics/ranking.py`,
    which sorts many settings at once and does not need the values of single rows.
    """
    _, step = np.unique(score, return_inverse=True)
    found, lost = (np.bincount(step, np.where(side, weights, 0.0)) for side in (positive, ~positive))
    below = (np.cumsum(lost) - lost / 2) / lost.sum()
    above = 1 - (np.cumsum(found) - found / 2) / found.sum()
    return np.asarray(np.where(positive, below[step], above[step]))


def area_parts(
    truth: Codes, proba: Floats, weights: Floats, fold: Groups, *, by_weight: bool = False
) -> ScoreParts | None:
    """Parts of the area under the ROC curve, the mean over folds of the area within the fold.

    Parameters
    ----------
    truth : ndarray of shape (n_rows,)
        Codes of the true classes.
    proba : ndarray of shape (n_rows, n_classes)
        Predicted probabilities. More than two classes are each compared with all others.
    weights : ndarray of shape (n_rows,)
        Weights of rows.
    fold : ndarray of shape (n_rows,)
        The fold of each row. Only rows of the same fold are compared.
    by_weight : bool, default=False
        Whether classes count by their rows.

    Returns
    -------
    ScoreParts or None
        Of one proportion. None if no fold has rows of two classes.

    Notes
    -----
    The method of DeLong, DeLong and Clarke-Pearson (1988), computed from ranks as by Sun and Xu (2014). Sums over
    groups make it that of Obuchowski (1997). Near 1 its variance vanishes, so the effective number of rows is bounded
    by what the formula of Hanley and McNeil (1982) gives for an area of 1.

    Examples
    --------
    >>> truth, score = np.array([0, 0, 1, 1]), np.array([0.1, 0.6, 0.4, 0.9])
    >>> found = area_parts(truth, np.stack([1 - score, score], axis=1), np.ones(4), np.zeros(4, dtype=np.intp))
    >>> found.shares[0], round(float((found.parts**2).sum()), 4)
    (0.75, 0.125)
    """
    classes = [1] if proba.shape[1] == 2 else range(proba.shape[1])
    folds = np.unique(fold)
    parts, values, inverse_sizes = np.zeros(len(truth)), [], []
    for k in folds.tolist():
        here = np.flatnonzero((fold == k) & (weights > 0))
        found = [one_area(truth[here] == c, proba[here, c], weights[here]) for c in classes]
        totals = [float(weights[here][truth[here] == c].sum()) if by_weight else 1.0 for c in classes]
        kept = [(one, share) for one, share in zip(found, totals, strict=True) if one is not None]
        if not kept:
            continue
        total = sum(share for _, share in kept)
        values.append(sum(one[0] * share for one, share in kept) / total)
        parts[here] += sum(one[1] * share for one, share in kept) / total
        # errors of classes that are compared with each other depend: standard errors are averaged, not variances
        inverse_sizes.append((sum(share / np.sqrt(one[2]) for one, share in kept) / total) ** 2)
    if not values:
        return None
    value, n_folds = float(np.mean(values)), len(values)
    parts /= n_folds
    most = n_folds**2 / sum(inverse_sizes)
    return ScoreParts((value,), (effective_size(value, float((parts**2).sum()), most),), parts, weights)


def one_area(positive: NDArray[np.bool_], score: Floats, weights: Floats) -> tuple[float, Floats, float] | None:
    """The area of one class in one fold, its parts, and the greatest effective number of rows."""
    n_found, n_lost = int(positive.sum()), int((~positive).sum())
    if not n_found or not n_lost:
        return None
    shares = placements(score, positive, weights)
    value = float(np.average(shares[positive], weights=weights[positive]))
    parts = np.zeros(len(score))
    for side, n in ((positive, n_found), (~positive, n_lost)):
        by_row = weights[side] / weights[side].sum()
        # a single row says nothing about the spread of its class: it counts as far off as a coin toss
        parts[side] = by_row * (shares[side] - value) * np.sqrt(n / (n - 1)) if n > 1 else np.sqrt(value * (1 - value))
    return value, parts, n_found * n_lost / (1 + ((n_found + n_lost) / 2 - 1) / 2)
