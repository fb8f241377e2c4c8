"""LightGBM as its text, XGBoost as its JSON, CatBoost as its own binary form: none of them holds code.

Each is read by its own library's parser, which is compiled and trusts its input more than one should: a forged booster
with the right digests can stop the process (seen with LightGBM's text).

What is read predicts as the fitted classifier did, but cannot be fitted again: `BoosterModel`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from foldwise.bayes.storage import label_array_of, refuse_label
from foldwise.errors import InputError
from foldwise.storage.codecs.protocol import Stored, from_json, to_json


class BoosterModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A booster that was read from a file: it predicts, and no more."""

    def __init__(self, library: str, booster: Any, classes: NDArray[Any]) -> None:
        self.library = library
        self.booster = booster
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        return self.classes

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probabilities, in the order of `classes_`."""
        found = LIBRARIES[self.library].probabilities(self.booster, X)
        return np.column_stack([1.0 - found, found]) if found.ndim == 1 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        labels: NDArray[Any] = self.classes[self.predict_proba(X).argmax(axis=1)]
        return labels

    def fit(self, X: Any, y: Any) -> Any:
        """Refused: the parameters of the fit are not in the file."""
        raise InputError("a booster that was read from a file only predicts.", "fit a new model.")

    def __sklearn_is_fitted__(self) -> bool:
        return self.booster is not None


@dataclass(frozen=True)
class Boosters:
    """The codec of one library."""

    library: str

    def write(self, model: Any) -> Stored:
        """The files of a model; of one that is not fitted, nothing but that."""
        try:
            check_is_fitted(model)
        except (NotFittedError, TypeError):
            return {"json": to_json({"library": self.library, "classes": None})}
        labels = [
            v if isinstance(v, str | int | float) else refuse_label(v) for v in np.asarray(model.classes_).tolist()
        ]
        about = {"library": self.library, "classes": {"dtype": np.asarray(model.classes_).dtype.str, "labels": labels}}
        return {"json": to_json(about), "booster": LIBRARIES[self.library].to_bytes(model)}

    def read(self, stored: Stored) -> BoosterModel:
        """The model of such files."""
        about = from_json(stored["json"])
        if about["library"] not in LIBRARIES:
            raise InputError(f"the model file holds a booster of {about['library']!r}, which is not known here.")
        if about["classes"] is None:
            return BoosterModel(about["library"], None, np.empty(0))
        library = LIBRARIES[about["library"]]
        try:
            import_module(about["library"])
        except ImportError as error:
            raise InputError(
                f"this model needs the library {about['library']!r}, which is not installed.",
                "pip install 'foldwise[boosters]'",
            ) from error
        try:
            booster = library.from_bytes(stored["booster"])
        except Exception as error:
            raise InputError(f"the model file is damaged: {about['library']} cannot read its booster.") from error
        return BoosterModel(about["library"], booster, label_array_of(**about["classes"]))


class Again:
    """The codec of what was read from a file before."""

    def write(self, model: Any) -> Stored:
        """The files of a model."""
        if model.booster is None:
            return {"json": to_json({"library": model.library, "classes": None})}
        labels = model.classes.tolist()
        about = {"library": model.library, "classes": {"dtype": model.classes.dtype.str, "labels": labels}}
        return {"json": to_json(about), "booster": LIBRARIES[model.library].to_bytes(model.booster)}

    def read(self, stored: Stored) -> BoosterModel:
        """The model of such files."""
        return Boosters(from_json(stored["json"])["library"]).read(stored)


class LightGBM:
    """Text; a classifier or a booster is written."""

    def to_bytes(self, model: Any) -> bytes:
        booster = getattr(model, "booster_", model)
        return str(booster.model_to_string(num_iteration=-1)).encode()

    def from_bytes(self, data: bytes) -> Any:
        from lightgbm import Booster

        return Booster(model_str=data.decode())

    def probabilities(self, booster: Any, X: Any) -> NDArray[Any]:
        return np.asarray(booster.predict(X, num_threads=1))


class XGBoost:
    """JSON."""

    def to_bytes(self, model: Any) -> bytes:
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return bytes(booster.save_raw("json"))

    def from_bytes(self, data: bytes) -> Any:
        from xgboost import Booster

        booster = Booster({"nthread": 1})
        booster.load_model(bytearray(data))
        return booster

    def probabilities(self, booster: Any, X: Any) -> NDArray[Any]:
        return np.asarray(booster.inplace_predict(X))


class CatBoost:
    """Its own binary form, because its JSON does not hold what it learned of categories."""

    def to_bytes(self, model: Any) -> bytes:
        with tempfile.TemporaryDirectory() as folder:  # it writes to files only
            path = Path(folder) / "model.cbm"
            model.save_model(str(path), format="cbm")
            return path.read_bytes()

    def from_bytes(self, data: bytes) -> Any:
        from catboost import CatBoostClassifier

        return CatBoostClassifier().load_model(blob=data)

    def probabilities(self, booster: Any, X: Any) -> NDArray[Any]:
        return np.asarray(booster.predict_proba(X, thread_count=1))


LIBRARIES: dict[str, Any] = {"lightgbm": LightGBM(), "xgboost": XGBoost(), "catboost": CatBoost()}
LIGHTGBM, XGBOOST, CATBOOST, AGAIN = Boosters("lightgbm"), Boosters("xgboost"), Boosters("catboost"), Again()
