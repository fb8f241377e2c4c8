"""What a distance learns from training rows, and the points that rows become in the learned space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from foldwise.errors import InputError
from foldwise.neighbors import kernels
from foldwise.neighbors.distance import DistanceSpec
from foldwise.neighbors.encoding import EncodedRows
from foldwise.neighbors.kernels import CompiledDistance, project

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# what a numeric column adds to the sum, and how a sum becomes a distance
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


@dataclass(frozen=True)
class Points:
    """Rows in a space: without columns of weight 0, transformed as the space has learned."""

    numbers: Floats  # (rows, n_numbers), NaN where missing
    codes: NDArray[np.int32]  # (rows, n_codes), as in `EncodedRows`

    @property
    def n_rows(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Space:
    """A distance with everything it has learned; `scaler`, `stretch` and `pca` apply one after the other."""

    distance: DistanceSpec
    number_columns: Indices  # those of a weight above 0
    code_columns: Indices
    n_levels: tuple[int, ...]  # of the code columns kept
    dist: CompiledDistance
    scaler: Any = None  # one of SCALERS, fitted
    stretch: Floats | None = None  # what weights do to the axes before a PCA or an angle
    pca: PCA | None = None
    divisor: Floats | None = None  # of mixed distances: powers of two

    def points(self, rows: EncodedRows) -> Points:
        """The rows, ready for the kernels; each by itself, whatever other rows come along."""
        numbers = rows.numbers[:, self.number_columns]
        codes = np.ascontiguousarray(rows.codes[:, self.code_columns])
        if self.scaler is not None and len(numbers):
            numbers = self.scaler.transform(numbers)
        if self.divisor is not None:
            numbers = numbers / self.divisor
            numbers[:, self.dist.factors == 0.0] *= 0.0  # a constant column: 0 from 0, and NaN stays
        if self.stretch is not None:
            numbers = numbers * self.stretch
        if self.pca is not None:
            projected = np.empty((len(numbers), len(self.pca.components_)))
            axes = np.ascontiguousarray(self.pca.components_.T)
            project(np.ascontiguousarray(numbers), self.pca.mean_, axes, projected)
            numbers = projected
        if self.distance.metric == "cosine":
            numbers = _directions(numbers)
        return Points(np.ascontiguousarray(numbers), codes)


def learn_space(
    distance: DistanceSpec, rows: EncodedRows, y: NDArray[np.int64] | None = None, n_classes: int = 0
) -> Space:
    """Learn the space of a distance from training rows; `y` holds class codes, which only hvdm needs."""
    weights = _column_weights(distance, rows)
    if distance.is_mixed:
        return _mixed_space(distance, rows, weights, y, n_classes)
    return _numeric_space(distance, rows, weights[rows.codes.shape[1] :])


def _numeric_space(distance: DistanceSpec, rows: EncodedRows, weights: Floats) -> Space:
    columns = np.flatnonzero(weights > 0)
    numbers, weights = rows.numbers[:, columns], weights[columns]
    scaler: Any = None
    stretch: Floats | None = None
    pca: PCA | None = None
    if distance.scale is not None and columns.size:
        scaler = SCALERS[distance.scale]().fit(numbers)
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
    return Space(distance, columns, np.zeros(0, np.intp), (), dist, scaler, stretch, pca)


def check_components(components: int | float, numbers: Floats) -> None:
    """Refuse more principal components than the rows span, and shares of a variance that is 0."""
    n_rows, n_columns = numbers.shape
    if components >= 1 and components > min(n_rows, n_columns):
        raise InputError(
            f"pca={components} asks for more components than {n_rows} rows of {n_columns} columns have.",
            f"at most {min(n_rows, n_columns)}.",
        )
    if components < 1 and not (numbers != numbers[:1]).any():
        raise InputError(f"pca={components} is a share of the variance, but all rows are alike.", "leave pca out.")


def _mixed_space(
    distance: DistanceSpec, rows: EncodedRows, weights: Floats, y: NDArray[np.int64] | None, n_classes: int
) -> Space:
    n_codes = rows.codes.shape[1]
    weights = exact_weights(weights)
    code_columns = np.flatnonzero(weights[:n_codes] > 0)
    number_columns = np.flatnonzero(weights[n_codes:] > 0)
    code_weights, number_weights = weights[:n_codes][code_columns], weights[n_codes:][number_columns]
    n_levels = tuple(rows.n_levels[j] for j in code_columns)
    divisor, spread = _spread(distance.metric, rows.numbers[:, number_columns])
    power = 1 if distance.metric == "gower" else 2
    factors = np.divide(number_weights, spread**power, out=np.zeros(spread.size), where=spread > 0)
    if distance.metric == "hvdm":
        if y is None:
            raise ValueError("hvdm learns from classes, but y is None. Hint: pass class codes, or choose heom.")
        shares = _shares(rows.codes[:, code_columns], n_levels, y, n_classes)
        bits = column_bits(np.zeros(0), number_weights, ())
        dist = _compiled(distance, factors, bits, shares, code_weights, n_levels)
    else:
        dist = _compiled(distance, factors, column_bits(code_weights, number_weights, n_levels))
    return Space(distance, number_columns, code_columns, n_levels, dist, divisor=divisor)


@dataclass(frozen=True)
class ColumnBits:
    """The columns that own a bit: code columns first, then numeric ones, eight to a byte; see `CompiledDistance`."""

    look_up: Floats  # (n_bytes, 256)
    all_ones: bool
    total: float
    plane_starts: NDArray[np.int64]  # (n_bytes + 1,)
    plane_bits: NDArray[np.uint8]  # (n_planes,)


def exact_weights(weights: Floats) -> Floats:
    """The weights as multiples of 2^-52 of their sum, so that any sum of them is exact in any order.

    The weight of rows without a common column must be exactly 0. Weights below 1e-16 of all become 0.
    """
    exponent = int(np.frexp(weights.sum())[1])
    return np.asarray(np.ldexp(np.rint(np.ldexp(weights, 52 - exponent)), exponent - 52))


def bytes_per_code(n_levels: int) -> int:
    """How many bytes hold a code of a column: its levels, and unknown ones of training rows and of queries."""
    return max(1, (int(n_levels + 1).bit_length() + 7) // 8)


def column_bits(code_weights: Floats, number_weights: Floats, n_levels: tuple[int, ...]) -> ColumnBits:
    """Bits for code columns and numeric columns with their weights; the planes of one code column share its bit."""
    weights = np.concatenate((code_weights, number_weights))
    n_bytes = -(-weights.size // 8)
    padded = np.zeros(n_bytes * 8)
    padded[: weights.size] = weights
    is_set = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")  # (256, 8)
    column_of = np.repeat(np.arange(len(n_levels)), [bytes_per_code(n) for n in n_levels])
    return ColumnBits(
        look_up=padded.reshape(n_bytes, 8) @ is_set.T,  # exact in any order, see `exact_weights`
        all_ones=bool((weights == 1.0).all()) and weights.size <= 255,
        total=float(weights.sum()),
        plane_starts=np.searchsorted(column_of // 8, np.arange(n_bytes + 1)).astype(np.int64),
        plane_bits=(1 << (column_of % 8)).astype(np.uint8),
    )


def _compiled(
    distance: DistanceSpec,
    factors: Floats,
    bits: ColumnBits,
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
        bit_weights=bits.look_up,
        all_ones=bits.all_ones,
        total_weight=bits.total,
        plane_starts=bits.plane_starts,
        plane_bits=bits.plane_bits,
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


def _spread(metric: str, numbers: Floats) -> tuple[Floats, Floats]:
    """Powers of two near the range of each column, and the range, or 4σ, of the column divided by them.

    The division is exact: equal differences stay equal, and neither squares nor ranges overflow.
    """
    divisor, spread = np.ones(numbers.shape[1]), np.zeros(numbers.shape[1])
    for j, column in enumerate(numbers.T):
        present = column[~np.isnan(column)]
        if present.size and present.min() < present.max():  # σ of a constant column may round to other than 0
            exponent = int(np.frexp(present.max() / 2 - present.min() / 2)[1])
            divisor[j] = np.ldexp(1.0, min(max(exponent, -1000), 1000))
            present = present / divisor[j]
            spread[j] = 4.0 * present.std() if metric == "hvdm" else present.max() - present.min()
    return divisor, spread


def _shares(codes: NDArray[np.int32], n_levels: tuple[int, ...], y: NDArray[np.int64], n_classes: int) -> Floats:
    """P(class | level) of each column's levels, then zeros for an unknown one and for a missing cell."""
    tables = [np.zeros((0, n_classes))]
    for j, n in enumerate(n_levels):
        seen = codes[:, j] >= 0
        counts = np.bincount(codes[seen, j].astype(np.int64) * n_classes + y[seen], minlength=n * n_classes)
        counts = counts.reshape(n, n_classes).astype(np.float64)
        totals = counts.sum(axis=1, keepdims=True)
        tables += [np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0), np.zeros((2, n_classes))]
    return np.concatenate(tables)


def _directions(numbers: Floats) -> Floats:
    """Rows of length 1 and two more coordinates, so that ½|a - b|² is 1 - cos(a, b), and exactly 0 for equal rows.

    A row of zeros becomes (0, ..., 0, 1, 0), at distance 1 from every direction. Queries have the last two swapped:
    then two rows of zeros are at distance 1 too, as scikit-learn has it.
    """
    greatest = np.abs(numbers).max(axis=1, initial=0.0, keepdims=True)
    is_zero = greatest == 0.0
    out = np.zeros((len(numbers), numbers.shape[1] + 2))
    # squares of great and small values stay in range; in C-order a row is summed alike, alone or among others
    scaled = np.ascontiguousarray(numbers / np.where(is_zero, 1.0, greatest))
    length = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    out[:, :-2] = scaled / np.where(is_zero, 1.0, length)
    out[:, -2:-1] = is_zero
    return out
