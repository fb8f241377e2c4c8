"""An ensemble's parameters, checked: the estimators and the four blocks; and the member specs drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from foldwise.data.arguments import check_jobs
from foldwise.ensembles.combiners import COMBINERS
from foldwise.ensembles.dependency import DEPENDENCIES
from foldwise.ensembles.diversity import DIVERSITIES
from foldwise.ensembles.members import MOST_SEED, random_names, seeds_for
from foldwise.ensembles.protocol import (
    ChainedDiversity,
    Combiner,
    Dependency,
    Diversity,
    EnsembleSize,
    MemberSpec,
    TrainingData,
)
from foldwise.ensembles.sizes import FixedSize
from foldwise.errors import FoldwiseTypeError, InputError

DEFAULT_SIZE = 10


@dataclass(frozen=True)
class EnsembleConfig:
    """The checked parameters of an ensemble."""

    names: tuple[str, ...]
    estimators: tuple[Any, ...]
    copies: bool  # whether all members are copies of one estimator
    diversity: Diversity | None
    dependency: Dependency
    size: EnsembleSize
    combiner: Combiner
    seed: int | None
    n_jobs: int | None

    @property
    def plain(self) -> bool:
        """Whether members differ in their parameters only: then their own fold sessions answer for them."""
        return self.dependency.parallel and (self.diversity is None or not self.diversity.random)

    def wants_proba(self) -> bool:
        """Whether members are asked for probabilities."""
        if self.combiner.needs == "any":
            return all(hasattr(one, "predict_proba") for one in self.estimators)
        return self.combiner.needs == "proba"


def check_config(ensemble: Any, regression: bool) -> EnsembleConfig:
    """The config of an ensemble; raises where its parameters do not fit together."""
    check_jobs(ensemble.n_jobs)
    named = named_members(ensemble.members)
    check_names(named, ensemble.get_params(deep=False))
    size = ensemble.size if isinstance(ensemble.size, EnsembleSize) else FixedSize(ensemble.size)
    diversity = diversity_of(ensemble.diversity)
    dependency = block("dependency", ensemble.dependency, DEPENDENCIES, Dependency)
    combiner = block("combiner", ensemble.combiner, COMBINERS, Combiner)
    copies = not isinstance(ensemble.members, Mapping | Sequence)
    seed = seed_of(ensemble.random_state, copies or diversity is not None)
    blocks = (diversity, dependency, size, combiner)
    config = EnsembleConfig(tuple(named), tuple(named.values()), copies, *blocks, seed, ensemble.n_jobs)
    check_members(config, regression)
    check_together(config, regression)
    return config


def named_members(members: Any) -> dict[str, Any]:
    """The estimators by name; those of a list are called by their type, as in `make_pipeline`."""
    if members is None or (isinstance(members, Mapping | Sequence) and not isinstance(members, str) and not members):
        raise InputError("an ensemble needs members.", "pass an estimator, or a list or dict of several.")
    if isinstance(members, Mapping):
        return {str(name): one for name, one in members.items()}
    if not isinstance(members, Sequence) or isinstance(members, str):
        return {type(members).__name__.lower(): members}
    kinds = [type(one).__name__.lower() for one in members]
    numbers = [kinds[: i + 1].count(kind) for i, kind in enumerate(kinds)]
    return {
        kind if kinds.count(kind) == 1 else f"{kind}-{number}": one
        for kind, number, one in zip(kinds, numbers, members, strict=True)
    }


def check_names(named: Mapping[str, Any], taken: Mapping[str, Any]) -> None:
    """A member's name is one of the ensemble's parameters, so it must be no other's."""
    for name in named:
        if name in taken or "__" in name:
            what = "is a parameter of the ensemble" if name in taken else "has two underscores, which part names"
            raise InputError(f"a member cannot be called {name!r}: the name {what}.", "call it something else.")


def block(name: str, value: Any, words: Mapping[str, type], kind: type) -> Any:
    """A block, from its word or as it is."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in words:
        return words[value]()
    raise InputError(
        f"{name} must be one of {', '.join(map(repr, words))}, or a {kind.__name__}, got {value!r}.",
        f"import one from foldwise.ensembles, or subclass {kind.__name__}.",
    )


def diversity_of(value: Any) -> Diversity | None:
    """None, one diversity, or several together."""
    if isinstance(value, list | tuple):
        return ChainedDiversity([block("diversity", one, DIVERSITIES, Diversity) for one in value])
    return None if value is None else block("diversity", value, DIVERSITIES, Diversity)


def seed_of(random_state: Any, wanted: bool) -> int | None:
    """A whole number that stands for the randomness of one fit; None where there is none to be had or wanted."""
    if random_state is None:
        return int(np.random.mtrand._rand.randint(MOST_SEED)) if wanted else None
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MOST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(MOST_SEED))
    raise FoldwiseTypeError(f"random_state must be None, a whole number or a Generator, got {random_state!r}.")


def check_members(config: EnsembleConfig, regression: bool) -> None:
    """Each must be an estimator of the right kind, with probabilities where the combiner reads them."""
    for name, one in zip(config.names, config.estimators, strict=True):
        if isinstance(one, type) or not hasattr(one, "fit") or not hasattr(one, "get_params"):
            raise FoldwiseTypeError(f"the member {name!r} must be an estimator, got {one!r}.", "pass an instance.")
        if not (is_regressor(one) if regression else is_classifier(one)):
            kind = "regressor" if regression else "classifier"
            other = "Ensemble" if regression else "EnsembleRegressor"
            raise InputError(f"the member {name!r} must be a {kind}, got {one!r}.", f"use {other} for other members.")
        if not regression and config.combiner.needs == "proba" and not hasattr(one, "predict_proba"):
            raise InputError(
                f"the combiner {type(config.combiner).__name__} reads probabilities, but the member {name!r} has none.",
                "take combiner='vote', which needs labels only, or wrap the member, as in CalibratedClassifierCV.",
            )


def check_together(config: EnsembleConfig, regression: bool) -> None:
    """Whether the blocks fit each other."""
    combiner, allowed = type(config.combiner).__name__, config.dependency.combiners
    if allowed is not None and combiner not in allowed:
        raise InputError(
            f"{type(config.dependency).__name__} gives its members weights that {combiner} does not know.",
            f"take the combiner {' or '.join(allowed)}.",
        )
    if config.size.chooses and not config.dependency.parallel:
        raise InputError(
            f"{type(config.size).__name__} chooses among independent members, but these depend on each other.",
            "take dependency='independent', or stop them during training with EarlyStopping.",
        )
    if regression and combiner in ("Vote", "LogMean"):
        raise InputError(f"{combiner} combines classes, not numbers.", "take combiner='mean' or 'median'.")
    if not regression and combiner == "Sum":
        raise InputError("Sum adds numbers, not classes.", "take combiner='mean' or 'vote'.")


def draw_specs(config: EnsembleConfig, data: TrainingData) -> list[MemberSpec]:
    """What each member learns from; all random numbers are drawn here, before any member is fitted."""
    n = config.size.max_members(default_size(config, data))
    rng = None if config.seed is None else np.random.RandomState(config.seed)
    specs = []
    for i in range(n):
        at = i % len(config.names)
        name = config.names[at] if n == len(config.names) else f"{config.names[at]}-{i + 1}"
        seed = None if rng is None else int(rng.randint(MOST_SEED))
        specs.append(MemberSpec(name, config.estimators[at], seed))
    if config.diversity is not None:
        specs = config.diversity.vary(specs, data)
    if rng is None:
        return specs
    names = {id(one): random_names(one, config.copies) for one in config.estimators}
    return [seeded(spec, names[id(spec.estimator)]) for spec in specs]


def default_size(config: EnsembleConfig, data: TrainingData) -> int:
    """How many members there are by default."""
    wanted = None if config.diversity is None else config.diversity.n_members(data)
    return (wanted or DEFAULT_SIZE) if config.copies else max(len(config.names), wanted or 0)


def seeded(spec: MemberSpec, names: Sequence[str]) -> MemberSpec:
    """The spec with a seed for whatever is random in its estimator."""
    names = [name for name in names if name not in spec.params]
    return replace(spec, params={**spec.params, **seeds_for(names, spec.seed)}) if names else spec
