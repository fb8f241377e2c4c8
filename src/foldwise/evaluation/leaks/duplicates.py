"""Test rows that also occur among the training rows: a model that memorizes them knows their labels.

Rows with few columns and few values are equal by chance, and new rows will be, too. So the number of duplicates is
compared with the number expected if columns were independent given the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.arrays import Bools, Ints
from foldwise.data.frames import as_polars
from foldwise.data.schema import listing
from foldwise.evaluation.leaks.leak_input import LeakInput, some
from foldwise.evaluation.leaks.report import Leak, Severity, rows_text

FEW, FEW_ROWS = 0.01, 10  # a smaller fraction, or fewer rows, change an accuracy by less than one percentage point
TIMES_CHANCE = 3.0
DIFFERENT = 0.3  # a column with at least this fraction of distinct values does not agree by chance
GRAIN = 1e-6  # relative to a column's standard deviation: errors of rounding to single precision or of printing
KEEP_TOGETHER = (
    "pass groups=duplicate_groups(X) with cv=StratifiedGroupKFold() or GroupKFold(); oversample only inside a pipeline"
)


def duplicate_groups(X: Any) -> Ints:
    """Number the rows so that equal rows have equal numbers, for use as `groups`.

    With `GroupKFold` or `StratifiedGroupKFold`, no test row then occurs among the training rows. `find_leaks` tells
    whether this is needed.

    Parameters
    ----------
    X : array-like, frame or sparse matrix of shape (n_rows, n_columns)
        The table. Missing cells are equal to each other.

    Returns
    -------
    ndarray of shape (n_rows,)
        The numbers, in the order of first occurrence.

    Examples
    --------
    >>> from foldwise import duplicate_groups
    >>> duplicate_groups([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    array([0, 1, 0])
    """
    return sparse_units(X) if sp.issparse(X) else units_of(as_polars(X))


def units_of(frame: pl.DataFrame) -> Ints:
    """Number equal rows of a frame equally, in the order of first occurrence."""
    if not frame.width:
        return np.arange(frame.height)
    _, units, counts = np.unique(frame.hash_rows(seed=0).to_numpy(), return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[units] > 1)
    firsts = np.arange(frame.height)
    if again.size:  # different rows may have equal hashes, so cells are compared
        names = [f"c{j}" for j in range(frame.width)]
        part = frame[again].rename(dict(zip(frame.columns, names, strict=True))).with_columns(row=again)
        firsts[again] = part.select(pl.col("row").first().over(names))["row"].to_numpy()
    return in_order_of_first(firsts)


def sparse_units(X: Any) -> Ints:
    """Number equal rows of a sparse matrix equally."""
    matrix = X.tocsr().copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    seen: dict[tuple[bytes, bytes], int] = {}
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    keys = ((matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()) for a, b in ends)
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def in_order_of_first(firsts: Ints) -> Ints:
    """Number units from 0, given the first row of each row's unit."""
    is_first = firsts == np.arange(len(firsts))
    return np.asarray((np.cumsum(is_first) - 1)[firsts], dtype=np.int64)


def duplicates(given: LeakInput) -> Iterator[Leak]:
    """Report exact duplicates across splits, then those that differ by rounding or by a column of row numbers."""
    exact = duplicate_groups(given.X) if sp.issparse(given.X) else units_of(given.frame)
    found = across(given, exact)
    if found is not None:
        yield described(given, exact, found, "duplicates", "also occur among the training rows of their split")
    if not given.frame.width:
        return
    names = [name for name, finding in given.findings.items() if finding.kind == "identifier"]
    rest = given.frame.drop(names)
    if not rest.width:
        return
    units = units_of(rest.select(rounded(column) for column in rest))
    near = across(given, units)
    already = 0 if found is None else int(found.sum())
    if near is not None and near.sum() > max(1.2 * already, already + 2):
        how = "numbers differ by at most a millionth of their standard deviation"
        if names:
            how = f"ignoring {listing(names)}; {how}"
        yield described(given, units, near, "near duplicates", f"nearly equal training rows of their split ({how})")


def rounded(column: pl.Series) -> pl.Series:
    """Round floats to a millionth of their standard deviation."""
    if not column.dtype.is_float():
        return column
    finite = column.filter(column.is_finite())
    spread = float(finite.std() or 0.0) if len(finite) > 1 else 0.0  # type: ignore[arg-type]
    return column if not 0 < spread < np.inf else (column.cast(pl.Float64) / (GRAIN * spread)).round()


def across(given: LeakInput, units: Ints) -> Bools | None:
    """Return which test rows of all splits have a duplicate among the training rows; None if none has."""
    if int(units.max(initial=-1)) + 1 == given.n_rows:
        return None
    found = np.concatenate([shared for _, shared in given.shared(units)])
    return found if found.any() else None


def described(given: LeakInput, units: Ints, found: Bools, name: str, words: str) -> Leak:
    """Describe the finding; its level depends on the number of rows and on the number expected by chance."""
    tested = np.concatenate([split.test for split in given.splits])
    rows, total = int(found.sum()), given.n_tested
    share, expected = rows / total, expected_by_chance(given)
    level: Severity = "leak"
    text = f"{rows_text(rows, total)} {words}{agreement(given, units)}"
    if rows <= TIMES_CHANCE * expected or share < FEW or rows < FEW_ROWS:
        level = "note"
    elif not given.frame.width:
        level = "suspicion"  # the number expected by chance is not computed for sparse matrices
    if expected >= 0.5:
        text += f"; about {expected:,.0f} are expected by chance alone"
    examples = np.unique(tested[found])
    copy = training_copy(given, units, int(examples[0]))
    text += f". For example, row {examples[0]} {'equals' if name == 'duplicates' else 'nearly equals'} row {copy}."
    remedy = f"if these are repeated records, {KEEP_TOGETHER}." if level == "note" else f"{KEEP_TOGETHER}."
    if name != "duplicates":
        remedy = f"remove or round the columns that differ, then {KEEP_TOGETHER}."
    return Leak(name, level, "", rows, share, text, some(examples), remedy)


def training_copy(given: LeakInput, units: Ints, row: int) -> int:
    """Return a training row of the same unit, in a split that tests the row."""
    for split, shared in given.shared(units):
        if (shared & (split.test == row)).any():
            return int(split.train[units[split.train] == units[row]].min())
    raise AssertionError("no split has a training row of the same unit")


def agreement(given: LeakInput, units: Ints) -> str:
    """Describe how many duplicates have the label of most of their copies among the training rows."""
    if given.labels is None or given.quantity or given.likeness is None:
        return ""
    labels = given.likeness.labels
    n_classes, n_units = int(labels.max()) + 1, int(units.max()) + 1
    agreed = rows = 0
    for split, shared in given.shared(units):
        cells = units[split.train] * n_classes + labels[split.train]
        found, counts = np.unique(cells, return_counts=True)
        order = np.argsort(counts, kind="stable")
        most = np.full(n_units, -1)
        most[found[order] // n_classes] = found[order] % n_classes  # the most frequent is written last
        test = split.test[shared]
        agreed, rows = agreed + int(np.sum(most[units[test]] == labels[test])), rows + len(test)
    return f", {agreed / rows:.0%} of them with the same label"


def expected_by_chance(given: LeakInput) -> float:
    """Compute how many test rows would have a duplicate if columns were independent given the class."""
    if not given.frame.width:
        return 0.0
    labels = np.zeros(given.n_rows, dtype=np.int64)
    if given.likeness is not None and not given.quantity:
        labels = np.asarray(given.likeness.labels, dtype=np.int64)
    n_classes = int(labels.max()) + 1
    sizes = np.bincount(labels, minlength=n_classes)
    columns = []
    for name in given.frame.columns:
        columns.append(given.codes(name) + 1)
        if columns[-1].max() >= DIFFERENT * given.n_rows:
            return 0.0
    chance = log_chance(columns, labels, sizes)
    # only duplicates of the same class are counted: those of other classes are few
    own = np.exp(chance) * np.maximum(sizes[labels] - 1, 0) / max(1, given.n_rows - 1)
    parts = [np.sum(-np.expm1(-own[split.test] * len(split.train))) for split in given.splits]
    return float(np.sum(parts))


def log_chance(columns: Sequence[Ints], labels: Ints, sizes: Ints) -> NDArray[np.float64]:
    """Compute the log-probability that another row of the class has the same cells."""
    total = np.zeros(len(labels))
    with np.errstate(divide="ignore"):
        for codes in columns:
            cells = codes * len(sizes) + labels
            # a value that occurs once, in the row itself, has probability 0
            others = np.bincount(cells)[cells] - 1
            total += np.log(others / np.maximum(sizes[labels] - 1, 1))
    return total
