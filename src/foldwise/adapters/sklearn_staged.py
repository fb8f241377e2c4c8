"""The session of models that are built in stages: gradient boosting, forests, bagging, AdaBoost.

The longest model of a group is fitted once per training set. A shorter model is a copy with the first stages, because
scikit-learn fits stages one after the other, independent of their number. Shorter models predict with their own code,
but no stage predicts the same rows twice.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from foldwise.adapters.support import SKLEARN, Support, is_whole
from foldwise.folds.fallback import attempt, refitted_apart
from foldwise.folds.model_session import ModelSession, Refit
from foldwise.folds.protocol import Answer, Failure, Need, Params, Rows

BINNED = 200_000  # with more rows, HistGradientBoosting computes its bins on a random sample
STOPPED = 10_000  # with more rows, early_stopping="auto" holds out random rows


class StagedSession(ModelSession):
    """A session in which settings that differ in the number of stages share the longest fit."""

    shares = "stages"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.layout = STAGED_MODELS[type(estimator).__name__]
        self.support = SUPPORT[type(estimator).__name__]

    def lazy(self, params: Params) -> frozenset[str]:
        # most splits train on at least half of the rows; `fit_longest` checks the training set itself
        shared = self.layout.repeatable(self.merged(params), self.n_rows // 2)
        return frozenset({self.layout.size}) if shared else frozenset()

    def fit_group(self, settings: Sequence[Params], train: Rows) -> Iterator[Any]:
        longest, error = self.fit_longest(settings, train)
        if longest is None:
            yield from refitted_apart((self.fit_alone(setting, train) for setting in settings), error)
            return
        for setting in settings:
            size = self.size_of(setting)
            yield self.fit_alone(setting, train) if size is None else self.layout.cut(longest, size)

    def answer_group(
        self, settings: Sequence[Params], train: Rows, X_test: Any, need: Need
    ) -> Iterator[Answer | Failure]:
        longest, error = self.fit_longest(settings, train)
        if longest is None:
            yield from refitted_apart((self.answer_alone(one, train, X_test, need) for one in settings), error)
            return
        predictor = self.layout.predictor(longest, X_test, need, self.layout.cut)
        sizes = [self.size_of(setting) for setting in settings]
        waiting: dict[int, Answer | Failure] = {}
        done = 0
        for i in sorted(range(len(settings)), key=lambda i: sizes[i] or 0):
            size = sizes[i]
            if size is None:
                waiting[i] = self.answer_alone(settings[i], train, X_test, need)
            else:
                waiting[i] = self.answer_stage(predictor, size, X_test, need, partial(self.refit, settings[i], train))
            while done in waiting:  # answers in order, without waiting for larger sizes
                yield waiting.pop(done)
                done += 1

    def answer_stage(
        self, predictor: StagedPredictor, size: int, X_test: Any, need: Need, refit: Refit | None = None
    ) -> Answer | Failure:
        """The predictions of the model of this size; sizes must be requested in ascending order."""
        try:
            model = predictor.at(size)
        except Exception as error:  # not hidden: the failure is the answer
            return Failure(error, fitted=True)
        answer = self.predict(model, X_test, need & ~Need.MODEL, refit)
        if need & Need.MODEL and isinstance(answer, Answer):
            return replace(answer, models=(self.layout.cut(predictor.model, size),))
        return answer

    def size_of(self, setting: Params) -> int | None:
        """The number of stages; None if scikit-learn may not accept it."""
        size = setting.get(self.layout.size, getattr(self.estimator, self.layout.size))
        return int(size) if is_whole(size) and size >= 1 else None

    def fit_longest(self, settings: Sequence[Params], train: Rows) -> tuple[Any, Exception | None]:
        """The model that contains all others, or None if each must be fitted by itself, and the error of its fit."""
        longest = max(settings, key=lambda setting: self.size_of(setting) or 0)
        if self.size_of(longest) is None or not self.layout.repeatable(self.merged(longest), len(train)):
            return None, None
        model, error = attempt(partial(self.refit, longest, train))
        return (model if model is not None and self.support.has_fitted(model) else None), error


class StagedPredictor:
    """Predictions of one model at increasing sizes, by a copy of each size."""

    def __init__(self, model: Any, X_test: Any, need: Need, cut: Callable[[Any, int], Any]) -> None:
        self.model, self.X_test, self.need, self.cut = model, X_test, need, cut
        self.done = 0  # the number of stages used so far

    def at(self, size: int) -> Any:
        """The model of this size, for the test rows only."""
        return self.cut(self.model, size)


class StagedScores(StagedPredictor):
    """Boosting: raw scores are continued from those of fewer stages."""

    raw: Any = None

    def at(self, size: int) -> Any:
        model = self.cut(self.model, size)
        model._raw_predict = lambda X, n_threads=None: self.raw_at(X, size)  # used by predict, predict_proba, …
        return model

    def raw_at(self, X: Any, size: int) -> Any:
        if size > self.done:
            self.raw = self.between(X, size)._raw_predict(X)
            self.done = size
        return self.raw.copy(order="K")

    def between(self, X: Any, size: int) -> Any:
        """A model of the stages not used yet, which starts with the scores of the others."""
        model = copied(self.model)
        model.estimators_ = self.model.estimators_[self.done : size]
        if self.done:
            model._raw_predict_init = lambda X: self.raw.copy(order="K")  # stages are added in place
        return model


class StagedHistogramScores(StagedScores):
    """The same for HistGradientBoosting, which has other attributes and may encode the rows."""

    encoded: Any = None

    def between(self, X: Any, size: int) -> Any:
        if not self.done:
            self.encoded = self.model._preprocess_X(X, reset=False)
        model = copied(self.model)
        model._predictors = self.model._predictors[self.done : size]
        model._preprocess_X = lambda X, reset: self.encoded
        if self.done:
            model._baseline_prediction = self.raw
        return model


class StagedMean(StagedPredictor):
    """Forests and bagging: the sum over members, in their order, divided by their number."""

    def __init__(self, model: Any, X_test: Any, need: Need, cut: Callable[[Any, int], Any]) -> None:
        super().__init__(model, X_test, need, cut)
        kinds = {
            "predict": need & Need.VALUES and not hasattr(model, "classes_"),
            "predict_proba": need & (Need.LABELS | Need.PROBA | Need.DECISION),
            "decision_function": need & Need.DECISION,
        }
        self.sums = {kind: 0.0 for kind, wanted in kinds.items() if wanted and hasattr(model, kind)}

    def at(self, size: int) -> Any:
        while self.done < size and self.sums:
            member = self.member(self.done)
            found = {kind: getattr(member, kind)(self.X_test) for kind in self.sums}
            self.sums = {kind: total + found[kind] for kind, total in self.sums.items()}
            self.done += 1
        model = self.cut(self.model, size)
        for kind, total in self.sums.items():
            setattr(model, kind, lambda X, mean=total / size: mean)
        return model

    def member(self, i: int) -> Any:
        """An ensemble of one member, whose mean is the contribution of the member to the sum."""
        model = copied(self.model)
        model.n_estimators = 1
        model.estimators_ = self.model.estimators_[i : i + 1]
        if hasattr(model, "estimators_features_"):
            model.estimators_features_ = self.model.estimators_features_[i : i + 1]
        return model


class StagedBag(StagedMean):
    """The same for bagging; with several processes, which add in a different order, by copies."""

    def at(self, size: int) -> Any:
        return super().at(size) if effective_n_jobs(self.model.n_jobs) == 1 else self.cut(self.model, size)


class StagedVote(StagedPredictor):
    """AdaBoost: a weighted vote or a weighted median of members, whose predictions are kept."""

    def __init__(self, model: Any, X_test: Any, need: Need, cut: Callable[[Any, int], Any]) -> None:
        super().__init__(model, X_test, need, cut)
        self.members = [CachedMember(member) for member in model.estimators_]

    def at(self, size: int) -> Any:
        model = self.cut(self.model, size)
        model.estimators_ = self.members[:size]
        return model


class CachedMember:
    """A member that predicts the test rows only once."""

    def __init__(self, member: Any) -> None:
        self.member = member
        self.answer: Any = None

    def predict(self, X: Any) -> Any:
        if self.answer is None:
            self.answer = self.member.predict(X)
        return self.answer


@dataclass(frozen=True)
class StagedModel:
    """The attributes in which models of a type keep their stages."""

    size: str  # the parameter that counts the stages
    repeatable: Callable[[Params, int], bool]  # from parameters and the number of training rows
    needed: tuple[str, ...]  # attributes with one entry per stage
    predictor: type[StagedPredictor]
    others: Mapping[str, int]  # optional ones, and how many entries precede the first stage

    def cut(self, model: Any, size: int) -> Any:
        """The model of the first stages."""
        shorter = copied(model)
        setattr(shorter, self.size, size)
        for name, before in {**dict.fromkeys(self.needed, 0), **self.others}.items():
            if hasattr(model, name):
                setattr(shorter, name, getattr(model, name)[: size + before])
        if hasattr(model, "n_estimators_"):
            shorter.n_estimators_ = len(shorter.estimators_)
        if hasattr(model, "oob_scores_"):
            shorter.oob_score_ = shorter.oob_scores_[-1]
        return shorter


def copied(model: Any) -> Any:
    """A shallow copy, without the bound method that early stopping by a named score leaves behind."""
    shallow = copy.copy(model)
    vars(shallow).pop("_raw_predict", None)
    return shallow


def histogram_repeatable(params: Params, n_train: int) -> bool:
    """Early stopping is repeatable with a seed: it decides after each stage, on rows held out by the seed."""
    if params["warm_start"] or callable(params["scoring"]):
        return False
    if params["random_state"] is not None:
        return is_whole(params["random_state"])
    stops = n_train > STOPPED if params["early_stopping"] == "auto" else params["early_stopping"]
    return params["max_features"] == 1.0 and n_train <= BINNED and not stops


def boosting_repeatable(params: Params, n_train: int) -> bool:
    # an initial model may be random, and gets no seed
    return is_whole(params["random_state"]) and not params["warm_start"] and params["init"] in (None, "zero")


def forest_repeatable(params: Params, n_train: int) -> bool:
    # the out-of-bag score depends on the number of stages
    return is_whole(params["random_state"]) and not params["warm_start"] and not params["oob_score"]


def bag_repeatable(params: Params, n_train: int) -> bool:
    return forest_repeatable(params, n_train) and member_repeatable(params)


def vote_repeatable(params: Params, n_train: int) -> bool:
    return is_whole(params["random_state"]) and member_repeatable(params)


def member_repeatable(params: Params) -> bool:
    """Whether the seeds that an ensemble gives its members cover everything random in them.

    They cover parameters called random_state, but not splitters or generators.
    """
    values = dict(params)
    if hasattr(params["estimator"], "get_params"):
        values.update({f"estimator__{k}": v for k, v in params["estimator"].get_params(deep=True).items()})
        values.update(params)
    for name, value in values.items():
        if not name.startswith("estimator__") or name.endswith("__random_state"):
            continue
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return False
        if hasattr(value, "random_state") and not hasattr(value, "get_params") and not is_whole(value.random_state):
            return False
    return True


HISTOGRAMS = StagedModel(
    "max_iter",
    histogram_repeatable,
    ("_predictors",),
    StagedHistogramScores,
    {"train_score_": 1, "validation_score_": 1},  # the first score is that before the first stage
)
BOOSTING = StagedModel(
    "n_estimators",
    boosting_repeatable,
    ("estimators_",),
    StagedScores,
    {"train_score_": 0, "oob_improvement_": 0, "oob_scores_": 0},
)
FORESTS = StagedModel("n_estimators", forest_repeatable, ("estimators_",), StagedMean, {})
BAGS = StagedModel("n_estimators", bag_repeatable, ("estimators_", "estimators_features_"), StagedBag, {"_seeds": 0})
VOTES = StagedModel(
    "n_estimators", vote_repeatable, ("estimators_", "estimator_weights_"), StagedVote, {"estimator_errors_": 0}
)

STAGED_MODELS = {
    f"{name}{kind}": layout
    for name, layout in {
        "HistGradientBoosting": HISTOGRAMS,
        "GradientBoosting": BOOSTING,
        "RandomForest": FORESTS,
        "ExtraTrees": FORESTS,
        "Bagging": BAGS,
        "AdaBoost": VOTES,
    }.items()
    for kind in ("Classifier", "Regressor")
}

BY_PREDICTOR: dict[type[StagedPredictor], Support] = {
    StagedScores: Support(SKLEARN, ("_raw_predict", "_raw_predict_init"), fitted=("estimators_",)),
    StagedHistogramScores: Support(
        SKLEARN, ("_raw_predict", "_preprocess_X"), fitted=("_predictors", "_baseline_prediction")
    ),
    StagedMean: Support(SKLEARN, fitted=("estimators_",)),
    StagedBag: Support(SKLEARN, fitted=("estimators_", "estimators_features_", "_seeds")),
    StagedVote: Support(SKLEARN, fitted=("estimators_", "estimator_weights_")),
}
SUPPORT = {name: BY_PREDICTOR[layout.predictor] for name, layout in STAGED_MODELS.items()}


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> StagedSession | None:
    """A session for an ensemble with one output and no fit parameters other than sample_weight."""
    if set(fit_params) - {"sample_weight"}:  # a monitor may stop the fit
        return None
    return StagedSession.with_target(estimator, X, y, fit_params)
