"""`save_model` and `open_model`: a fitted model and its schema in one file.

The file is a zip: `manifest.json` (format, version, columns, classes, versions of libraries, metadata, digests),
`model.skops` (what is of scikit-learn, and our plain values), and under `parts/` what has a form of its own.

What is promised: every later version reads files of format version 1; a newer format is refused by name. Estimators of
other libraries are theirs: with other versions of them a file opens if the model still says of a few rows, stored with
it, what it said when it was written; else it is refused with both versions named.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import foldwise
from foldwise.bayes.storage import label_array_of, refuse_label
from foldwise.data.frames import as_polars
from foldwise.data.table import Table
from foldwise.data.view import is_frame
from foldwise.decisions.wrapper import Wrapper
from foldwise.errors import FoldwiseError, InputError
from foldwise.storage.archive import Archive, read_archive, write_archive
from foldwise.storage.checking import EMPTY, KINDS, kinds_of
from foldwise.storage.codecs import CODECS
from foldwise.storage.parts import Part, put_together, take_apart
from foldwise.storage.skops_format import from_skops, to_skops
from foldwise.storage.stored import StoredModel

LIBRARIES = ("scikit-learn", "numpy", "scipy", "polars", "skops", "lightgbm", "xgboost-cpu", "xgboost", "catboost")
PLAIN = (str, int, float, bool, type(None))


def save_model(
    path: str | os.PathLike[str],
    model: Any,
    X: Any,
    *,
    target: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file that opens without executing code.

    `X` is the table it was fitted on, or some rows of it: names and types of its columns are kept, its cells are not
    (but nearest neighbours are their training rows). `metadata` is anything that JSON holds.

    >>> import tempfile
    >>> from foldwise import NaiveBayes, open_model, read_table, save_model
    >>> table = read_table("examples/weather.csv", target="play")
    >>> path = tempfile.mkdtemp() + "/weather.foldwise"
    >>> save_model(path, NaiveBayes().fit(table.X, table.y), table.X, target="play", metadata={"rows": 14})
    >>> open_model(path).predict(table.X[:2]).tolist()
    ['no', 'no']
    """
    classes = np.asarray(getattr(model, "classes_", ()))
    if classes.ndim != 1 or not len(classes):
        raise InputError("only a fitted classifier of one target can be stored.", "fit it first.")
    labels = [value if isinstance(value, str | int | float) else refuse_label(value) for value in classes.tolist()]
    kinds = kinds_of(as_polars(X))
    wanted = columns_of(model)
    kinds = {name: kind for name, kind in kinds.items() if wanted is None or name in wanted}
    rest, parts = take_apart(model)
    members = {"model.skops": to_skops(rest)}
    for number, part in enumerate(parts):
        members |= {f"parts/{number}.{ending}": data for ending, data in part.stored.items()}
    manifest = {
        "written_by": versions(),
        "target": target,
        "framed": is_framed(X),
        "columns": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "classes": {"dtype": classes.dtype.str, "labels": labels},
        "parts": [part.codec for part in parts],
        "probe": probe(model, kinds, is_framed(X)).tolist(),
        "metadata": plain(metadata or {}),
    }
    write_archive(path, Archive(manifest, members))


def open_model(path: str | os.PathLike[str]) -> StoredModel:
    """The model of a file that `save_model` wrote; anything else is refused in a sentence."""
    archive = read_archive(path)
    manifest = archive.manifest
    try:
        kinds = {str(column["name"]): str(column["kind"]) for column in manifest["columns"]}
        if not set(kinds.values()) <= set(KINDS):
            raise InputError("the model file is damaged: a column holds nothing that is known.")
        classes = label_array_of(manifest["classes"]["dtype"], manifest["classes"]["labels"])
        parts = [part_of(archive, number, str(codec)) for number, codec in enumerate(manifest["parts"])]
        model = put_together(from_skops(archive.members["model.skops"]), parts)
        stored = StoredModel(
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
        raise InputError(
            f"the model file is damaged: {type(error).__name__}: {error}.", "save the model again with save_model."
        ) from error
    check_probe(stored, expected)
    return stored


def part_of(archive: Archive, number: int, codec: str) -> Part:
    """A part with its files."""
    if codec not in CODECS:
        raise InputError(f"the model file holds a part of the kind {codec!r}, which is not known here.")
    start = f"parts/{number}."
    return Part(codec, {name.removeprefix(start): d for name, d in archive.members.items() if name.startswith(start)})


def columns_of(model: Any) -> set[str] | None:
    """The columns that a pipeline of the catalogue reads; None where that is not known, which means all."""
    while isinstance(model, Wrapper):
        model = model.estimator_
    first = model
    while hasattr(first, "steps"):
        first = next(step for name, step in first.steps if name != "select")  # which takes and gives all columns
    if type(first).__name__ == "ColumnTransformer" and first.remainder == "drop":
        named = [columns for _, _, columns in first.transformers if isinstance(columns, list)]
        if len(named) == len(first.transformers) and all(isinstance(name, str) for part in named for name in part):
            return {name for part in named for name in part}
    if type(first).__name__ == "KeepColumns":
        return {*first.columns, *first.dates}
    return None


def is_framed(X: Any) -> bool:
    """Whether the columns have names of their own."""
    return isinstance(X, Table) or is_frame(X)


def probe(model: Any, kinds: Mapping[str, str], framed: bool) -> NDArray[np.float64]:
    """What the model says of three rows that nobody observed: without a cell, of zeros, and of ones."""
    frame = pl.DataFrame(
        [
            pl.Series(name, [None, 0.0, 1.0] if kind == "number" else [None] * 3, dtype=EMPTY[kind])
            for name, kind in kinds.items()
        ]
    )
    ask = next(getattr(model, name) for name in ("predict_proba", "decision_function") if hasattr(model, name))
    try:
        return np.asarray(ask(frame if framed else frame.to_numpy()), dtype=np.float64)
    except Exception:
        return np.empty(0)  # a model that takes no missing cells: nothing to compare


def check_probe(stored: StoredModel, expected: NDArray[np.float64]) -> None:
    """Refuse a model that does not say what it said when it was written."""
    if not expected.size:
        return
    got = probe(stored.model, stored.kinds, stored.framed)
    if got.shape == expected.shape and np.allclose(got, expected, rtol=1e-5, atol=1e-7, equal_nan=True):
        return
    now = versions()
    changed = [f"{k} {v} (here {now.get(k, 'none')})" for k, v in stored.versions.items() if now.get(k) != v]
    raise InputError(
        "the model of this file does not predict here what it predicted when it was written"
        + (f"; it was written with {', '.join(changed)}." if changed else "."),
        "install these versions, or fit the model again.",
    )


def versions() -> dict[str, str]:
    """What the model was written with; names of machines and folders are no part of it."""
    found = {"foldwise": foldwise.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """Metadata as JSON holds it; anything else is refused."""
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
    raise InputError(f"metadata holds {value!r} of type {type(value).__name__}, which JSON does not hold.")
