"""Converts a fitted model to JSON and back: parameters, schema and facts, from which likelihoods are recomputed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from foldwise.bayes.assignment import FamilyBlock
from foldwise.bayes.checks import by_name, check_setting
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import FAMILIES
from foldwise.data.levels import plain
from foldwise.data.schema import Schema
from foldwise.data.target import object_array
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.summaries.alignment import stored_array

FORMAT = "foldwise.NaiveBayes"
VERSION = 1
FRAMES = ("cudf", "modin", "pandas", "polars", "pyarrow")
LABEL_TYPES = "biufUO"  # numpy kinds of labels that can be stored

M = TypeVar("M")


def model_to_json(model: Any) -> str:
    """Convert a model to JSON text. Floats are written so that they are read back exactly."""
    facts: NaiveBayesFacts = model.facts_
    labels = [
        label if isinstance(label, str | int | float) else refuse_label(label) for label in facts.classes.tolist()
    ]
    names = getattr(model, "feature_names_in_", None)
    return json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "params": {name: param_to_plain(value) for name, value in model.get_params(deep=False).items()},
            "schema": json.loads(model.schema_.to_json()),
            "feature_names_in": None if names is None else names.tolist(),
            "backend": model._backend,
            "classes": {"dtype": facts.classes.dtype.str, "labels": labels},
            "declared": model._declared is not None,
            "class_weight": facts.class_weight.tolist(),
            "class_rows": facts.class_rows.tolist(),
            "setting": asdict(model._finished.setting),
            "log_prior": [None if value == -np.inf else value for value in model.class_log_prior_.tolist()],
            "blocks": [
                {"family": block.family, "columns": list(block.columns), "facts": summary.to_dict()}
                for block, summary in zip(model._blocks, facts.summaries, strict=True)
            ],
        },
        ensure_ascii=False,
    )


def model_from_json(cls: type[M], text: str) -> M:
    """Make a model from JSON text, and raise for any text that `model_to_json` did not write."""
    if not isinstance(text, str | bytes):
        raise FoldwiseTypeError(f"from_json needs the text returned by to_json, got {type(text).__name__}.")
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"from_json needs the text returned by to_json, but this is not valid JSON: {error}."
        ) from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise InputError("this JSON is not a NaiveBayes model.", "pass the text returned by to_json.")
    if stored.get("version") != VERSION:
        raise InputError(
            f"format version {VERSION} is supported, but this model has version {stored.get('version')}.",
            "open it with the version of Foldwise that wrote it.",
        )
    try:
        return build_model(cls, stored)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            f"the stored model is damaged: {type(error).__name__}: {error}.", "write it again with to_json."
        ) from error


def build_model(cls: type[M], stored: dict[str, Any]) -> M:
    """Make a model from a stored dictionary. Shapes are checked here, because the kernels do not check them."""
    model: Any = cls(**{name: param_from_plain(value) for name, value in stored["params"].items()})
    model.schema_ = Schema.from_json(json.dumps(stored["schema"]))
    model.n_features_in_ = n_columns = len(model.schema_)
    if stored["feature_names_in"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in stored["feature_names_in"]], dtype=object)
    if stored["feature_names_in"] is not None and tuple(model.feature_names_in_) != model.schema_.names:
        raise InputError("the stored column names differ from the schema.", "write the model again with to_json.")
    if stored["backend"] not in FRAMES:
        raise InputError(f"the stored data frame library must be one of {FRAMES}, got {stored['backend']!r}.")
    model._backend = stored["backend"]
    classes = label_array_of(stored["classes"]["dtype"], stored["classes"]["labels"])
    n_classes = len(classes)
    model._declared = classes if stored["declared"] else None
    blocks = []
    for block in stored["blocks"]:
        if block["family"] not in FAMILIES:
            raise InputError(f"the stored distribution family {block['family']!r} is unknown.", "upgrade Foldwise.")
        blocks.append(FamilyBlock(str(block["family"]), tuple(int(j) for j in block["columns"])))
    if sorted(j for block in blocks for j in block.columns) != list(range(n_columns)):
        raise InputError("the stored blocks must contain each column once.", "write the model again with to_json.")
    model._blocks = tuple(blocks)
    summaries = tuple(
        FAMILIES[block.family].summary_from_dict(entry["facts"], n_classes, len(block.columns))
        for block, entry in zip(blocks, stored["blocks"], strict=True)
    )
    weight, rows = (stored_array(stored, name, (n_classes,), 0.0) for name in ("class_weight", "class_rows"))
    setting = by_name(check_setting(stored["setting"]), model.schema_.names)
    log_prior = np.array([-np.inf if value is None else value for value in stored["log_prior"]], dtype=np.float64)
    if log_prior.shape != (n_classes,) or not (log_prior <= 1e-9).all() or not np.isfinite(log_prior).any():
        raise InputError("the stored priors are not probabilities.", "write the model again with to_json.")
    finished: M = model._finish(NaiveBayesFacts(classes, weight, rows, summaries), setting, log_prior)
    return finished


def label_array_of(dtype: str, labels: list[Any]) -> Any:
    """Restore the classes with their original type."""
    kind = np.dtype(dtype).kind
    if kind not in LABEL_TYPES:
        raise InputError(f"stored classes of type {dtype!r} are not supported.")
    return object_array(labels) if kind == "O" else np.array(labels, dtype=dtype)


def refuse_label(label: Any) -> Any:
    raise InputError(
        f"class labels must be strings, numbers or booleans to be written as JSON; got {label!r} of type "
        f"{type(label).__name__}.",
        "convert the labels, or pickle the model.",
    )


def param_to_plain(value: Any) -> Any:
    """Convert a parameter for JSON; mappings are stored as pairs, so that keys keep their types."""
    if isinstance(value, Schema):
        return {"schema": json.loads(value.to_json())}
    if hasattr(value, "items"):
        return {"mapping": [[plain(key), plain(entry)] for key, entry in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return {"list": [plain(entry) for entry in value]}
    return plain(value)


def param_from_plain(value: Any) -> Any:
    """Restore a parameter from the output of `param_to_plain`."""
    if not isinstance(value, dict):
        return value
    if "schema" in value:
        return Schema.from_json(json.dumps(value["schema"]))
    if "mapping" in value:
        return dict(value["mapping"])
    return list(value["list"])
