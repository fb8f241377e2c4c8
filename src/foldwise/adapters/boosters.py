"""The session of LightGBM, XGBoost and CatBoost: one fit of the longest model serves every number of trees.

This is exact if the trees do not depend on their number. It fails, and settings are refitted, if CatBoost derives the
learning rate from the number of trees, with early stopping, and if threads add in a different order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from foldwise.adapters.support import CATBOOST, LIGHTGBM, XGBOOST, Support, TestedVersions, is_whole
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Answer, Failure, Need, Params, Rows


@dataclass(frozen=True)
class BoosterLibrary:
    """Parameter names and properties of one library."""

    versions: TestedVersions
    sizes: tuple[str, ...]  # names of the parameter for the number of trees
    usual: int  # its default
    shorter: Callable[[int], dict[str, Any]]  # arguments of a prediction with the first trees
    exact: Callable[[Params], bool]  # whether, with these parameters, trees do not depend on their number


def lightgbm_exact(params: Params) -> bool:
    """Threads may add in a different order unless deterministic; dropping trees (dart) changes earlier ones."""
    single = params.get("n_jobs") == 1 or params.get("deterministic") is True
    return single and params.get("boosting_type", "gbdt") == "gbdt" and not params.get("early_stopping_round")


def xgboost_exact(params: Params) -> bool:
    if params.get("early_stopping_rounds") or params.get("callbacks") or params.get("booster") not in (None, "gbtree"):
        return False
    return params.get("n_jobs") == 1 and params.get("tree_method") in (None, "hist", "exact", "approx")


def catboost_exact(params: Params) -> bool:
    if params.get("early_stopping_rounds") or params.get("use_best_model") or params.get("od_type"):
        return False
    rate = params.get("learning_rate", params.get("eta"))
    return rate is not None and params.get("boosting_type") == "Plain" and params.get("thread_count") == 1


LIBRARIES = {
    "LGBM": BoosterLibrary(
        LIGHTGBM,
        ("n_estimators",),
        100,
        lambda size: {"num_iteration": size},
        lightgbm_exact,
    ),
    "XGB": BoosterLibrary(
        XGBOOST,
        ("n_estimators",),
        100,
        lambda size: {"iteration_range": (0, size)},
        xgboost_exact,
    ),
    "CatBoost": BoosterLibrary(
        CATBOOST,
        ("iterations", "n_estimators", "num_boost_round", "num_trees"),
        1000,
        lambda size: {"ntree_end": size},
        catboost_exact,
    ),
}

KINDS = ("Classifier", "Regressor")
SUPPORT = {f"{name}{kind}": Support(library.versions) for name, library in LIBRARIES.items() for kind in KINDS}


class BoosterSession(ModelSession):
    """A session in which settings that differ in the number of trees share the longest fit."""

    shares = "stages"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.library = LIBRARIES[type(estimator).__name__.removesuffix(KINDS[0]).removesuffix(KINDS[1])]
        given = [name for name in self.library.sizes if self.own_params.get(name) is not None]
        self.size = given[0] if given else self.library.sizes[0]  # the library does not accept two of its names

    def lazy(self, params: Params) -> frozenset[str]:
        merged = self.merged(params)
        seeds = [merged[name] for name in ("random_state", "random_seed") if merged.get(name) is not None]
        exact = self.library.exact(merged) and bool(seeds) and all(is_whole(seed) for seed in seeds)
        return frozenset({self.size}) if exact else frozenset()

    def size_of(self, setting: Params) -> int | None:
        """The number of trees; None if the library may not accept it."""
        size = self.merged(setting).get(self.size, self.library.usual)
        return int(size) if is_whole(size) and size >= 1 else None

    def answer_group(
        self, settings: Sequence[Params], train: Rows, X_test: Any, need: Need
    ) -> Iterator[Answer | Failure]:
        sizes = [self.size_of(setting) for setting in settings]
        if len(settings) < 2 or None in sizes or need & Need.MODEL or not self.lazy(settings[0]):
            yield from super().answer_group(settings, train, X_test, need)
            return
        longest = self.fit_alone(settings[int(np.argmax(np.array(sizes)))], train)
        for setting, size in zip(settings, sizes, strict=True):
            if isinstance(longest, Failure):
                yield longest
            else:
                shorter = TruncatedModel(longest, self.library.shorter(size or 1))
                yield self.predict(shorter, X_test, need, partial(self.refit, setting, train))


class TruncatedModel:
    """A fitted model that predicts with its first trees only."""

    def __init__(self, model: Any, arguments: dict[str, Any]) -> None:
        self.model, self.arguments = model, arguments
        if hasattr(model, "classes_"):
            self.classes_ = model.classes_

    def predict(self, X: Any) -> Any:
        return np.asarray(self.model.predict(X, **self.arguments)).reshape(-1)

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(X, **self.arguments)


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> BoosterSession | None:
    """A session for one output and no fit parameters other than sample_weight."""
    if set(fit_params) - {"sample_weight"}:
        return None
    return BoosterSession.with_target(estimator, X, y, fit_params)
