"""LightGBM as text, XGBoost as JSON, CatBoost in its binary format. None of these formats contains code.

The parsers of these libraries are compiled code that was not made for hostile input: a forged booster with correct
digests can abort the process, as seen with LightGBM's text. A booster from a file (`BoosterModel` for classes,
`BoosterRegressor` for a quantity) predicts like the fitted model, but cannot be fitted again.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from foldwise.errors import InputError
from foldwise.storage.archive import damaged
from foldwise.storage.codecs.formats import Files, from_json, labels_from_plain, labels_to_plain, to_json


class BoosterModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A booster for classes from a file, which can only predict."""

    def __init__(self, library: str, booster: Any, classes: NDArray[Any]) -> None:
        self.library = library
        self.booster = booster
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The sorted classes."""
        return self.classes

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the class probabilities, in the order of `classes_`."""
        proba = LIBRARIES[self.library].predict(self.booster, X)
        return np.column_stack([1.0 - proba, proba]) if proba.ndim == 1 else proba

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        labels: NDArray[Any] = self.classes[self.predict_proba(X).argmax(axis=1)]
        return labels

    def fit(self, X: Any, y: Any) -> Any:
        """Raise an error, because the file does not contain the parameters of the fit."""
        raise InputError("a booster from a model file can predict, but cannot be fitted again.", "run fit instead.")

    def __sklearn_is_fitted__(self) -> bool:
        return self.booster is not None


class BoosterRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A booster for a quantity from a file, which can only predict."""

    def __init__(self, library: str, booster: Any) -> None:
        self.library = library
        self.booster = booster

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted value of each row."""
        return np.asarray(LIBRARIES[self.library].predict(self.booster, X), dtype=np.float64)

    def fit(self, X: Any, y: Any) -> Any:
        """Raise an error, because the file does not contain the parameters of the fit."""
        raise InputError("a booster from a model file can predict, but cannot be fitted again.", "run fit instead.")

    def __sklearn_is_fitted__(self) -> bool:
        return self.booster is not None


def write(model: Any) -> Files:
    """Write a model of a library, or one that was read before; for an unfitted one only the name of the library."""
    read_before = isinstance(model, BoosterModel | BoosterRegressor)
    quantity = is_regressor(model)
    library = model.library if read_before else type(model).__module__.split(".")[0]
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return {"json": to_json({"library": library, "classes": None, "quantity": quantity})}
    classes = None if quantity else labels_to_plain(model.classes_)
    about = {"library": library, "classes": classes, "quantity": quantity}
    booster = LIBRARIES[library].to_bytes(model.booster if read_before else model)
    return {"json": to_json(about), "booster": booster}


def read(files: Files) -> BoosterModel | BoosterRegressor:
    """Read the model of such files."""
    about = from_json(files["json"])
    library, quantity = about["library"], about.get("quantity") is True
    if library not in LIBRARIES:
        raise damaged(f"it contains a booster of the unknown library {library!r}")
    if "booster" not in files:
        return BoosterRegressor(library, None) if quantity else BoosterModel(library, None, np.empty(0))
    try:
        import_module(library)
    except ImportError as error:
        raise InputError(
            f"this model needs the library {library!r}, which is not installed.", "pip install 'foldwise[boosters]'"
        ) from error
    try:
        booster = LIBRARIES[library].from_bytes(files["booster"], quantity)
    except Exception as error:  # the libraries raise errors of many types for a damaged file
        raise damaged(f"{library} cannot read its booster") from error
    if quantity:
        return BoosterRegressor(library, booster)
    return BoosterModel(library, booster, labels_from_plain(about["classes"]))


class LightGBM:
    """The text format of LightGBM."""

    def to_bytes(self, model: Any) -> bytes:
        booster = getattr(model, "booster_", model)
        return str(booster.model_to_string(num_iteration=-1)).encode()

    def from_bytes(self, data: bytes, quantity: bool) -> Any:
        from lightgbm import Booster

        return Booster(model_str=data.decode())

    def predict(self, booster: Any, X: Any) -> NDArray[Any]:
        """Return probabilities, or values of a quantity."""
        return np.asarray(booster.predict(X, num_threads=1))


class XGBoost:
    """The JSON format of XGBoost."""

    def to_bytes(self, model: Any) -> bytes:
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return bytes(booster.save_raw("json"))

    def from_bytes(self, data: bytes, quantity: bool) -> Any:
        from xgboost import Booster

        booster = Booster({"nthread": 1})
        booster.load_model(bytearray(data))
        return booster

    def predict(self, booster: Any, X: Any) -> NDArray[Any]:
        return np.asarray(booster.inplace_predict(X))


class CatBoost:
    """The binary format of CatBoost, because its JSON does not contain the statistics of categories."""

    def to_bytes(self, model: Any) -> bytes:
        with tempfile.TemporaryDirectory() as folder:  # CatBoost can only write to files
            path = Path(folder) / "model.cbm"
            model.save_model(str(path), format="cbm")
            return path.read_bytes()

    def from_bytes(self, data: bytes, quantity: bool) -> Any:
        from catboost import CatBoostClassifier, CatBoostRegressor

        return (CatBoostRegressor if quantity else CatBoostClassifier)().load_model(blob=data)

    def predict(self, booster: Any, X: Any) -> NDArray[Any]:
        ask = booster.predict_proba if hasattr(booster, "predict_proba") else booster.predict
        return np.asarray(ask(X, thread_count=1))


LIBRARIES: dict[str, Any] = {"lightgbm": LightGBM(), "xgboost": XGBoost(), "catboost": CatBoost()}
