"""Checks the parameters of an ensemble, and draws the specs of its members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from foldwise.data.arguments import check_jobs, shown
from foldwise.ensembles.blocks import ChainedDiversity, Combiner, Dependency, Diversity, EnsembleSize
from foldwise.ensembles.combiners import COMBINERS
from foldwise.ensembles.dependency import DEPENDENCIES
from foldwise.ensembles.diversity import DIVERSITIES
from foldwise.ensembles.members import MOST_SEED, random_names, seeds_for
from foldwise.ensembles.protocol import MemberSpec, TrainingData
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
        """Whether members differ only in their parameters, so that their own fold sessions can predict."""
        return self.dependency.parallel and (self.diversity is None or not self.diversity.random)

    def wants_proba(self) -> bool:
        """Whether members predict probabilities instead of labels."""
        if self.combiner.needs == "any":
            return all(hasattr(one, "predict_proba") for one in self.estimators)
        return self.combiner.needs == "proba"


def check_config(ensemble: Any, regression: bool) -> EnsembleConfig:
    """The config of an ensemble; raises if its parameters are invalid or do not match."""
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
    """The estimators by name; those of a list are named after their type, as in `make_pipeline`."""
    if members is None or (isinstance(members, Mapping | Sequence) and not isinstance(members, str) and not members):
        raise InputError("members must not be empty.", "pass an estimator, or a list or dict of estimators.")
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
    """Raise if the name of a member is not a valid name of a parameter."""
    for name in named:
        if name in taken or "__" in name:
            what = "is a parameter of the ensemble" if name in taken else "contains two underscores"
            raise InputError(f"{name!r} cannot be the name of a member, because it {what}.", "use another name.")


def block(name: str, value: Any, words: Mapping[str, type], kind: type) -> Any:
    """A block, from its name or as it is."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and value in words:
        return words[value]()
    raise InputError(
        f"{name} must be one of {', '.join(map(repr, words))}, or an instance of {kind.__name__}, got {value!r}.",
        f"the instances are in foldwise.ensembles; a subclass of {kind.__name__} works too.",
    )


def diversity_of(value: Any) -> Diversity | None:
    """None, one diversity, or several in a chain."""
    if isinstance(value, list | tuple):
        return ChainedDiversity([block("diversity", one, DIVERSITIES, Diversity) for one in value])
    return None if value is None else block("diversity", value, DIVERSITIES, Diversity)


def seed_of(random_state: Any, wanted: bool) -> int | None:
    """The seed of one fit; None if nothing is random, or if members keep their own seeds."""
    if random_state is None:
        return int(np.random.mtrand._rand.randint(MOST_SEED)) if wanted else None
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(MOST_SEED))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(MOST_SEED))
    raise FoldwiseTypeError(f"random_state must be None, an integer, or a generator, got {random_state!r}.")


def check_members(config: EnsembleConfig, regression: bool) -> None:
    """Raise if a member is not a classifier or regressor as needed, or has no probabilities."""
    for name, one in zip(config.names, config.estimators, strict=True):
        if isinstance(one, type) or not hasattr(one, "fit") or not hasattr(one, "get_params"):
            raise FoldwiseTypeError(f"members must be estimators, got {shown(one)}.", "pass instances, not classes.")
        if not (is_regressor(one) if regression else is_classifier(one)):
            kind = "regressor" if regression else "classifier"
            other = "Ensemble" if regression else "EnsembleRegressor"
            raise InputError(f"the member {name!r} must be a {kind}, got {one!r}.", f"use {other} instead.")
        if not regression and config.combiner.needs == "proba" and not hasattr(one, "predict_proba"):
            raise InputError(
                f"the combiner {type(config.combiner).__name__} needs predict_proba, but the member {name!r} has none.",
                "use combiner='vote', or wrap the member in Calibrated.",
            )


def check_together(config: EnsembleConfig, regression: bool) -> None:
    """Raise if the blocks do not match."""
    combiner, allowed = type(config.combiner).__name__, config.dependency.combiners
    if allowed is not None and combiner not in allowed:
        names = [repr(name) for name, one in COMBINERS.items() if one.__name__ in allowed]
        raise InputError(
            f"{type(config.dependency).__name__} cannot be used with the combiner {combiner}.",
            f"use combiner={' or '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}.",
        )
    if config.size.chooses and not config.dependency.parallel:
        raise InputError(
            f"{type(config.size).__name__} needs independent members, but those of {type(config.dependency).__name__} "
            "depend on each other.",
            "use dependency='independent', or EarlyStopping.",
        )
    if regression and combiner in ("Vote", "LogMean"):
        raise InputError(f"{combiner} combines classes, but y is numeric.", "use combiner='mean' or 'median'.")
    if not regression and combiner == "Sum":
        raise InputError("Sum adds numeric predictions, but y has classes.", "use combiner='mean' or 'vote'.")


def draw_specs(config: EnsembleConfig, data: TrainingData) -> list[MemberSpec]:
    """The specs of all members; all random numbers are drawn here, before any member is fitted."""
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
    """The default number of members."""
    wanted = None if config.diversity is None else config.diversity.n_members(data)
    return (wanted or DEFAULT_SIZE) if config.copies else max(len(config.names), wanted or 0)


def seeded(spec: MemberSpec, names: Sequence[str]) -> MemberSpec:
    """The spec with seeds for the random parameters of its estimator."""
    names = [name for name in names if name not in spec.params]
    return replace(spec, params={**spec.params, **seeds_for(names, spec.seed)}) if names else spec
