"""What a distance learns from training rows, and the points that rows become in the learned space. No search."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from foldwise.neighbors import kernels
from foldwise.neighbors.cells import Cells
from foldwise.neighbors.distance import Distance
from foldwise.neighbors.kernels import Law, project
from foldwise.neighbors.weighing import Bits, bits_of, exact_weights

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

TERMS = {
    "euclidean": kernels.SQUARES,
    "manhattan": kernels.LENGTHS,
    "minkowski": kernels.POWERS,
    "chebyshev": kernels.GREATEST,
    "cosine": kernels.PLAIN_SQUARES,
    "gower": kernels.LENGTHS,
    "heom": kernels.SQUARES,
    "hvdm": kernels.SQUARES,
}
FORMS = {
    "euclidean": kernels.ROOT,
    "manhattan": kernels.ITSELF,
    "minkowski": kernels.POWER_ROOT,
    "chebyshev": kernels.ITSELF,
    "cosine": kernels.HALF,
    "gower": kernels.RATIO,
    "heom": kernels.ROOT,
    "hvdm": kernels.ROOT,
}
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}


@dataclass(frozen=True)
class Points:
    """Rows in a space: without columns of weight 0, scaled and turned as the space has learned."""

    numbers: Floats  # (rows, n_numbers), NaN where missing
    codes: NDArray[np.int32]  # (rows, n_codes), as in `Cells`

    @property
    def n_rows(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, eq=False)
class Space:
    """A distance with everything it has learned. `shift`, `divisor` and `stretch` are for the columns kept."""

    distance: Distance
    number_columns: Places  # those of a weight above 0
    code_columns: Places
    n_levels: tuple[int, ...]  # of the code columns kept
    shift: Floats
    divisor: Floats
    stretch: Floats  # what weights do to the axes before a PCA or an angle; 1 elsewhere
    centre: Floats | None  # of the PCA
    axes: Floats | None  # (n_columns, n_axes)
    law: Law

    def points(self, cells: Cells) -> Points:
        """The rows, ready for the kernels; each by itself, whatever other rows come along."""
        numbers = cells.numbers[:, self.number_columns]
        codes = np.ascontiguousarray(cells.codes[:, self.code_columns])
        if self.distance.scale is not None:
            numbers = (numbers - self.shift) / self.divisor
        elif self.distance.is_mixed:
            numbers = numbers / self.divisor  # powers of two: exact
            numbers[:, self.law.factors == 0.0] *= 0.0  # a constant column: 0 from 0, and NaN stays
        if self.distance.components is not None or self.distance.metric == "cosine":
            numbers = numbers * self.stretch
        if self.centre is not None and self.axes is not None:
            turned = np.empty((len(numbers), self.axes.shape[1]))
            project(np.ascontiguousarray(numbers), self.centre, self.axes, turned)
            numbers = turned
        if self.distance.metric == "cosine":
            numbers = _directions(numbers)
        return Points(np.ascontiguousarray(numbers), codes)

    def key(self) -> bytes:
        """Equal for spaces that measure alike: the distance of two rows has the same bits in both."""
        digest = blake2b(digest_size=32)
        learned = (self.number_columns, self.code_columns, self.shift, self.divisor, self.stretch, self.centre)
        names = (self.distance.metric, self.distance.p, self.n_levels, self.distance.scale is None)
        digest.update(repr(names).encode())
        for part in (*learned, self.axes, *self.law):
            array = np.asarray([] if part is None else part)
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()


def learn_space(distance: Distance, cells: Cells, y: NDArray[np.int64] | None = None, n_classes: int = 0) -> Space:
    """The space of a distance, learned from training rows; `y` holds class codes and only hvdm needs them."""
    weights = _column_weights(distance, cells)
    if distance.is_mixed:
        return _mixed_space(distance, cells, weights, y, n_classes)
    return _numeric_space(distance, cells, weights[cells.codes.shape[1] :])


def _numeric_space(distance: Distance, cells: Cells, weights: Floats) -> Space:
    columns = np.flatnonzero(weights > 0)
    numbers, weights = cells.numbers[:, columns], weights[columns]
    shift, divisor, stretch = np.zeros(columns.size), np.ones(columns.size), np.ones(columns.size)
    centre, axes = None, None
    if distance.scale is not None and columns.size:
        shift, divisor = _scale(distance.scale, numbers)
        numbers = (numbers - shift) / divisor
    if distance.components is not None or distance.metric == "cosine":
        power = {"manhattan": 1.0, "chebyshev": 1.0, "minkowski": 1.0 / distance.p}.get(distance.metric, 0.5)
        stretch, weights = weights**power, np.ones(columns.size)
    if distance.components is not None and columns.size:
        pca = PCA(distance.components, svd_solver="full").fit(numbers * stretch)
        centre, axes = np.asarray(pca.mean_), np.ascontiguousarray(pca.components_.T)
        weights = np.ones(axes.shape[1])
    if distance.metric == "cosine":
        weights = np.ones(weights.size + 2)  # two more coordinates, see `_directions`
    law = _law(distance, weights, bits_of(np.zeros(0), np.zeros(0), ()))
    return Space(distance, columns, np.zeros(0, np.intp), (), shift, divisor, stretch, centre, axes, law)


def _mixed_space(
    distance: Distance, cells: Cells, weights: Floats, y: NDArray[np.int64] | None, n_classes: int
) -> Space:
    n_codes = cells.codes.shape[1]
    weights = exact_weights(weights)
    code_columns = np.flatnonzero(weights[:n_codes] > 0)
    number_columns = np.flatnonzero(weights[n_codes:] > 0)
    code_weights, number_weights = weights[:n_codes][code_columns], weights[n_codes:][number_columns]
    n_levels = tuple(cells.n_levels[j] for j in code_columns)
    divisor, spread = _spread(distance.metric, cells.numbers[:, number_columns])
    power = 1 if distance.metric == "gower" else 2
    factors = np.divide(number_weights, spread**power, out=np.zeros(spread.size), where=spread > 0)
    if distance.metric == "hvdm":
        if y is None:
            raise ValueError("hvdm learns from classes, but y is None. Hint: pass class codes, or choose heom.")
        shares = _shares(cells.codes[:, code_columns], n_levels, y, n_classes)
        law = _law(distance, factors, bits_of(np.zeros(0), number_weights, ()), shares, code_weights, n_levels)
    else:
        law = _law(distance, factors, bits_of(code_weights, number_weights, n_levels))
    unused = np.zeros(divisor.size), np.ones(divisor.size)
    return Space(distance, number_columns, code_columns, n_levels, unused[0], divisor, unused[1], None, None, law)


def _law(
    distance: Distance,
    factors: Floats,
    bits: Bits,
    shares: Floats | None = None,
    code_weights: Floats | None = None,
    n_levels: tuple[int, ...] = (),
) -> Law:
    term = TERMS[distance.metric]
    if distance.metric == "euclidean" and (factors == 1.0).all():
        term = kernels.PLAIN_SQUARES
    n_slots = [n + 2 for n in n_levels] if shares is not None else []
    return Law(
        term=term,
        form=FORMS[distance.metric],
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


def _column_weights(distance: Distance, cells: Cells) -> Floats:  # (n_categorical + n_numeric,)
    n_codes, n_numbers = cells.codes.shape[1], cells.numbers.shape[1]
    codes = np.ones(n_codes) if distance.code_weights is None else distance.code_weights
    numbers = np.ones(n_numbers) if distance.number_weights is None else distance.number_weights
    if len(codes) != n_codes or len(numbers) != n_numbers:
        raise ValueError(
            f"weights are for {len(codes)} categorical and {len(numbers)} numeric columns, "
            f"but the table has {n_codes} and {n_numbers}."
        )
    return np.concatenate((codes, numbers)).astype(np.float64)


def _scale(name: str, numbers: Floats) -> tuple[Floats, Floats]:
    """What to subtract and to divide by, as scikit-learn's scalers learn it."""
    scaler = SCALERS[name]().fit(numbers)
    if name == "standard":
        return np.asarray(scaler.mean_), np.asarray(scaler.scale_)
    if name == "minmax":
        return np.asarray(scaler.data_min_), 1.0 / np.asarray(scaler.scale_)
    return np.asarray(scaler.center_), np.asarray(scaler.scale_)


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
    scaled = numbers / np.where(is_zero, 1.0, greatest)  # squares of great and small cells stay in range
    length = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    out[:, :-2] = scaled / np.where(is_zero, 1.0, length)
    out[:, -2:-1] = is_zero
    return out
