"""`LinearSums`: what linear and ridge regressions of the catalog have learned, as sums to which rows can be added.

Preparation and model are both functions of sums. A number is described by two columns: its deviation from a fixed
pivot, which is 0 where the cell is missing, and whether it is missing. The imputed number is a combination of the two.
A category is described by one column per level. The means, the variances and the model follow from the products of
these columns and the target. So a pipeline from updated sums equals one fitted on all rows, but for rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline

from foldwise.arrays import Floats
from foldwise.data.levels import sort_levels
from foldwise.data.schema import Level
from foldwise.errors import ForgetError, InputError
from foldwise.models.column_transformers import CategoryCodes, NumberColumns, codes_of, columns_view, numbers_of
from foldwise.models.date_features import DateFeatures
from foldwise.models.target_transforms import TransformedTarget
from foldwise.models.titles import title_of
from foldwise.summaries.gram_root import GramRoot, root_of

MOST_COLUMNS = 400  # after encoding: the sums then take about a megabyte
MOST_WORK = 2e9  # rows times columns squared: about a second
OLD_ROWS = "leave out update= and forget=, and pass the old rows as old=."


@dataclass(frozen=True)
class LinearSums:
    """Sums over the training rows of linear pipelines that prepare columns alike.

    Attributes
    ----------
    pivots : array of shape (numbers,)
        Numbers are counted from here, so that large means cost no digits.
    ranges : array of shape (2, numbers)
        The smallest and largest cells, which replace infinite numbers of rows to predict. Removed rows do not change
        them.
    levels : list of list
        The levels of each category, in the order in which they were first seen.
    plain : GramRoot
        Numbers, then their indicators of missing cells, then for each category its levels and its missing cells, then
        the target. Rows count once, because preparation ignores weights.
    weighted : GramRoot or None
        The same with weights, if the rows have some.
    """

    pivots: Floats
    ranges: Floats
    levels: list[list[Level]]
    plain: GramRoot
    weighted: GramRoot | None

    @property
    def n_numbers(self) -> int:
        return len(self.pivots)

    def category(self, j: int) -> slice:
        """Return the columns of one category; the last one is of missing cells."""
        start = 2 * self.n_numbers + sum(len(one) + 1 for one in self.levels[:j])
        return slice(start, start + len(self.levels[j]) + 1)

    def fits(self, member: Pipeline) -> bool:
        """Whether these can be sums of the columns of a fitted member; in a damaged file they may be anything."""
        try:
            shape = (encoded_columns(member, self.levels),)
            sound = [
                one.high.shape == one.low.shape == one.root.shape[1:] == shape
                and bool(np.isfinite(one.root).all() and np.isfinite(one.mean).all() and one.weight > 0 < one.rows)
                for one in (self.plain, *(() if self.weighted is None else (self.weighted,)))
            ]
            same = self.ranges.shape == (2, count_numbers(member)) and len(self.levels) == count_categories(member)
            return all(sound) and same and self.n_numbers == count_numbers(member)
        except (AttributeError, TypeError, ValueError):
            return False

    def plus(self, member: Pipeline, X: pl.DataFrame, y: Floats, weights: Floats | None) -> LinearSums:
        """Add rows."""
        more = self._of_rows(member, X, y, weights)
        old = self._with_levels(more.levels)
        both = None if old.weighted is None or more.weighted is None else old.weighted + more.weighted
        ranges = np.stack([np.fmin(self.ranges[0], more.ranges[0]), np.fmax(self.ranges[1], more.ranges[1])])
        return replace(more, ranges=ranges, plain=old.plain + more.plain, weighted=both)

    def minus(self, member: Pipeline, X: pl.DataFrame, y: Floats, weights: Floats | None) -> LinearSums:
        """Remove rows. Raise if they were not learned, or if the rest would not be precise."""
        less = self._of_rows(member, X, y, weights)
        strange = [one for before, now in zip(self.levels, less.levels, strict=True) for one in now[len(before) :]]
        if strange:
            raise ForgetError(f"it has not learned these rows: none of its rows has {strange[0]!r}.")
        both = None if self.weighted is None or less.weighted is None else self.weighted - less.weighted
        return replace(self, plain=self.plain - less.plain, weighted=both)

    def _of_rows(self, member: Pipeline, X: pl.DataFrame, y: Floats, weights: Floats | None) -> LinearSums:
        """Summarize other rows in the same columns, and those of their new levels."""
        if (weights is None) != (self.weighted is None):
            raise InputError("either all training rows, old and new, must have weights, or none of them.")
        levels = [
            [*known, *(one for one in found if one not in set(known))]
            for known, found in zip(self.levels, levels_of(member, X), strict=True)
        ]
        return summed(member, X, y, weights, self.pivots, levels)

    def _with_levels(self, levels: list[list[Level]]) -> LinearSums:
        """Return the same sums with columns for further levels, which are 0 so far."""
        wide = replace(self, levels=levels)
        kept_columns: list[int] = list(range(2 * self.n_numbers))
        for j, known in enumerate(self.levels):
            at = wide.category(j)
            kept_columns += [*range(at.start, at.start + len(known)), at.stop - 1]
        n_columns = 2 * self.n_numbers + sum(len(one) + 1 for one in levels) + 1
        kept_columns.append(n_columns - 1)
        spread = [None if one is None else one.spread_out(np.array(kept_columns), n_columns) for one in self.both]
        assert spread[0] is not None
        return replace(wide, plain=spread[0], weighted=spread[1])

    @property
    def both(self) -> tuple[GramRoot, GramRoot | None]:
        return self.plain, self.weighted

    def finished(self, member: Pipeline) -> Pipeline:
        """Return the pipeline that is fitted to these rows; `member` says how, and stays as it is."""
        new = copy.copy(member)
        prepare, encoding = encoded(self, member["prepare"])
        model = copy.deepcopy(member["model"])
        solve(model.regressor_ if isinstance(model, TransformedTarget) else model, self, encoding)
        model.n_features_in_ = encoding.matrix.shape[1]
        new.steps = [("prepare", prepare), ("model", model)]
        return new


@dataclass(frozen=True)
class Encoding:
    """How the columns of the sums become those of the model: `z @ matrix - center`."""

    matrix: Floats
    center: Floats


def sums_of(members: Sequence[Any], X: pl.DataFrame, y: Floats, weights: Floats | None) -> LinearSums | None:
    """Return the sums of fitted members; None if they cannot be updated, or if it would take long."""
    if any(why_not(one) for one in members) or len({str(layout_of(one)) for one in members}) > 1:
        return None
    member, levels = members[0], levels_of(members[0], X)
    n_columns = encoded_columns(member, levels)
    if n_columns > MOST_COLUMNS or X.height * n_columns**2 > MOST_WORK or infinite_column(member, X) is not None:
        return None
    pivots = [one[1].statistics_ for part, one, _ in parts_of(member) if part != "categories"]
    return summed(member, X, y, weights, np.concatenate([np.empty(0), *pivots]), levels)


def why_not(member: Any) -> str:
    """Say why a fitted member cannot be updated; "" if it can."""
    if not isinstance(member, Pipeline) or [name for name, _ in member.steps] != ["prepare", "model"]:
        return "its columns were selected by their relation to the target"
    model = member["model"]
    if isinstance(model, TransformedTarget):
        if model.transform != "none":
            return f"its target was transformed ({model.transform}), which is corrected by the residuals of single rows"
        model = model.regressor_
    if type(model) not in (LinearRegression, Ridge) or model.positive or not model.fit_intercept:
        return f"it contains {title_of(model)}, and only linear and ridge regression can be updated"
    for part, transformer, columns in parts_of(member):
        first = transformer[0] if isinstance(transformer, Pipeline) else transformer
        if part in ("numbers", "dates") and transformer[1].strategy != "mean":
            return "an earlier version of Foldwise wrote it"
        if isinstance(first, CategoryCodes):
            many = [name for name, rare in zip(columns, first.has_rare_, strict=True) if rare]
            if many:
                return f"column {many[0]!r} has more than {first.most} categories, and rarer ones share a column"
        seen = seen_columns(first)
        if seen is None:
            return f"column {columns[0]!r} contains text"
        if not all(seen):
            return f"column {columns[seen.index(False)]!r} has no value in its training rows"
    return ""


def seen_columns(first: Any) -> list[bool] | None:
    """Say which columns of a transformer have values in the training rows; None for texts."""
    if isinstance(first, CategoryCodes):
        return [bool(levels) for levels in first.levels_]
    if isinstance(first, NumberColumns):
        return list(map(bool, np.atleast_1d(first.seen_)))
    return [first.seen_[str(name)] for name in first.feature_names_in_] if isinstance(first, DateFeatures) else None


def parts_of(member: Pipeline) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield the fitted parts of a column transformer that have columns."""
    for part, transformer, columns in member["prepare"].transformers_:
        if part != "remainder" and len(columns):
            yield part, transformer, list(columns)


def layout_of(member: Pipeline) -> list[tuple[str, list[str]]]:
    return [(part, columns) for part, _, columns in parts_of(member)]


def number_cells(member: Pipeline, X: pl.DataFrame) -> Floats:
    """Return numbers and parts of dates before imputation."""
    found = [one[0].transform(X.select(columns)) for part, one, columns in parts_of(member) if part != "categories"]
    return np.column_stack([np.empty((X.height, 0)), *found])


def infinite_column(member: Pipeline, X: pl.DataFrame) -> str | None:
    """Return the first column with an infinite number, which is replaced by the range of all training rows."""
    for part, _, columns in parts_of(member):
        if part == "numbers":
            infinite = np.isinf(numbers_of(columns_view(X.select(columns)))).any(axis=0)
            if infinite.any():
                return columns[int(infinite.argmax())]
    return None


def levels_of(member: Pipeline, X: pl.DataFrame) -> list[list[Level]]:
    """Return the levels of each category in these rows."""
    found: list[list[Level]] = []
    for part, _, columns in parts_of(member):
        if part == "categories":
            found += [list(one) for one in CategoryCodes(most=X.height + 1).fit(X.select(columns)).levels_]
    return found


def count_numbers(member: Pipeline) -> int:
    """Return how many numbers and parts of dates there are before encoding."""
    return sum(len(one[1].statistics_) for part, one, _ in parts_of(member) if part != "categories")


def count_categories(member: Pipeline) -> int:
    return sum(len(columns) for part, _, columns in parts_of(member) if part == "categories")


def encoded_columns(member: Pipeline, levels: list[list[Level]]) -> int:
    """Return how many columns are summed up, with the target."""
    return 2 * count_numbers(member) + sum(len(one) + 1 for one in levels) + 1


def summed(
    member: Pipeline, X: pl.DataFrame, y: Floats, weights: Floats | None, pivots: Floats, levels: list[list[Level]]
) -> LinearSums:
    """Sum up rows in the columns that pivots and levels define."""
    infinite = infinite_column(member, X)
    if infinite is not None:
        raise InputError(f"column {infinite!r} contains an infinite number, which cannot be added to sums.", OLD_ROWS)
    cells = number_cells(member, X)
    missing = np.isnan(cells)
    found = [np.where(missing, 0.0, cells - pivots), missing.astype(np.float64)]
    for part, _, columns in parts_of(member):
        if part == "categories":
            table = columns_view(X.select(columns))
            found += [np.eye(len(one) + 1)[codes_of(table, j, one)] for j, one in enumerate(levels)]
    Z = np.column_stack([*found, np.asarray(y, dtype=np.float64)])
    ranges = np.stack([np.fmin.reduce(cells, axis=0), np.fmax.reduce(cells, axis=0)])
    return LinearSums(pivots, ranges, levels, root_of(Z), None if weights is None else root_of(Z, weights))


def encoded(sums: LinearSums, old: Any) -> tuple[Any, Encoding]:
    """Return a column transformer that is fitted to the rows of the sums, and what it does to their columns."""
    prepare = copy.deepcopy(old)
    n_columns = len(sums.plain.high) - 1
    transformers, matrices, centers, widths, start = [], [], [], {}, 0
    for part, transformer, columns in old.transformers_:
        new = copy.deepcopy(transformer)
        if part == "categories" and len(columns):
            matrix = encode_categories(sums, new)
            center = np.zeros(matrix.shape[1])
        elif part != "remainder" and len(columns):
            matrix, center = encode_numbers(sums, new, start)
            start += len(new[1].statistics_)
        else:
            transformers.append((part, transformer, columns))
            continue
        transformers.append((part, new, columns))
        matrices.append(matrix)
        centers.append(center)
        widths[part] = matrix.shape[1]
    prepare.transformers_ = transformers
    at = 0
    for part, width in widths.items():
        prepare.output_indices_[part] = slice(at, at + width)
        at += width
    return prepare, Encoding(np.column_stack([np.empty((n_columns, 0)), *matrices]), np.concatenate(centers))


def encode_numbers(sums: LinearSums, pipe: Pipeline, start: int) -> tuple[Floats, Floats]:
    """Fit imputation and scaling to the sums, and return the matrix and the center of the encoded columns."""
    plain, k = sums.plain, sums.n_numbers
    some = np.arange(start, start + len(pipe[1].statistics_))
    n_missing = np.rint(plain.rows * plain.mean[k + some])
    if (n_missing >= plain.rows).any():
        raise InputError("a column would have no value in any row.", OLD_ROWS)
    filled = sums.pivots[some] + plain.mean[some] * plain.rows / (plain.rows - n_missing)
    fill = filled - sums.pivots[some]  # after rounding, because these are the numbers that new rows will be given
    gaps = np.flatnonzero(n_missing)
    matrix = np.zeros((len(plain.high) - 1, len(some) + len(gaps)))
    every = np.arange(len(some))
    matrix[some, every], matrix[k + some, every] = 1.0, fill
    matrix[k + some[gaps], len(some) + np.arange(len(gaps))] = 1.0
    mean = np.concatenate([filled, n_missing[gaps] / plain.rows])
    variance = ((plain.root[:, :-1] @ matrix) ** 2).sum(axis=0) / plain.rows
    scale = np.where(is_constant(variance, mean, plain.rows), 1.0, np.sqrt(variance))
    pattern = np.zeros((2, len(some)))
    pattern[1, gaps] = np.nan
    if isinstance(pipe[0], NumberColumns):
        pipe[0].least_, pipe[0].greatest_ = sums.ranges[:, some]
    imputer, scaler = clone(pipe[1]), clone(pipe[2])
    scaler.fit(imputer.fit_transform(pattern))
    imputer.statistics_ = filled
    scaler.mean_, scaler.var_, scaler.scale_, scaler.n_samples_seen_ = mean, variance, scale, plain.rows
    pipe.steps = [pipe.steps[0], (pipe.steps[1][0], imputer), (pipe.steps[2][0], scaler)]
    center = np.concatenate([fill, mean[len(some) :]]) / scale
    return matrix / scale, center


def is_constant(variance: Floats, mean: Floats, n_rows: int) -> NDArray[np.bool_]:
    """Whether a variance may be rounding only, by the rule of scikit-learn's `StandardScaler`."""
    eps = np.finfo(np.float64).eps
    return np.asarray(variance <= n_rows * eps * variance + (n_rows * mean * eps) ** 2)


def encode_categories(sums: LinearSums, pipe: Pipeline) -> Floats:
    """Fit codes and one-hot columns to the sums, and return the matrix of the encoded columns."""
    codes, one_hot = pipe[0], clone(pipe[1])
    columns: list[int] = []
    slots, codes.levels_ = [], []
    for j, (name, levels) in enumerate(zip(codes.feature_names_in_, sums.levels, strict=True)):
        at = sums.category(j)
        counts = np.rint(sums.plain.rows * sums.plain.mean[at])
        index_of = {level: k for k, level in enumerate(levels) if counts[k] > 0}
        order = sorted(sort_levels(index_of), key=lambda level: -counts[index_of[level]])
        if not 1 <= len(order) <= codes.most:
            what = "no value" if not order else f"more than {codes.most} categories"
            raise InputError(f"column {name!r} would have {what} in all rows together.", OLD_ROWS)
        codes.levels_.append(order)
        columns += [at.start + index_of[level] for level in order]
        slots.append([*range(len(order)), *([np.nan] if counts[-1] > 0 else [])])
        columns += [at.stop - 1] if counts[-1] > 0 else []
    codes.has_rare_ = [False] * len(slots)
    longest = max(map(len, slots))
    one_hot.fit(np.array([(one * longest)[:longest] for one in slots], dtype=np.float64).T)
    pipe.steps = [pipe.steps[0], (pipe.steps[1][0], one_hot)]
    matrix = np.zeros((len(sums.plain.high) - 1, len(columns)))
    matrix[columns, np.arange(len(columns))] = 1.0
    return matrix


def solve(model: Any, sums: LinearSums, encoding: Encoding) -> None:
    """Set the coefficients of a linear or ridge regression."""
    given = sums.plain if sums.weighted is None else sums.weighted
    A, b = given.root[:, :-1] @ encoding.matrix, given.root[:, -1]
    if isinstance(model, Ridge):
        U, values, Vt = scipy.linalg.svd(A, full_matrices=False)
        model.coef_ = ((values / (values**2 + model.alpha)) * (U.T @ b)) @ Vt
    else:
        model.coef_, _, model.rank_, model.singular_ = scipy.linalg.lstsq(A, b, cond=model.tol)
        near = model.singular_ / model.singular_[0] / model.tol
        if ((near > 1 / 3) & (near < 3)).any():
            raise InputError("the columns are nearly collinear, so that sums do not give the coefficients.", OLD_ROWS)
    center = given.mean[:-1] @ encoding.matrix - encoding.center
    model.intercept_ = float(given.mean[-1] - center @ model.coef_)
    model.n_features_in_ = A.shape[1]
