"""What the arguments of a search, or of a cross-validation, are for: the estimator, the splitter or the scorers.

With scikit-learn's metadata routing, each of them says what it requests. Without it, `groups` belongs to the splitter,
everything else to the estimator, and sample weights also to the scorers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.metrics.protocol import SearchMetric
from foldwise.evaluation.metrics.routed import RoutedMetric
from foldwise.evaluation.metrics.scorers import takes_weight
from foldwise.folds.model_session import RefitSession
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import FoldSession


@dataclass(frozen=True)
class RoutedParams:
    """The arguments of `fit` by receiver."""

    fit: dict[str, Any]  # of the estimator
    split: dict[str, Any]  # of the splitter
    score: dict[str, dict[str, Any]] | None = None  # by scorer; None without routing

    @property
    def groups(self) -> Any:
        """The groups of rows, if any."""
        return self.split.get("groups")


class ScorerRouter:
    """Routes metadata to several scorers by name."""

    def __init__(self, scorers: Mapping[str, Any]) -> None:
        self.scorers = scorers

    def get_metadata_routing(self) -> Any:
        """Return the requests of all scorers."""
        mapping = MethodMapping().add(caller="score", callee="score")
        return MetadataRouter(owner=self).add(**self.scorers, method_mapping=mapping)


def requests_of(search: Any, scorers: Mapping[str, Any]) -> Any:
    """Return what the parts of a search request of the arguments of its methods."""
    scored = MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score")
    return (
        MetadataRouter(owner=search)
        .add(estimator=search.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        .add(scorer=ScorerRouter(scorers), method_mapping=scored)
        .add(splitter=search.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    )


def route(search: Any, scorers: Mapping[str, Any], params: Mapping[str, Any]) -> RoutedParams:
    """Distribute the arguments of `fit`; scikit-learn raises an error for those that nobody requests."""
    if not is_routed(params):
        rest = dict(params)
        groups = rest.pop("groups", None)
        if rest.get("sample_weight") is not None:
            warn_unweighted(scorers)
        return RoutedParams(rest, {"groups": groups})
    found = process_routing(search, "fit", **params)
    by_scorer = process_routing(ScorerRouter(scorers), "score", **found.scorer.score)
    score = {name: dict(by_scorer[name].score) for name in scorers}
    return RoutedParams(dict(found.estimator.fit), dict(found.splitter.split), score)


def validation_router(owner: str, model: Any, scorers: Mapping[str, Any]) -> MetadataRouter:
    """Return what the model and the scorers of a cross-validation request."""
    fitted = MethodMapping().add(caller="fit", callee="fit")
    scored = MethodMapping().add(caller="fit", callee="score")
    router = MetadataRouter(owner=owner).add(estimator=model, method_mapping=fitted)
    return router.add(scorer=ScorerRouter(scorers), method_mapping=scored)


def check_fit_params(function: str, model: Any, fit_params: Mapping[str, Any]) -> None:
    """Raise an error for keywords that neither a function nor the `fit` of its model accepts."""
    if not fit_params or sklearn.get_config()["enable_metadata_routing"]:  # routing has checks of its own
        return
    accepted = fit_arguments(model)
    unknown = [] if accepted is None else [name for name in fit_params if name not in accepted]
    if unknown:
        hint = f"pass it to {type(model).__name__}. " if unknown[0] in own_parameters(model) else ""
        raise FoldwiseTypeError(
            f"{function} got an unexpected keyword argument {unknown[0]!r}, and fit of {type(model).__name__} does not "
            "accept it either.",
            f"{hint}fit accepts {listing(sorted(accepted)) if accepted else 'X and y only'}.",
        )


def own_parameters(model: Any) -> set[str]:
    """Name the parameters of an estimator itself, without those of estimators inside."""
    return set(model.get_params(deep=False)) if hasattr(model, "get_params") else set()


def fit_arguments(model: Any) -> set[str] | None:
    """Name the arguments of `fit` besides X and y; None if it accepts any."""
    if isinstance(model, Pipeline):
        inside = {name: fit_arguments(step) for name, step in model.steps if hasattr(step, "fit")}
        if any(found is None for found in inside.values()):
            return None
        return {f"{name}__{one}" for name, found in inside.items() for one in found or ()}
    names = signature(model.fit).parameters
    own = {name for name, one in list(names.items())[2:] if one.kind is not one.VAR_KEYWORD}
    if not any(one.kind is one.VAR_KEYWORD for one in names.values()):
        return own
    # searches pass all others on to the model that they tune, and so do wrappers
    passed = fit_arguments(model.estimator) if hasattr(getattr(model, "estimator", None), "fit") else None
    return None if passed is None else own | passed


def is_routed(params: Mapping[str, Any]) -> bool:
    """Whether there are arguments, and scikit-learn's metadata routing is on."""
    return bool(params and sklearn.get_config()["enable_metadata_routing"])


def route_validation(model: Any, scorers: Mapping[str, Any], params: Mapping[str, Any]) -> RoutedParams:
    """Distribute the arguments of a cross-validation as scikit-learn's `cross_validate(params=…)` does."""
    found = process_routing(validation_router("cross_validate", model, scorers), "fit", **params)
    by_scorer = process_routing(ScorerRouter(scorers), "score", **found.scorer.score)
    return RoutedParams(dict(found.estimator.fit), {}, {name: dict(by_scorer[name].score) for name in scorers})


def route_cross_validation(
    owner: str, model: Any, splitter: Any, scorers: Mapping[str, Any], groups: Any, params: Mapping[str, Any]
) -> RoutedParams:
    """Distribute the arguments of scikit-learn's functions for cross-validation, also to the splitter."""
    if not sklearn.get_config()["enable_metadata_routing"]:
        return RoutedParams(dict(params), {"groups": groups})
    if groups is not None:
        raise InputError(
            "`groups` can only be passed if metadata routing is not enabled via "
            "`sklearn.set_config(enable_metadata_routing=True)`.",
            "pass groups in `params`, together with other metadata.",
        )
    divided = MethodMapping().add(caller="fit", callee="split")
    router = validation_router(owner, model, scorers).add(splitter=splitter, method_mapping=divided)
    found = process_routing(router, "fit", **params)
    by_scorer = process_routing(ScorerRouter(scorers), "score", **found.scorer.score)
    score = {name: dict(by_scorer[name].score) for name in scorers}
    return RoutedParams(dict(found.estimator.fit), dict(found.splitter.split), score)


def route_search(search: Any, plan: Any, params: Mapping[str, Any]) -> tuple[Any, RoutedParams]:
    """Distribute the arguments of `fit` of a search that runs in each outer split; return also its routed plan."""
    routed = route(search, plan.scorers, params)
    if others := routed.split.keys() - {"groups"}:
        raise InputError(
            f"the splitter of the search requests {min(others)!r}, which cannot be passed to it here.",
            "use a splitter that requests nothing, or only groups.",
        )
    if routed.score is not None:
        plan = replace(plan, metrics=routed_metrics(plan.metrics, routed.score))
    return plan, routed


def open_routed_session(estimator: Any, X: Any, y: Any, routed: RoutedParams) -> FoldSession:
    """Open the session of an estimator; where arguments of `fit` are routed on, it refits."""
    if routed.score is not None and routed.fit and routes_further(estimator):
        return RefitSession(estimator, X, y, routed.fit)
    return open_session(estimator, X, y, routed.fit)


def warn_unweighted(scorers: Mapping[str, Any]) -> None:
    """Warn that a scorer ignores the weights that the estimator is fitted with."""
    for name, scorer in scorers.items():
        if not takes_weight(scorer):
            warnings.warn(
                f"The scoring {name}={scorer} does not support sample_weight: models are fitted with weights, but "
                "their scores are not weighted.",
                UserWarning,
                stacklevel=5,
            )


def routes_further(estimator: Any) -> bool:
    """Whether an estimator, such as a pipeline, passes its arguments on by routing."""
    return hasattr(estimator, "get_metadata_routing") and isinstance(estimator.get_metadata_routing(), MetadataRouter)


def routed_metrics(metrics: Mapping[str, SearchMetric], score: Mapping[str, dict[str, Any]]) -> dict[str, SearchMetric]:
    """Return the metrics, each with the metadata that was routed to its scorer."""
    return {name: RoutedMetric(metric, score[name]) for name, metric in metrics.items()}
