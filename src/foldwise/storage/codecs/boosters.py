"""LightGBM as text, XGBoost as JSON, CatBoost in its binary format. None of these formats contains code.

The parsers of these libraries are compiled code that was not made for hostile input: a forged booster with correct
digests can abort the process, as seen with LightGBM's text. A booster from a file (`BoosterModel` for classes,
`BoosterRegressor` for a quantity) predicts like the fitted model. It can be fitted again if the file contains all
parameters of its fit, which are numbers and words from a short list.
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

from foldwise.adapters.registry import BOOSTERS
from foldwise.errors import InputError
from foldwise.storage.archive import damaged
from foldwise.storage.codecs.formats import Files, from_json, labels_from_plain, labels_to_plain, to_json
from foldwise.storage.missing_library import missing_library

ParamDict = dict[str, Any]


class BoosterModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A booster for classes from a file. Without `params` it can only predict."""

    def __init__(self, library: str, booster: Any, classes: NDArray[Any], params: ParamDict | None = None) -> None:
        self.library = library
        self.booster = booster
        self.classes = classes
        self.params = params

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit a booster with the same parameters to other rows."""
        model, self.booster = fitted_again(self, X, y, sample_weight)
        self.classes = np.asarray(model.classes_)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self.booster is not None


class BoosterRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A booster for a quantity from a file. Without `params` it can only predict."""

    def __init__(self, library: str, booster: Any, params: ParamDict | None = None) -> None:
        self.library = library
        self.booster = booster
        self.params = params

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted value of each row."""
        return np.asarray(LIBRARIES[self.library].predict(self.booster, X), dtype=np.float64)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit a booster with the same parameters to other rows."""
        _, self.booster = fitted_again(self, X, y, sample_weight)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self.booster is not None


def fitted_again(read: BoosterModel | BoosterRegressor, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
    """Fit the estimator of the library, and return it with its booster as a file would give it."""
    if read.params is None:
        raise InputError(
            f"this booster of {read.library} can predict, but cannot be fitted again, because its file does not "
            "contain all parameters of its fit.",
            "run fit instead.",
        )
    library, quantity = LIBRARIES[read.library], is_regressor(read)
    model = estimator_of(read.library, quantity)(**read.params).fit(X, y, sample_weight=sample_weight)
    return model, library.from_bytes(library.to_bytes(model), quantity)


def params_of(model: Any, allowed: frozenset[str]) -> ParamDict | None:
    """The parameters of a fit as plain values, or None if some other one differs from its default."""
    defaults = type(model)().get_params()
    given = {name: value for name, value in model.get_params().items() if not same(value, defaults.get(name))}
    found = {name: plain_param(value) for name, value in given.items()}
    return found if all(is_param(item, allowed) for item in found.items()) else None


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, NaN included."""
    return one is other or (type(one) is type(other) and (one == other or (one != one and other != other)))


def plain_param(value: Any) -> Any:
    """Numbers of numpy as those of Python, and indices of columns as a list."""
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, np.generic) else value


def is_param(item: tuple[str, Any], allowed: frozenset[str]) -> bool:
    """Whether a parameter may be in a file: a number or a word of a known name, or indices of columns."""
    name, value = item
    if name == "cat_features":
        return isinstance(value, list) and all(type(one) is int for one in value)
    return name in allowed and (value is None or type(value) in (bool, int, float, str))


def write(model: Any) -> Files:
    """Write a model of a library, or one that was read before; for an unfitted one all but the booster."""
    read_before = isinstance(model, BoosterModel | BoosterRegressor)
    quantity = is_regressor(model)
    library = model.library if read_before else type(model).__module__.split(".")[0]
    params = model.params if read_before else params_of(model, LIBRARIES[library].params)
    about = {"library": library, "classes": None, "quantity": quantity, "params": params}
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return {"json": to_json(about)}
    about["classes"] = None if quantity else labels_to_plain(model.classes_)
    booster = LIBRARIES[library].to_bytes(model.booster if read_before else model)
    return {"json": to_json(about), "booster": booster}


def read(files: Files) -> BoosterModel | BoosterRegressor:
    """Read the model of such files."""
    about = from_json(files["json"])
    library, quantity = about["library"], about.get("quantity") is True
    if library not in LIBRARIES:
        raise damaged(f"it contains a booster of the unknown library {library!r}")
    params = read_params(about.get("params"), LIBRARIES[library].params)
    if "booster" not in files:
        return BoosterRegressor(library, None, params) if quantity else BoosterModel(library, None, np.empty(0), params)
    try:
        import_module(library)
    except (ImportError, OSError) as error:  # OSError: it needs a library of the system
        raise missing_library(error, library) from error
    try:
        booster = LIBRARIES[library].from_bytes(files["booster"], quantity)
    except ImportError as error:
        raise missing_library(error) from error
    except Exception as error:  # the libraries raise errors of many types for a damaged file
        raise damaged(f"{library} cannot read its booster") from error
    if quantity:
        return BoosterRegressor(library, booster, params)
    return BoosterModel(library, booster, labels_from_plain(about["classes"]), params)


def read_params(params: Any, allowed: frozenset[str]) -> ParamDict | None:
    """Check the parameters of a file: they are passed to the library if the model is fitted again."""
    if params is None:
        return None
    if not isinstance(params, dict) or not all(is_param(item, allowed) for item in params.items()):
        raise damaged("it contains parameters of a booster that Foldwise does not write")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in params.items()}


def estimator_of(library: str, quantity: bool) -> Any:
    """The estimator of a library, for a quantity or for classes."""
    return getattr(import_module(library), f"{BOOSTERS[library]}{'Regressor' if quantity else 'Classifier'}")


class LightGBM:
    """The text format of LightGBM."""

    params = frozenset(
        [
            "learning_rate",
            "n_estimators",
            "num_leaves",
            "max_depth",
            "min_child_samples",
            "min_child_weight",
            "min_split_gain",
            "reg_alpha",
            "reg_lambda",
            "colsample_bytree",
            "subsample",
            "subsample_freq",
            "boosting_type",
            "objective",
            "class_weight",
            "deterministic",
            "force_row_wise",
            "n_jobs",
            "verbosity",
            "random_state",
        ]
    )

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

    params = frozenset(
        [
            "learning_rate",
            "n_estimators",
            "max_depth",
            "max_leaves",
            "min_child_weight",
            "gamma",
            "reg_alpha",
            "reg_lambda",
            "subsample",
            "colsample_bytree",
            "colsample_bylevel",
            "colsample_bynode",
            "tree_method",
            "grow_policy",
            "objective",
            "scale_pos_weight",
            "n_jobs",
            "random_state",
        ]
    )

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

    params = frozenset(
        [
            "learning_rate",
            "n_estimators",
            "iterations",
            "depth",
            "max_depth",
            "l2_leaf_reg",
            "random_strength",
            "one_hot_max_size",
            "boosting_type",
            "thread_count",
            "allow_writing_files",
            "verbose",
            "random_state",
            "random_seed",
        ]
    )

    def to_bytes(self, model: Any) -> bytes:
        with tempfile.TemporaryDirectory() as folder:  # CatBoost can only write to files
            path = Path(folder) / "model.cbm"
            model.save_model(str(path), format="cbm")
            return path.read_bytes()

    def from_bytes(self, data: bytes, quantity: bool) -> Any:
        return estimator_of("catboost", quantity)().load_model(blob=data)

    def predict(self, booster: Any, X: Any) -> NDArray[Any]:
        ask = booster.predict_proba if hasattr(booster, "predict_proba") else booster.predict
        return np.asarray(ask(X, thread_count=1))


LIBRARIES: dict[str, Any] = {"lightgbm": LightGBM(), "xgboost": XGBoost(), "catboost": CatBoost()}
