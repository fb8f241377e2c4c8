"""`save_model` and `open_model`: a fitted model and its schema in one file.

The file is a zip: `manifest.json` (format, version, columns, classes, versions of libraries, metadata, digests),
`model.skops` (objects of scikit-learn and plain values) and, under `parts/`, estimators with a format of their own.

Every later version of Foldwise reads files of format version 1; a newer format is refused. With other versions of
scikit-learn, LightGBM and so on, a file opens only if the model still predicts the same for three artificial rows.
Otherwise an error names both versions.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import foldwise
from foldwise.data.frames import as_polars
from foldwise.data.table import Table
from foldwise.data.view import is_frame
from foldwise.decisions.wrapper import Wrapper
from foldwise.errors import FoldwiseError, FoldwiseTypeError, InputError
from foldwise.storage.archive import Archive, damaged, read_archive, write_archive
from foldwise.storage.codecs import CODECS
from foldwise.storage.codecs.formats import labels_from_plain, labels_to_plain
from foldwise.storage.encoded_parts import EncodedPart, extract_parts, restore_parts, walk
from foldwise.storage.missing_library import missing_library
from foldwise.storage.missing_text import with_none_for_missing
from foldwise.storage.skops_format import from_skops, to_skops
from foldwise.storage.stored_model import StoredModel, stored
from foldwise.storage.table_check import EMPTY, KINDS, kinds_of

LIBRARIES = ("scikit-learn", "numpy", "scipy", "polars", "skops", "lightgbm", "xgboost-cpu", "xgboost", "catboost")
PLAIN = (str, int, float, bool, type(None))


def save_model(
    path: str | os.PathLike[str],
    model: Any,
    X: Any = None,
    *,
    target: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Save a fitted model to a file that can be opened without running code.

    Parameters
    ----------
    path : str or path
        The file to write. An existing file is replaced.
    model : classifier or regressor, Run or StoredModel
        A fitted model of Foldwise, scikit-learn, LightGBM, XGBoost or CatBoost, or a pipeline of them. A run and a
        model opened by `open_model` know their columns, target and metadata.
    X : frame or array
        The table it was fitted on, or some rows of it. Only names and types of columns are stored, no cells. A
        nearest-neighbors model contains its training rows nevertheless. A run and an opened model do not need it.
    target : str, optional
        Name of the target column.
    metadata : mapping, optional
        Anything that JSON can represent, to be stored with the model.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise import NaiveBayes, open_model, read_table, save_model
    >>> table = read_table("examples/weather.csv", target="play")
    >>> path = tempfile.mkdtemp() + "/weather.foldwise"
    >>> save_model(path, NaiveBayes().fit(table.X, table.y), table.X, target="play", metadata={"rows": 14})
    >>> open_model(path).predict(table.X[:2]).tolist()
    ['no', 'no']
    """
    if not isinstance(path, str | os.PathLike):
        raise FoldwiseTypeError(
            f"path must be the path of a file, got {type(path).__name__}.",
            "pass the path first: save_model(path, model, X).",
        )
    found = stored(model)
    if isinstance(found, StoredModel):
        more = {**found.metadata, **plain(metadata or {})}
        found = replace(found, target=found.target if target is None else target, metadata=more)
    else:
        found = model_in_memory(found, X, target, metadata)
    labels = labels_to_plain(found.classes_)
    rest, parts = extract_parts(found.model)
    try:
        members = {"model.skops": to_skops(rest)}
    except InputError:
        if hasattr(found.model, "best_estimator_"):
            raise InputError("a search cannot be saved.", "save its best_estimator_.") from None
        if any(type(one).__name__ == "SelectFeatures" for one in walk(rest)):
            raise InputError(
                "SelectFeatures cannot be saved.", "fit the model on the columns of support_, and save that model."
            ) from None
        raise
    for number, part in enumerate(parts):
        members |= {f"parts/{number}.{ending}": data for ending, data in part.files.items()}
    manifest = {
        "written_by": versions(),
        "target": found.target,
        "framed": found.framed,
        "columns": [{"name": name, "kind": kind} for name, kind in found.kinds.items()],
        "classes": labels,
        "parts": [part.codec for part in parts],
        "probe": probe(found.model, found.kinds, found.framed).tolist(),
        "metadata": found.metadata,
    }
    write_archive(path, Archive(manifest, members))


def model_in_memory(
    model: Any, X: Any, target: str | None = None, metadata: Mapping[str, Any] | None = None
) -> StoredModel:
    """Return a fitted model as `open_model` returns it, without writing a file."""
    if not hasattr(model, "predict"):
        raise FoldwiseTypeError(
            f"model must be a fitted classifier or regressor, got {type(model).__name__}.",
            "call save_model(path, model, X).",
        )
    if X is None:
        raise InputError("X must be the table the model was fitted on, or some rows of it.", "pass X as well.")
    classes = np.empty(0) if is_regressor(model) else np.asarray(getattr(model, "classes_", ()))
    if classes.ndim != 1 or not (len(classes) or is_fitted_regressor(model)):
        raise InputError(
            f"only a fitted classifier or regressor with a single target can be saved, got {type(model).__name__}.",
            "fit the model first." if is_classifier(model) or is_regressor(model) else "save another model.",
        )
    kinds, wanted = kinds_of(as_polars(X)), columns_of(model)
    n_columns = getattr(model, "n_features_in_", None)
    if wanted is None and n_columns not in (None, len(kinds)):
        raise InputError(
            f"X must have the {n_columns} columns that the model was fitted on, but has {len(kinds)}.",
            "pass the table the model was fitted on, or some rows of it.",
        )
    kinds = {name: kind for name, kind in kinds.items() if wanted is None or name in wanted}
    given = with_none_for_missing(model)
    return StoredModel(given, kinds, classes, target, plain(metadata or {}), versions(), is_framed(X))


def open_model(path: str | os.PathLike[str]) -> StoredModel:
    """Open a model that `save_model` wrote, without running any code from the file.

    A damaged file, or one with types that are not allowed, is refused. SECURITY.md says what is checked.

    Parameters
    ----------
    path : str or path
        The file to open.

    Returns
    -------
    StoredModel
        The model with its schema and metadata.

    Examples
    --------
    >>> import tempfile
    >>> from foldwise import NaiveBayes, open_model, save_model
    >>> path = tempfile.mkdtemp() + "/model.foldwise"
    >>> X = [[1.0], [2.0], [5.0], [6.0]]
    >>> save_model(path, NaiveBayes().fit(X, ["low", "low", "high", "high"]), X)
    >>> open_model(path).predict([[1.5], [7.0]]).tolist()
    ['low', 'high']
    """
    if not isinstance(path, str | os.PathLike):
        raise FoldwiseTypeError(
            f"path must be the path of a model file, got {type(path).__name__}.", "pass a str or a Path."
        )
    import skops.io  # noqa: F401  # an import that fails says nothing about the file

    archive = read_archive(path)
    manifest = archive.manifest
    try:
        kinds = {str(column["name"]): str(column["kind"]) for column in manifest["columns"]}
        if not set(kinds.values()) <= set(KINDS):
            raise damaged("a column has an unknown kind")
        classes = labels_from_plain(manifest["classes"])
        parts = [encoded_part(archive, number, str(codec)) for number, codec in enumerate(manifest["parts"])]
        model = restore_parts(from_skops(archive.members["model.skops"]), parts)
        opened = StoredModel(
            model,
            kinds,
            classes,
            manifest["target"],
            manifest["metadata"],
            dict(manifest["written_by"]),
            bool(manifest["framed"]),
        )
        expected = np.asarray(manifest["probe"], dtype=np.float64)
    except FoldwiseError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise damaged(f"{type(error).__name__}: {error}") from error
    check_probe(opened, expected)
    return opened


def encoded_part(archive: Archive, number: int, codec: str) -> EncodedPart:
    """Return a part with its files."""
    if codec not in CODECS:
        raise damaged(f"it contains a part of the unknown kind {codec!r}")
    start = f"parts/{number}."
    return EncodedPart(
        codec, {name.removeprefix(start): d for name, d in archive.members.items() if name.startswith(start)}
    )


def is_fitted_regressor(model: Any) -> bool:
    """Whether it is a fitted regressor."""
    if not is_regressor(model):
        return False
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def columns_of(model: Any) -> set[str] | None:
    """Return the columns that a pipeline of the catalog uses; None if unknown, which means all."""
    while isinstance(model, Wrapper):
        model = model.estimator_
    first = model
    while hasattr(first, "steps"):
        first = next(step for name, step in first.steps if name != "select")  # "select" passes all columns on
    if type(first).__name__ == "ColumnTransformer" and first.remainder == "drop":
        named = [columns for _, _, columns in first.transformers if isinstance(columns, list)]
        if len(named) == len(first.transformers) and all(isinstance(name, str) for part in named for name in part):
            return {name for part in named for name in part}
    if type(first).__name__ == "KeepColumns":
        return {*first.columns, *first.dates}
    return None


def is_framed(X: Any) -> bool:
    """Whether the columns have names."""
    return isinstance(X, Table) or is_frame(X)


def probe(model: Any, kinds: Mapping[str, str], framed: bool) -> NDArray[np.float64]:
    """Predict three artificial rows: all missing, all zeros, all ones."""
    frame = pl.DataFrame(
        [
            pl.Series(name, [None, 0.0, 1.0] if kind == "number" else [None] * 3, dtype=EMPTY[kind])
            for name, kind in kinds.items()
        ]
    )
    names = ("predict",) if is_regressor(model) else ("predict_proba", "decision_function", "predict")
    name = next(name for name in names if hasattr(model, name))
    try:
        found = np.asarray(getattr(model, name)(frame if framed else frame.to_numpy()))
        if name == "predict" and not is_regressor(model):  # of a vote without probabilities
            found = np.searchsorted(model.classes_, found)
        return found.astype(np.float64)
    except ImportError as error:
        raise missing_library(error) from error
    except Exception:  # a model may fail on missing values with any error
        return np.empty(0)  # predictions cannot be compared


def check_probe(opened: StoredModel, expected: NDArray[np.float64]) -> None:
    """Refuse a model whose predictions differ from those at the time it was saved."""
    if not expected.size:
        return
    got = probe(opened.model, opened.kinds, opened.framed)
    if got.shape == expected.shape and np.allclose(got, expected, rtol=1e-5, atol=1e-7, equal_nan=True):
        return
    now = versions()
    changed = [f"{k} {v} (now {now.get(k, 'not installed')})" for k, v in opened.versions.items() if now.get(k) != v]
    raise InputError(
        "the predictions of this model differ from those at the time it was saved"
        + (f", because versions have changed: {', '.join(changed)}." if changed else "."),
        "install the versions with which it was saved, or fit the model again.",
    )


def versions() -> dict[str, str]:
    """Return the versions of Foldwise, Python and the libraries."""
    found = {"foldwise": foldwise.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """Convert metadata to JSON values, and refuse anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
    raise InputError(
        f"metadata must contain values that JSON can represent, got {value!r} of type {type(value).__name__}.",
        "convert it to text, numbers, lists or dictionaries.",
    )
