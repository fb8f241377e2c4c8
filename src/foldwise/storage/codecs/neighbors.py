"""Nearest neighbors: training rows as arrays, the rest as JSON. The distance is learned again when a file is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.bayes.storage import param_from_plain, param_to_plain
from foldwise.data.schema import Schema
from foldwise.data.target import Target
from foldwise.errors import InputError
from foldwise.neighbors import KNNClassifier, KNNRegressor
from foldwise.neighbors.encoding import UNKNOWN, ColumnRoles, EncodedRows
from foldwise.neighbors.parameters import check_distance
from foldwise.neighbors.row_weights import RowWeights, learned_space
from foldwise.neighbors.search import NeighborIndex
from foldwise.npz import to_npz
from foldwise.storage.archive import damaged
from foldwise.storage.codecs.formats import (
    Files,
    from_json,
    from_npz,
    labels_from_plain,
    labels_to_plain,
    to_json,
)

MISMATCH = "its training rows do not match its columns"


def write(model: Any) -> Files:
    """Return the files of a model."""
    if callable(model.weights):
        raise InputError("a model file contains no code, but weights is a function.", "use the name of a kernel.")
    params = {name: param_to_plain(value) for name, value in model.get_params(deep=False).items()}
    if not hasattr(model, "_index"):
        return {"json": to_json({"params": params, "quantity": isinstance(model, KNNRegressor)})}
    roles, names = model._roles, getattr(model, "feature_names_in_", None)
    about = {
        "params": params,
        "quantity": isinstance(model, KNNRegressor),
        "schema": json.loads(model.schema_.to_json()),
        "feature_names_in": None if names is None else names.tolist(),
        "classes": None if isinstance(model, KNNRegressor) else labels_to_plain(model.classes_),
        "layout": [roles.metric, roles.numbers, roles.categories, roles.levels],
    }
    arrays = {"numbers": model._rows.numbers, "codes": model._rows.codes, "y": model._y}
    if model._row_weights is not None:
        about["n_samples_fit"] = model.n_samples_fit_
        arrays |= {"weights": model._row_weights.values, "weighted_rows": model._row_weights.rows}
    return {"json": to_json(about), "npz": to_npz(arrays)}


def read(files: Files) -> Any:
    """Return the model of such files."""
    about = from_json(files["json"])
    kind = KNNRegressor if about.get("quantity") is True else KNNClassifier
    model: Any = kind(**{name: param_from_plain(value) for name, value in about["params"].items()})
    if "npz" not in files:
        return model
    arrays = from_npz(files["npz"])
    schema = Schema.from_json(json.dumps(about["schema"]))
    metric, numbers, categories, levels = about["layout"]
    roles = ColumnRoles(
        str(metric), schema.names, tuple(numbers), tuple(categories), tuple(tuple(known) for known in levels)
    )
    if sorted([*roles.numbers, *roles.categories]) != list(range(len(schema))):
        raise damaged(MISMATCH)
    rows = EncodedRows(
        np.ascontiguousarray(arrays["numbers"], dtype=np.float64),
        np.ascontiguousarray(arrays["codes"], dtype=np.int32),
        tuple(len(known) for known in roles.levels),
    )
    quantity = kind is KNNRegressor
    classes = np.empty(0) if quantity else labels_from_plain(about["classes"])
    y: NDArray[Any] = np.ascontiguousarray(arrays["y"], dtype=np.float64 if quantity else np.int64)
    check(rows, y, len(classes), roles)
    distance = check_distance(roles, model.p, model.scale, model.column_weights, model.pca)
    weights = row_weights(arrays, rows.n_rows, int(about.get("n_samples_fit", rows.n_rows)))
    model._roles, model._rows, model._row_weights = roles, rows, weights
    target = None if quantity else Target(classes, y)
    model._index = NeighborIndex(learned_space(distance, rows, target, weights), rows)
    model.schema_, model.effective_metric_ = schema, distance.metric
    model.n_samples_fit_, model.n_features_in_ = int(about.get("n_samples_fit", rows.n_rows)), len(schema)
    if about["feature_names_in"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in about["feature_names_in"]], dtype=object)
    model._y = y
    if not quantity:
        model.classes_ = classes
    return model


def row_weights(arrays: Mapping[str, Any], n_rows: int, n_fitted: int) -> RowWeights | None:
    """Return the weights of the rows, if the model has any, and refuse invalid ones."""
    if "weights" not in arrays:
        return None
    values = np.ascontiguousarray(arrays["weights"], dtype=np.float64)
    rows = np.ascontiguousarray(arrays["weighted_rows"], dtype=np.intp)
    fits = values.shape == rows.shape == (n_rows,) and bool(((rows >= 0) & (rows < n_fitted)).all())
    if not (fits and bool((np.isfinite(values) & (values > 0)).all())):
        raise damaged(MISMATCH)
    return RowWeights(values, rows)


def check(rows: EncodedRows, y: Any, n_classes: int, roles: ColumnRoles) -> None:
    """Refuse indices out of range and infinite numbers, because kernels do not check them."""
    fits = (
        y.shape == (rows.n_rows,)
        and rows.n_rows > 0
        and bool((np.isfinite(y) if y.dtype.kind == "f" else (y >= 0) & (y < n_classes)).all())
        and rows.numbers.shape[1] == len(roles.numbers)
        and not np.isinf(rows.numbers).any()
        and bool(((rows.codes >= UNKNOWN) & (rows.codes < np.array(rows.n_levels))).all())
    )
    if not fits:
        raise damaged(MISMATCH)
