"""A fitted model as JSON and back: parameters, schema and facts. Likelihoods are finished again, from equal facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from foldwise.bayes.assignment import Block
from foldwise.bayes.facts import Facts
from foldwise.bayes.families import FAMILIES
from foldwise.data.schema import Schema
from foldwise.data.target import object_array
from foldwise.errors import InputError

FORMAT = "foldwise.NaiveBayes"
VERSION = 1
LABEL_TYPES = "biufUO"  # kinds of label arrays that a file may hold

M = TypeVar("M")


def model_to_json(model: Any) -> str:
    """All that makes the model, as text. Python writes floats so that they read back to the same bits."""
    facts: Facts = model.facts_
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
            "blocks": [
                {"family": block.family, "columns": list(block.columns), "facts": summary.to_dict()}
                for block, summary in zip(model._blocks, facts.summaries, strict=True)
            ],
        },
        ensure_ascii=False,
    )


def model_from_json(cls: type[M], text: str) -> M:
    """The model of such a text."""
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error}.") from error
    if not isinstance(stored, dict) or stored.get("format") != FORMAT:
        raise InputError("this JSON holds no NaiveBayes model.", "pass the text that to_json gave.")
    if stored["version"] != VERSION:
        raise InputError(f"this model has the format version {stored['version']}; version {VERSION} is read here.")
    model: Any = cls(**{name: param_from_plain(value) for name, value in stored["params"].items()})
    model.schema_ = Schema.from_json(json.dumps(stored["schema"]))
    model.n_features_in_ = len(model.schema_)
    if stored["feature_names_in"] is not None:
        model.feature_names_in_ = np.array(stored["feature_names_in"], dtype=object)
    model._backend = str(stored["backend"])
    classes = label_array_of(stored["classes"]["dtype"], stored["classes"]["labels"])
    model._declared = classes if stored["declared"] else None
    for block in stored["blocks"]:
        if block["family"] not in FAMILIES:
            raise InputError(f"this model uses the family {block['family']!r}, which is not known here.")
    model._blocks = tuple(Block(str(block["family"]), tuple(block["columns"])) for block in stored["blocks"])
    summaries = tuple(FAMILIES[block["family"]].summary_from_dict(block["facts"]) for block in stored["blocks"])
    facts = Facts(classes, np.array(stored["class_weight"], dtype=np.float64), summaries)
    finished: M = model._finish(facts, model._setting())
    return finished


def label_array_of(dtype: str, labels: list[Any]) -> Any:
    """The classes in the type they had."""
    kind = np.dtype(dtype).kind
    if kind not in LABEL_TYPES:
        raise InputError(f"classes of type {dtype!r} cannot be read from a file.")
    return object_array(labels) if kind == "O" else np.array(labels, dtype=dtype)


def refuse_label(label: Any) -> Any:
    raise InputError(
        f"the class {label!r} of type {type(label).__name__} cannot be written as JSON.",
        "use strings, numbers or truth values as labels, or pickle the model.",
    )


def param_to_plain(value: Any) -> Any:
    """A parameter as JSON: mappings and schemas are marked, so that keys keep their types."""
    if isinstance(value, Schema):
        return {"schema": json.loads(value.to_json())}
    if isinstance(value, Mapping):
        return {"mapping": [[plain(key), plain(entry)] for key, entry in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return {"list": [plain(entry) for entry in value]}
    return plain(value)


def param_from_plain(value: Any) -> Any:
    """The parameter that `param_to_plain` wrote."""
    if not isinstance(value, dict):
        return value
    if "schema" in value:
        return Schema.from_json(json.dumps(value["schema"]))
    if "mapping" in value:
        return dict(value["mapping"])
    return list(value["list"])


def plain(value: Any) -> Any:
    """A numpy scalar as Python's."""
    return value.item() if isinstance(value, np.generic) else value
