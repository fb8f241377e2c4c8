"""Rows of a test that stand in the training rows too: a model that remembers knows their labels.

Rows of few columns with few values agree by chance, and new rows will too. So what is found is held against what
columns that are independent given the class would bring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from foldwise.data.frames import as_polars
from foldwise.data.schema import listing
from foldwise.evaluation.leaks.leak_input import LeakInput, some
from foldwise.evaluation.leaks.report import Leak, Level, rows_said

Ints = NDArray[np.int64]
Truths = NDArray[np.bool_]
FEW, FEW_ROWS = 0.01, 10  # a smaller share, or fewer rows, move no score that matters: an accuracy by less than a point
TIMES_CHANCE = 3.0
DIFFERENT = 0.3  # texts or measurements of which so many are different do not agree by chance
GRAIN = 1e-6  # of a column's standard deviation: what rounding to single precision or printing leaves
KEEP_TOGETHER = (
    "pass groups=duplicate_groups(X) with cv=StratifiedGroupKFold() or GroupKFold(); oversample inside a pipeline"
)


def duplicate_groups(X: Any) -> Ints:
    """One number a row, the same for rows whose cells are all equal: as `groups`, it keeps duplicates on one side.

    Missing cells are equal to each other. With `GroupKFold` or `StratifiedGroupKFold`, no test row then stands in the
    training rows. `find_leaks` says whether that is needed.

    >>> duplicate_groups([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    array([0, 1, 0])
    """
    return sparse_units(X) if sp.issparse(X) else units_of(as_polars(X))


def units_of(frame: pl.DataFrame) -> Ints:
    """Equal rows as equal numbers, in the order of their first."""
    if not frame.width:
        return np.arange(frame.height)
    _, units, counts = np.unique(frame.hash_rows(seed=0).to_numpy(), return_inverse=True, return_counts=True)
    again = np.flatnonzero(counts[units] > 1)
    firsts = np.arange(frame.height)
    if again.size:  # equal hashes are a strong hint: cells decide
        names = [f"c{j}" for j in range(frame.width)]
        part = frame[again].rename(dict(zip(frame.columns, names, strict=True))).with_columns(row=again)
        firsts[again] = part.select(pl.col("row").first().over(names))["row"].to_numpy()
    return in_order_of_first(firsts)


def sparse_units(X: Any) -> Ints:
    """The same of a sparse matrix."""
    matrix = X.tocsr().copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    seen: dict[tuple[bytes, bytes], int] = {}
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    keys = ((matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()) for a, b in ends)
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def in_order_of_first(firsts: Ints) -> Ints:
    """Numbers from 0 on for units that are named by their first row."""
    is_first = firsts == np.arange(len(firsts))
    return np.asarray((np.cumsum(is_first) - 1)[firsts], dtype=np.int64)


def duplicates(given: LeakInput) -> Iterator[Leak]:
    """Exact duplicates across folds; then those that rounding, or a column that numbers the rows, makes different."""
    exact = duplicate_groups(given.X) if sp.issparse(given.X) else units_of(given.frame)
    found = across(given, exact)
    if found is not None:
        yield described(given, exact, found, "duplicates", "stand among the training rows of their split, too")
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
        how = "numbers that differ by a millionth of their spread at most"
        if names:
            how = f"all columns but {listing(names)} equal, or {how}"
        yield described(
            given, units, near, "near duplicates", f"are nearly the same as training rows of their split ({how})"
        )


def rounded(column: pl.Series) -> pl.Series:
    """Numbers with a fraction on a grid of a millionth of their spread."""
    if not column.dtype.is_float():
        return column
    finite = column.filter(column.is_finite())
    spread = float(finite.std() or 0.0) if len(finite) > 1 else 0.0  # type: ignore[arg-type]
    return column if not 0 < spread < np.inf else (column.cast(pl.Float64) / (GRAIN * spread)).round()


def across(given: LeakInput, units: Ints) -> Truths | None:
    """Of all test rows, one split after the other, which have a twin among the training rows; None where none has."""
    if int(units.max(initial=-1)) + 1 == given.n_rows:
        return None
    found = np.concatenate([shared for _, shared in given.shared(units)])
    return found if found.any() else None


def described(given: LeakInput, units: Ints, found: Truths, name: str, words: str) -> Leak:
    """The finding, weighed by its share and against chance."""
    tested = np.concatenate([split.test for split in given.splits])
    rows, total = int(found.sum()), given.n_tested
    share, expected = rows / total, expected_by_chance(given)
    level: Level = "leak"
    text = f"{rows_said(rows, total)} {words}{agreement(given, units)}"
    if rows <= TIMES_CHANCE * expected or share < FEW or rows < FEW_ROWS:
        level = "note"
    elif not given.frame.width:
        level = "suspicion"  # what chance brings is not known of a sparse matrix, whose rows may well be empty
    if expected >= 0.5:
        text += f"; chance alone would bring about {expected:,.0f}"
    examples = np.unique(tested[found])
    twin = training_twin(given, units, int(examples[0]))
    text += f"; such as row {examples[0]}, which {'equals' if name == 'duplicates' else 'resembles'} row {twin}."
    remedy = f"if they are the same cases: {KEEP_TOGETHER}." if level == "note" else f"{KEEP_TOGETHER}."
    if name != "duplicates":
        remedy = f"leave out or round what differs, then {KEEP_TOGETHER}."
    return Leak(name, level, "", rows, share, text, some(examples), remedy)


def training_twin(given: LeakInput, units: Ints, row: int) -> int:
    """A training row of the same unit, in a split that tests this row and has one."""
    for split, shared in given.shared(units):
        if (shared & (split.test == row)).any():
            return int(split.train[units[split.train] == units[row]].min())
    raise AssertionError("the row has a twin in no split")


def agreement(given: LeakInput, units: Ints) -> str:
    """How many of the rows with twins have the label that most of their training twins have."""
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
    return f", {agreed / rows:.0%}".replace("%", " %") + " of them with the same label"


def expected_by_chance(given: LeakInput) -> float:
    """How many test rows would have a twin in training if columns were independent given the class."""
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
    # a twin is given for in its own class only: those of others are few, and left out makes the finding no smaller
    own = np.exp(chance) * np.maximum(sizes[labels] - 1, 0) / max(1, given.n_rows - 1)
    parts = [np.sum(-np.expm1(-own[split.test] * len(split.train))) for split in given.splits]
    return float(np.sum(parts))


def log_chance(columns: Sequence[Ints], labels: Ints, sizes: Ints) -> NDArray[np.float64]:
    """The logarithm of the chance that another row of the class has the cells of a row."""
    total = np.zeros(len(labels))
    with np.errstate(divide="ignore"):
        for codes in columns:
            cells = codes * len(sizes) + labels
            # the row itself is no other row: a value that is there once has no chance
            others = np.bincount(cells)[cells] - 1
            total += np.log(others / np.maximum(sizes[labels] - 1, 1))
    return total
