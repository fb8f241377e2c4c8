"""Naive Bayes as JSON; an unfitted one by its parameters."""

from __future__ import annotations

from typing import Any

from foldwise.bayes import NaiveBayes
from foldwise.bayes.storage import param_from_plain, param_to_plain
from foldwise.storage.codecs.formats import Files, from_json, to_json


def write(model: Any) -> Files:
    """Return the files of a model."""
    if hasattr(model, "facts_"):
        return {"json": model.to_json().encode()}
    return {"unfitted.json": to_json({name: param_to_plain(v) for name, v in model.get_params(deep=False).items()})}


def read(files: Files) -> NaiveBayes:
    """Return the model of such files."""
    if "unfitted.json" in files:
        return NaiveBayes(**{name: param_from_plain(v) for name, v in from_json(files["unfitted.json"]).items()})
    return NaiveBayes.from_json(files["json"].decode())
