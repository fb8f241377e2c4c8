"""LightGBM and XGBoost on as many rows as memory and time allow, by their own readers of data outside of memory.

How columns are prepared stays as it was learned from the sample. The number of trees and all other settings are those
of the member.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from foldwise.app.engine_tables import memory_share
from foldwise.app.enlarging.spooling import SpooledRows, spooled
from foldwise.app.enlarging.training_rows import BATCH, CannotLearnError, TrainingRows
from foldwise.app.timing import MORE_ROWS_USED, NO_TIME_AT_ALL, PREPARING
from foldwise.models.coded_labels import CodedLabels
from foldwise.models.column_transformers import CategoricalFrame
from foldwise.models.target_transforms import TransformedTarget
from foldwise.storage.codecs.boosters import BoosterModel, BoosterRegressor

LEAST_GAIN = 1.2  # times as many rows, for which a model is fitted again
BYTES_PER_CELL = 4  # of the bins of a feature; LightGBM needs 1 or 2
BYTES_PER_OUTPUT = 32  # of a row: score, gradient and second derivative
LIBRARIES = ("lightgbm", "xgboost")


def library_of(model: Any) -> str:
    """Return the library of the estimator inside of a fitted last step."""
    return type(booster_of(model)).__module__.split(".")[0]


def booster_of(model: Any) -> Any:
    """Return the estimator of a library that a last step wraps."""
    if isinstance(model, CodedLabels):
        return model.estimator_
    return model.regressor_ if isinstance(model, TransformedTarget) else model


def booster_on_more_rows(
    pipeline: Pipeline, rows: TrainingRows, n_now: int, seconds: float, share: float, n_threads: int
) -> tuple[Pipeline, int]:
    """Fit a booster again.

    Parameters
    ----------
    pipeline : Pipeline
        The pipeline, fitted to a part of the sample.
    rows : TrainingRows
        The rows to learn from.
    n_now : int
        Number of rows that it was fitted to.
    seconds : float
        How long that took, roughly.
    share : float
        The share of the time left that may be used.
    n_threads : int
        Number of threads.

    Returns
    -------
    tuple of Pipeline and int
        The pipeline with the new booster, and the number of rows.
    """
    outer = pipeline[-1]
    if isinstance(outer, TransformedTarget) and outer.transform != "none":
        raise CannotLearnError("its target is transformed")
    estimator, prepare, width = booster_of(outer), preparing(pipeline), int(booster_of(outer).n_features_in_)
    outputs = max(1, rows.task.n_classes)
    by_memory = memory_share() // (BYTES_PER_CELL * width + BYTES_PER_OUTPUT * outputs)
    left = MORE_ROWS_USED * share * rows.left - rows.large.seconds  # every row is hashed once more
    by_time = int(n_now * left / (PREPARING * max(seconds, NO_TIME_AT_ALL)))
    most = min(rows.n_rows, by_memory, by_time)
    if most < min(LEAST_GAIN * n_now, rows.n_rows):
        raise CannotLearnError("there was not enough time" if by_time < by_memory else "there was not enough memory")
    with spooled(rows, prepare, most) as found:
        train = {"lightgbm": train_lightgbm, "xgboost": train_xgboost}[library_of(outer)]
        booster, n_rows = train(estimator, found, n_threads, lambda: rows.left < 0), len(found.y)
    return Pipeline([*pipeline.steps[:-1], ("model", wrapped(outer, booster, rows.task.n_classes))]), n_rows


def preparing(pipeline: Pipeline) -> Callable[[Any], Any]:
    """Return the steps before the model, without the conversion to a frame, which readers do not need."""
    before = pipeline[:-1]
    last = before[-1]
    if isinstance(last, Pipeline) and isinstance(last[-1], CategoricalFrame):
        steps = [*before.steps[:-1], ("prepare", last[:-1])]
        before = Pipeline(steps)
    return lambda frame: before.transform(frame)


def wrapped(outer: Any, booster: Any, n_classes: int) -> Any:
    """Put a booster where the estimator of a fitted last step was."""
    library = "lightgbm" if type(booster).__module__.startswith("lightgbm") else "xgboost"
    inner = BoosterModel(library, booster, np.arange(n_classes)) if n_classes else BoosterRegressor(library, booster)
    if not isinstance(outer, CodedLabels | TransformedTarget):
        return inner
    found = copy.copy(outer)
    setattr(found, "estimator_" if isinstance(outer, CodedLabels) else "regressor_", inner)
    return found


def train_lightgbm(estimator: Any, rows: SpooledRows, n_threads: int, is_late: Callable[[], bool]) -> Any:
    """Train LightGBM by its `Sequence`, which reads the file part by part."""
    import lightgbm

    class LightGBMParts(lightgbm.Sequence):
        batch_size = BATCH

        def __getitem__(self, index: Any) -> Any:
            return np.array(rows.X[index])

        def __len__(self) -> int:
            return len(rows.y)

    def stop(state: Any) -> None:
        if is_late():
            raise CannotLearnError("there was not enough time")

    old = estimator.booster_
    categories = list(range(len(old.pandas_categorical or [])))
    params = {name: value for name, value in old.params.items() if name not in THREADS} | {"num_threads": n_threads}
    data = lightgbm.Dataset(LightGBMParts(), rows.y, categorical_feature=categories, params=params, free_raw_data=True)
    found = lightgbm.train(params, data, num_boost_round=old.current_iteration(), callbacks=[stop])
    found.pandas_categorical = old.pandas_categorical  # later rows come as a frame with these categories
    return found


THREADS = ("n_jobs", "num_threads", "nthread", "categorical_feature", "categorical_column")


def train_xgboost(estimator: Any, rows: SpooledRows, n_threads: int, is_late: Callable[[], bool]) -> Any:
    """Train XGBoost by its `DataIter`, which reads the file part by part and keeps only bins."""
    import xgboost

    class XGBoostParts(xgboost.DataIter):
        start = 0

        def reset(self) -> None:
            self.start = 0

        def next(self, input_data: Any) -> bool:
            if self.start >= len(rows.y):
                return False
            part = slice(self.start, self.start + BATCH)
            input_data(data=np.array(rows.X[part], dtype=np.float32), label=rows.y[part])
            self.start += BATCH
            return True

    class StopWhenLate(xgboost.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            if is_late():
                raise CannotLearnError("there was not enough time")
            return False

    params = {**estimator.get_xgb_params(), "nthread": n_threads}
    params.pop("n_jobs", None)
    if params.get("objective") == "multi:softprob":
        params["num_class"] = int(estimator.n_classes_)
    data = xgboost.QuantileDMatrix(XGBoostParts(), nthread=n_threads, max_bin=params.get("max_bin"))
    found = xgboost.train(params, data, num_boost_round=estimator.get_num_boosting_rounds(), callbacks=[StopWhenLate()])
    found.set_param({"nthread": 1})
    return found
