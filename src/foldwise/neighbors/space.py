"""What a distance learns from training rows (scales, ranges, class shares, components), and how it transforms rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from foldwise.arrays import Floats, Indices
from foldwise.errors import InputError
from foldwise.neighbors import kernels
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.kernels import CompiledDistance, project

# term: what a numeric column adds to the sum; form: how a sum becomes a distance
TERM_AND_FORM = {
    "euclidean": (kernels.SQUARES, kernels.ROOT),
    "manhattan": (kernels.LENGTHS, kernels.ITSELF),
    "minkowski": (kernels.POWERS, kernels.POWER_ROOT),
    "chebyshev": (kernels.GREATEST, kernels.ITSELF),
    "cosine": (kernels.PLAIN_SQUARES, kernels.HALF),
    "gower": (kernels.LENGTHS, kernels.RATIO),
    "heom": (kernels.SQUARES, kernels.ROOT),
    "hvdm": (kernels.SQUARES, kernels.ROOT),
}
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """A distance with everything it has learned. `scaler`, `stretch` and `pca` are applied in this order."""

    distance: DistanceSpec
    number_columns: Indices  # columns with a weight above 0
    code_columns: Indices
    n_levels: tuple[int, ...]  # of the code columns kept
    dist: CompiledDistance
    scaler: Any = None  # one of SCALERS, fitted
    stretch: Floats | None = None  # factors that apply the weights before a PCA or the cosine
    pca: PCA | None = None
    divisor: Floats | None = None  # of mixed distances: powers of two

    def points(self, rows: EncodedRows) -> EncodedRows:
        """Transform rows for the kernels, without columns of weight 0. A row's result never depends on other rows."""
        numbers = rows.numbers[:, self.number_columns]
        codes = np.ascontiguousarray(rows.codes[:, self.code_columns])
        if self.scaler is not None and len(numbers):
            numbers = self.scaler.transform(numbers)
        if self.divisor is not None:
            numbers = numbers / self.divisor
            numbers[:, self.dist.factors == 0.0] *= 0.0  # a constant column becomes 0, and NaN stays
        if self.stretch is not None:
            numbers = numbers * self.stretch
        if self.pca is not None:
            projected = np.empty((len(numbers), len(self.pca.components_)))
            axes = np.ascontiguousarray(self.pca.components_.T)
            project(np.ascontiguousarray(numbers), self.pca.mean_, axes, projected)
            numbers = projected
        if self.distance.metric == "cosine":
            numbers = _directions(numbers)
        return EncodedRows(np.ascontiguousarray(numbers), codes, self.n_levels)


def learn_space(
    distance: DistanceSpec,
    rows: EncodedRows,
    y: NDArray[np.int64] | None = None,
    n_classes: int = 0,
    row_weights: Floats | None = None,
) -> MetricSpace:
    """Learn a distance from training rows; `y` are class codes, which only hvdm needs."""
    weights = _column_weights(distance, rows)
    if distance.is_mixed:
        return _mixed_space(distance, rows, weights, y, n_classes, row_weights)
    return _numeric_space(distance, rows, weights[rows.codes.shape[1] :], row_weights)


def _numeric_space(
    distance: DistanceSpec, rows: EncodedRows, weights: Floats, row_weights: Floats | None = None
) -> MetricSpace:
    columns = np.flatnonzero(weights > 0)
    numbers, weights = rows.numbers[:, columns], weights[columns]
    scaler: Any = None
    stretch: Floats | None = None
    pca: PCA | None = None
    if distance.scale is not None and columns.size:
        given = {} if row_weights is None or distance.scale != "standard" else {"sample_weight": row_weights}
        scaler = SCALERS[distance.scale]().fit(numbers, **given)
        numbers = scaler.transform(numbers)
    if distance.components is not None or distance.metric == "cosine":
        power = {"manhattan": 1.0, "chebyshev": 1.0, "minkowski": 1.0 / distance.p}.get(distance.metric, 0.5)
        stretch, weights = weights**power, np.ones(columns.size)
    if distance.components is not None and columns.size:
        check_components(distance.components, numbers)
        pca = PCA(distance.components, svd_solver="full").fit(numbers if stretch is None else numbers * stretch)
        weights = np.ones(pca.n_components_)
    if distance.metric == "cosine":
        weights = np.ones(weights.size + 2)  # two more coordinates, see `_directions`
    dist = _compiled(distance, weights, column_bits(np.zeros(0), np.zeros(0), ()))
    return MetricSpace(distance, columns, np.zeros(0, np.intp), (), dist, scaler, stretch, pca)


def check_components(components: int | float, numbers: Floats) -> None:
    """Raise for more components than the training rows allow, or for a share of a variance of 0."""
    n_rows, n_columns = numbers.shape
    if components >= 1 and components > min(n_rows, n_columns):
        raise InputError(
            f"pca={components} is more components than {n_rows} training rows with {n_columns} columns allow.",
            f"use at most {min(n_rows, n_columns)}.",
        )
    if components < 1 and not (numbers != numbers[:1]).any():
        raise InputError(
            f"pca={components} is a share of the variance, but all training rows are equal.", "remove pca."
        )


def _mixed_space(
    distance: DistanceSpec,
    rows: EncodedRows,
    weights: Floats,
    y: NDArray[np.int64] | None,
    n_classes: int,
    row_weights: Floats | None = None,
) -> MetricSpace:
    n_codes = rows.codes.shape[1]
    weights = exact_weights(weights)
    code_columns = np.flatnonzero(weights[:n_codes] > 0)
    number_columns = np.flatnonzero(weights[n_codes:] > 0)
    code_weights, number_weights = weights[:n_codes][code_columns], weights[n_codes:][number_columns]
    n_levels = tuple(rows.n_levels[j] for j in code_columns)
    divisor, spread = _spread(distance.metric, rows.numbers[:, number_columns], row_weights)
    power = 1 if distance.metric == "gower" else 2
    factors = np.divide(number_weights, spread**power, out=np.zeros(spread.size), where=spread > 0)
    if distance.metric == "hvdm":
        if y is None:
            raise ValueError("hvdm learns from classes, but y is None. Hint: pass class codes, or use heom.")
        shares = _shares(rows.codes[:, code_columns], n_levels, y, n_classes, row_weights)
        bits = column_bits(np.zeros(0), number_weights, ())
        dist = _compiled(distance, factors, bits, shares, code_weights, n_levels)
    else:
        dist = _compiled(distance, factors, column_bits(code_weights, number_weights, n_levels))
    return MetricSpace(distance, number_columns, code_columns, n_levels, dist, divisor=divisor)


def exact_weights(weights: Floats) -> Floats:
    """Round weights to multiples of 2^-52 of their sum, so that any sum of them is exact in any order.

    The common weight of rows without a common column is then exactly 0. Weights below 1e-16 of the sum become 0.
    """
    exponent = int(np.frexp(weights.sum())[1])
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, 52 - exponent)), exponent - 52))


def bytes_per_code(n_levels: int) -> int:
    """Count the bytes of a code: levels of the column, and one unknown code each for training rows and queries."""
    return max(1, (int(n_levels + 1).bit_length() + 7) // 8)


def column_bits(code_weights: Floats, number_weights: Floats, n_levels: tuple[int, ...]) -> dict[str, Any]:
    """Assign one bit per column, categorical columns first; the fields of `CompiledDistance` about bits."""
    weights = np.concatenate((code_weights, number_weights))
    n_bytes = -(-weights.size // 8)
    padded = np.zeros(n_bytes * 8)
    padded[: weights.size] = weights
    is_set = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")  # (256, 8)
    column_of = np.repeat(np.arange(len(n_levels)), [bytes_per_code(n) for n in n_levels])
    return {
        "bit_weights": padded.reshape(n_bytes, 8) @ is_set.T,  # exact in any order, see `exact_weights`
        "all_ones": bool((weights == 1.0).all()) and weights.size <= 255,
        "total_weight": float(weights.sum()),
        "plane_starts": np.searchsorted(column_of // 8, np.arange(n_bytes + 1)).astype(np.int64),
        "plane_bits": (1 << (column_of % 8)).astype(np.uint8),
    }


def _compiled(
    distance: DistanceSpec,
    factors: Floats,
    bits: dict[str, Any],
    shares: Floats | None = None,
    code_weights: Floats | None = None,
    n_levels: tuple[int, ...] = (),
) -> CompiledDistance:
    term, form = TERM_AND_FORM[distance.metric]
    if distance.metric == "euclidean" and (factors == 1.0).all():
        term = kernels.PLAIN_SQUARES
    n_slots = [n + 2 for n in n_levels] if shares is not None else []
    return CompiledDistance(
        term=term,
        form=form,
        p=float(distance.p),
        factors=np.ascontiguousarray(factors, dtype=np.float64),
        **bits,
        shares=np.zeros((0, 0)) if shares is None else shares,
        slot_weights=np.zeros(0) if code_weights is None else np.repeat(code_weights, n_slots),
        slot_starts=np.concatenate(([0], np.cumsum(n_slots))).astype(np.int64),
    )


def _column_weights(distance: DistanceSpec, rows: EncodedRows) -> Floats:  # (n_categorical + n_numeric,)
    n_codes, n_numbers = rows.codes.shape[1], rows.numbers.shape[1]
    codes = np.ones(n_codes) if distance.code_weights is None else distance.code_weights
    numbers = np.ones(n_numbers) if distance.number_weights is None else distance.number_weights
    if len(codes) != n_codes or len(numbers) != n_numbers:
        raise ValueError(
            f"weights are for {len(codes)} categorical and {len(numbers)} numeric columns, "
            f"but the table has {n_codes} and {n_numbers}."
        )
    return np.concatenate((codes, numbers)).astype(np.float64)


def _spread(metric: str, numbers: Floats, row_weights: Floats | None) -> tuple[Floats, Floats]:
    """Compute a power of two near the range of each column, and the range (or 4σ) of the column divided by it.

    This division is exact, so equal differences stay equal, and neither squares nor ranges overflow.
    """
    divisor, spread = np.ones(numbers.shape[1]), np.zeros(numbers.shape[1])
    for j, column in enumerate(numbers.T):
        known = ~np.isnan(column)
        present = column[known]
        if present.size and present.min() < present.max():  # σ of a constant column may not round to 0
            exponent = int(np.frexp(present.max() / 2 - present.min() / 2)[1])
            divisor[j] = np.ldexp(1.0, min(max(exponent, -1000), 1000))
            present = present / divisor[j]
            spread[j] = present.max() - present.min()
            if metric == "hvdm":
                spread[j] = 4.0 * (present.std() if row_weights is None else weighted_std(present, row_weights[known]))
    return divisor, spread


def weighted_std(values: Floats, weights: Floats) -> float:
    """Compute the standard deviation of values that count so many times."""
    mean = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))


def _shares(
    codes: NDArray[np.int32],
    n_levels: tuple[int, ...],
    y: NDArray[np.int64],
    n_classes: int,
    row_weights: Floats | None,
) -> Floats:
    """Compute P(class | level) for the levels of each column, then zeros for unknown and for missing values."""
    tables = [np.zeros((0, n_classes))]
    for j, n in enumerate(n_levels):
        seen = codes[:, j] >= 0
        given = None if row_weights is None else row_weights[seen]
        counts = np.bincount(codes[seen, j].astype(np.int64) * n_classes + y[seen], given, minlength=n * n_classes)
        counts = counts.reshape(n, n_classes).astype(np.float64)
        totals = counts.sum(axis=1, keepdims=True)
        tables += [np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0), np.zeros((2, n_classes))]
    return np.concatenate(tables)


def _directions(numbers: Floats) -> Floats:
    """Scale rows to length 1, so that ½|a - b|² is 1 - cos(a, b), and exactly 0 for equal rows.

    There are two more coordinates: a row of zeros becomes (0, ..., 0, 1, 0), at distance 1 from every other row.
    Queries have these two swapped, so that two rows of zeros are at distance 1 too, as in scikit-learn.
    """
    greatest = np.abs(numbers).max(axis=1, initial=0.0, keepdims=True)
    is_zero = greatest == 0.0
    out = np.zeros((len(numbers), numbers.shape[1] + 2))
    # squares of large and small values stay in range; in C order, the sum of a row never depends on other rows
    scaled = np.ascontiguousarray(numbers / np.where(is_zero, 1.0, greatest))
    length = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    out[:, :-2] = scaled / np.where(is_zero, 1.0, length)
    out[:, -2:-1] = is_zero
    return out
