"""One number or label per row as predictions of classes: the probability of the second class, or a predicted label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.frames import as_series
from foldwise.data.schema import listing
from foldwise.data.target import encode_target, refuse_lengths, task_of
from foldwise.errors import InputError
from foldwise.evaluation.label_names import find, names_of


def class_predictions(
    y: Any, predicted: Any, classes: Sequence[Any] | None, *, about_classes: bool = False
) -> tuple[Floats, bool] | None:
    """Turn one prediction per row into one column per class, and say whether they were labels.

    Returns None if y is a quantity. Booleans and texts are classes. So are two whole numbers if the predictions are
    numbers between 0 and 1 with decimals, and any whole numbers if `about_classes`, because the caller names metrics or
    classes.

    >>> class_predictions([False, True], [0.25, 0.75], None)[0].tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> class_predictions(["no", "yes"], ["yes", "yes"], None)
    (array([[0., 1.],
           [0., 1.]]), True)
    >>> class_predictions([1, 0, 2], [0.5, 0.1, 1.4], None) is None
    True
    """
    truth, given = as_series("y", y), as_series("predicted", predicted)
    if len(truth) != len(given):
        refuse_lengths(len(given), len(truth), "predicted")
    is_share, is_whole = facts_of(given)
    if truth.dtype.is_numeric() or truth.dtype == pl.Null:
        shares_of_two = is_share and not is_whole and truth.n_unique() == 2
        if not (about_classes or shares_of_two) or task_of(truth) == "regression":
            return None
    target = encode_target(y, len(given), rows="predicted")
    known = names_of(target.classes if classes is None else classes)
    same_kind = given.dtype == pl.Boolean if truth.dtype == pl.Boolean else is_text(given)
    if is_whole if truth.dtype.is_numeric() else same_kind:
        return one_hot(given.to_list(), known), True
    if len(known) == 2 and is_share:
        second = given.cast(pl.Float64).to_numpy()
        return np.column_stack([1 - second, second]), False
    got = f"the classes are {listing(known)}"
    if len(known) == 2:
        raise InputError(
            f"predicted must contain probabilities between 0 and 1, or labels: {got}.",
            "pass the output of predict_proba.",
        )
    raise InputError(
        f"predicted has one number per row, but {got}.",
        "pass the probabilities of all classes, which is the output of predict_proba, or predicted labels.",
    )


def facts_of(given: pl.Series) -> tuple[bool, bool]:
    """Whether all predictions are numbers between 0 and 1, and whether all are whole numbers."""
    if not given.dtype.is_numeric() or given.null_count():
        return False, False
    values = given.cast(pl.Float64).to_numpy()
    return bool(((values >= 0) & (values <= 1)).all()), bool((values == np.floor(values)).all())


def is_text(given: pl.Series) -> bool:
    return given.dtype in (pl.String, pl.Categorical, pl.Enum)


def one_hot(labels: Sequence[Any], known: Sequence[Any]) -> NDArray[np.float64]:
    """Return 1 for the predicted class of each row and 0 for the others."""
    index = {label: find(label, known) for label in dict.fromkeys(labels)}
    unknown = [label for label, code in index.items() if code is None]
    if unknown:
        raise InputError(
            f"predicted contains {listing(unknown)}, but the classes are {listing(known)}.",
            "pass the estimator's classes_ as classes.",
        )
    found: NDArray[np.float64] = np.eye(len(known))[np.array([index[label] for label in labels], dtype=np.intp)]
    return found
