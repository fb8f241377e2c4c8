"""Decide what a target is, classes or a quantity; check and encode targets and the weights of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn, get_args

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from foldwise.data.cells import read_only
from foldwise.data.levels import is_missing
from foldwise.data.notes import counted
from foldwise.data.schema import listing
from foldwise.errors import InputError

LABEL_RANGE = 1 << 12
LABEL_HEAD = 1 << 12
MOST_NUMERIC_CLASSES = 20  # distinct numbers that can still be classes

Task = Literal["classification", "regression"]
TASKS: tuple[Task, ...] = get_args(Task)


@dataclass(frozen=True)
class Target:
    """Labels encoded as indices into the sorted classes."""

    classes: NDArray[Any]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)


def encode_target(
    y: Any,
    n_rows: int,
    classes: NDArray[Any] | None = None,
    hint: str = "name all classes at the first call of partial_fit.",
    rows: str = "X",
) -> Target:
    """Encode the target of a classification; if `classes` are given, every label must be one of them.

    The argument with `n_rows` rows is called `rows`.
    """
    values = label_array(y)
    if len(values) != n_rows:
        refuse_lengths(n_rows, len(values), rows)
    target = encode_integers(values) if values.dtype.kind in "iu" else encode_labels(values)
    return target if classes is None else recode(target, classes, hint)


def number_target(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return the target of a regression, which must be one finite number per row."""
    y = present_target(y)
    try:
        values: NDArray[np.float64] = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the target of a regression must be one number per row ({error}).", "convert the target to numbers."
        ) from error
    if len(values) != n_rows:
        refuse_lengths(n_rows, len(values))
    broken = np.flatnonzero(~np.isfinite(values))
    if broken.size:
        raise InputError(
            f"Input y contains NaN or infinity in {counted(len(broken), 'row')}: {listing(broken.tolist())}, counted "
            "from 0.",
            "drop these rows; targets are not imputed.",
        )
    return read_only(np.ascontiguousarray(values))


def task_of(y: Any, task: str | None = None) -> Task:
    """Decide the task of a target: classification of classes, or regression of a quantity.

    All of Foldwise uses this rule: more than 20 different numbers are a quantity, and so are numbers with decimals.
    Everything else contains classes.

    Parameters
    ----------
    y : array-like or series of shape (n_rows,)
        The target. Missing values are ignored.
    task : {"classification", "regression"}, optional
        The task, if the user has chosen it. It is checked and returned.

    Returns
    -------
    {"classification", "regression"}
        The task.

    Examples
    --------
    >>> task_of(["yes", "no", "yes"]), task_of([1, 2, 3]), task_of([1.5, 2.0, 3.1])
    ('classification', 'classification', 'regression')
    >>> task_of([1, 2, 3], "regression")
    'regression'
    """
    if task is None:
        labels = y if isinstance(y, pl.Series) else pl.Series(np.asarray(present_target(y)).tolist(), strict=False)
        return "regression" if is_quantity(labels) else "classification"
    for known in TASKS:
        if task == known:
            return known
    raise InputError(
        f"task must be 'classification' or 'regression', got {task!r}.", "leave it out to infer it from the target."
    )


def is_quantity(labels: pl.Series) -> bool:
    """Whether a target is a quantity, not classes. Missing values are ignored."""
    if not labels.dtype.is_numeric():
        return False
    known = labels.drop_nulls()
    if not known.dtype.is_integer():
        known = known.cast(pl.Float64).drop_nans()
    has_decimals = known.dtype.is_float() and bool((known != known.floor()).any())
    return are_quantities(has_decimals=has_decimals, n_distinct=known.n_unique())


def are_quantities(*, has_decimals: bool, n_distinct: int) -> bool:
    """Whether numbers are a quantity, not classes: numbers with decimals, or more than 20 different ones.

    This is the rule for targets in memory and for those in a database or Spark. Values of other kinds are classes.
    """
    return has_decimals or n_distinct > MOST_NUMERIC_CLASSES


def present_target(y: Any) -> Any:
    """Return the target in its own library, and refuse None."""
    if y is None:
        raise InputError(
            "this call requires y to be passed, but the target y is None.", "pass one label or value per row as y."
        )
    refuse_several(y)
    y = y.to_native() if isinstance(y, nw.Series) else y
    dtype: Any = getattr(y, "dtype", None)
    if nw.dependencies.is_pandas_series(y) and not isinstance(dtype, np.dtype) and dtype.kind in "iub":
        # numpy would make floats of whole numbers
        return y if y.isna().any() else y.to_numpy(dtype=dtype.numpy_dtype)
    return y


def refuse_several(y: Any) -> None:
    """Raise for a target of several columns, in scikit-learn's words."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray):
        shape = (len(y), len(y[0]))
    if len(shape) != 2 or shape[1] == 1:
        return
    names = f": {listing([str(name) for name in y.columns])}" if hasattr(y, "columns") else ""
    raise InputError(
        f"y should be a 1d array, got an array of shape {shape} instead. Targets with several columns (multi-output) "
        f"are not supported{names}.",
        "fit one model per column, for example with scikit-learn's MultiOutputClassifier or MultiOutputRegressor.",
    )


def refuse_lengths(n_rows: int, n_labels: int, rows: str = "X") -> NoReturn:
    """Raise for a target whose length differs, in scikit-learn's words."""
    raise InputError(
        f"{rows} has {n_rows} row{'s' * (n_rows != 1)}, but y has {n_labels} label{'s' * (n_labels != 1)} "
        "(inconsistent numbers of samples).",
        "pass one label per row.",
    )


def label_array(y: Any) -> NDArray[Any]:
    """Return the labels as a 1-D array, and refuse missing ones."""
    y = present_target(y)
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iu":
        return y  # integers cannot be missing
    values: NDArray[Any] = column_or_1d(y, warn=True)
    if values.dtype.kind == "f":
        if np.isnan(values).any():
            refuse_missing(np.isnan(values))
        refuse_continuous(values)
    elif values.dtype.kind == "O":
        gaps = np.fromiter((is_missing(value) for value in values.tolist()), dtype=bool, count=len(values))
        if gaps.any():
            refuse_missing(gaps)
        if all(isinstance(value, float) for value in values.tolist()):
            refuse_continuous(values.astype(np.float64))
    elif values.dtype.kind in "mM" and np.isnat(values).any():
        refuse_missing(np.isnat(values))
    return values


def refuse_continuous(values: NDArray[np.float64]) -> None:
    """Refuse numbers that cannot be classes: infinite ones and numbers with decimals."""
    broken = values[np.isinf(values) | (values != np.floor(values))]
    if broken.size:
        what = "infinity" if np.isinf(broken[0]) else f"numbers with decimals, such as {broken[0]:g}"
        raise InputError(
            f"Unknown label type: continuous. The target of a classifier must contain classes, but y contains {what}.",
            "bin the numbers into classes first, or use a regressor.",
        )


def refuse_missing(gaps: NDArray[np.bool_]) -> None:
    """Raise an error that lists the rows without a label."""
    rows = np.flatnonzero(gaps)
    raise InputError(
        f"the target is missing (NaN or None) in {counted(len(rows), 'row')}: {listing(rows.tolist())}.",
        "drop these rows; labels are not imputed.",
    )


def encode_integers(values: NDArray[Any]) -> Target:
    """Encode integers, by direct look-up if their range is short, which avoids sorting a million labels."""
    if values.size == 0:
        return Target(values, np.empty(0, dtype=np.int64))
    return encode_range(values, int(values.min()), int(values.max()))


def encode_range(values: NDArray[Any], low: int, high: int) -> Target:
    """Encode integers, of which the smallest and the largest are known."""
    if high - low >= LABEL_RANGE or high > np.iinfo(np.int64).max:
        classes, codes = np.unique(values, return_inverse=True)
        return Target(classes, read_only(codes.astype(np.int64)))
    offsets = values.astype(np.int64, copy=False)
    if low:
        offsets = offsets - low
    seen = np.zeros(high - low + 1, dtype=bool)
    seen[offsets[:LABEL_HEAD]] = True
    if not seen.all():  # rare, because the first rows usually contain all classes
        seen[offsets[LABEL_HEAD:]] = True
    present = np.flatnonzero(seen)
    classes = (present + low).astype(values.dtype)
    if len(present) < len(seen):
        offsets = (np.cumsum(seen) - 1)[offsets]
    return Target(classes, read_only(np.ascontiguousarray(offsets)))


def encode_labels(values: NDArray[Any]) -> Target:
    """Encode labels of any sortable type."""
    if values.dtype.kind != "O":
        classes, codes = np.unique(values, return_inverse=True)
        return Target(classes, read_only(codes.reshape(-1).astype(np.int64)))
    labels = values.tolist()
    try:
        distinct = sorted(set(labels))
    except TypeError as error:
        raise InputError(
            "Unknown label type: the labels of y cannot be sorted, because they have the types "
            f"{listing(sorted({type(v).__name__ for v in labels}))}.",
            "convert all labels to strings or all to numbers.",
        ) from error
    index = {label: i for i, label in enumerate(distinct)}
    codes = np.fromiter((index[label] for label in labels), dtype=np.int64, count=len(labels))
    classes = np.array(distinct) if all(type(v) in (int, float, bool) for v in distinct) else object_array(distinct)
    return Target(classes, read_only(codes))


def object_array(labels: list[Any]) -> NDArray[Any]:
    """Return an array of labels that keeps them as Python objects."""
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def written_labels(labels: Any) -> NDArray[Any]:
    """Return booleans as text, as reports and files of predictions write them, and other labels as they are.

    >>> written_labels([False, True]).tolist(), written_labels([0, 1]).tolist()
    (['False', 'True'], [0, 1])
    """
    array = np.asarray(labels)
    return array.astype(str) if array.dtype == bool else array


def recode(target: Target, classes: NDArray[Any], hint: str) -> Target:
    """Return the same labels as indices into other classes."""
    index = {label: i for i, label in enumerate(classes.tolist())}
    unknown = [label for label in target.classes.tolist() if label not in index]
    if unknown:
        raise InputError(
            f"The target label(s) {listing(unknown)} in y do not exist in the initial classes "
            f"{listing(classes.tolist())}.",
            hint,
        )
    codes = np.array([index[label] for label in target.classes.tolist()], dtype=np.int64)
    return Target(classes, read_only(codes[target.codes]))


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights of the rows as float64, or None if all rows count once."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, int | float | np.number):
        sample_weight = np.full(n_rows, sample_weight)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must be one number per row: {error}.") from error
    if weights.ndim != 1:
        raise InputError(f"Sample weights must be 1D array or scalar, got {weights.ndim} dimensions.")
    if len(weights) != n_rows:
        raise InputError(f"sample_weight must have one value per row of X ({n_rows}), got {len(weights)}.")
    bad = np.flatnonzero(~(weights >= 0) | np.isinf(weights))
    if bad.size:
        raise InputError(
            f"sample_weight must be finite and at least 0, but row {bad[0]} has the weight {weights[bad[0]]}.",
            "weights are frequencies: 0 ignores a row, 2 counts it twice.",
        )
    if not np.isfinite(weights.sum()):
        raise InputError("the sum of sample_weight is infinite.", "divide all weights by a constant.")
    return read_only(np.ascontiguousarray(weights))
