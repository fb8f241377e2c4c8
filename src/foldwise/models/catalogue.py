"""The catalogue: every model by name, those that users register, and any estimator by its dotted name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from sklearn.base import is_classifier

from foldwise.data.schema import listing
from foldwise.data.table import Table
from foldwise.errors import InputError
from foldwise.models.column_roles import Outline, outline
from foldwise.models.families import SHIPPED
from foldwise.models.preprocessing import scaled
from foldwise.models.spec import Cost, ModelSpec

_REGISTERED: dict[str, ModelSpec] = {}


def catalogue() -> dict[str, ModelSpec]:
    """All models by name: those that come with Foldwise, installed or not, and those that were registered.

    Examples
    --------
    >>> sorted(catalogue())[:3]
    ['adaboost', 'catboost', 'decision_tree']
    """
    return {**{spec.name: spec for spec in SHIPPED}, **_REGISTERED}


def register(spec: ModelSpec, *, replace: bool = False) -> ModelSpec:
    """Add a model to the catalogue; from then on it is trained like any other.

    >>> from scipy.stats import loguniform
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from foldwise.models import Cost, ModelSpec, register, scaled, unregister
    >>> ridge = ModelSpec(
    ...     name="ridge", title="ridge classifier",
    ...     make=lambda outline, seed: RidgeClassifier(), prepare=scaled,
    ...     search=lambda outline: {"alpha": loguniform(1e-3, 1e3)},
    ...     cost=Cost(cell=1e-8), answers="decision", scales=True,
    ... )
    >>> register(ridge).name
    'ridge'
    >>> unregister("ridge")
    """
    if spec.name in catalogue() and not replace:
        raise InputError(f"there is a model {spec.name!r} already.", "choose another name, or pass replace=True.")
    _REGISTERED[spec.name] = spec
    return spec


def unregister(name: str) -> None:
    """Remove a model that `register` added."""
    if name not in _REGISTERED:
        raise InputError(f"no model {name!r} was registered.", f"there are {listing(_REGISTERED)}.")
    del _REGISTERED[name]


def spec_of(name: str | ModelSpec) -> ModelSpec:
    """Return the catalogue model of a name, or make one for an estimator's dotted name.

    >>> spec_of("sklearn.ensemble.BaggingClassifier").title
    'BaggingClassifier'
    """
    if isinstance(name, ModelSpec):
        return name
    known = catalogue()
    if name in known:
        return known[name]
    if "." in name:
        return dotted(name)
    raise InputError(
        f"there is no model {name!r}.",
        f"the models are {', '.join(known)}; pass any other classifier by its dotted name: 'package.module.Class'.",
    )


def models_for(table: Table | Outline, names: Iterable[str | ModelSpec] | None = None) -> list[ModelSpec]:
    """Return the models that can be trained on a table, the cheapest first; all models named must be possible.

    Examples
    --------
    >>> from foldwise import read_table
    >>> table = read_table("examples/weather.csv", target="play")
    >>> [spec.name for spec in models_for(table, ["random_forest", "naive_bayes"])]
    ['naive_bayes', 'random_forest']
    """
    about = outline(table) if isinstance(table, Table) else table
    if names is None:
        found = [spec for spec in catalogue().values() if spec.available and spec.takes(about)]
    else:
        found = [spec_of(name) for name in ([names] if isinstance(names, str) else names)]
        for spec in found:
            spec.require()
            if not spec.takes(about):
                raise InputError(
                    f"{spec.title} takes columns of {' or '.join(spec.roles)}, and this table has none.",
                    "choose other models.",
                )
    return sorted(found, key=lambda spec: spec.seconds(about))


def dotted(name: str) -> ModelSpec:
    """Declare any scikit-learn classifier: columns are imputed, scaled and one-hot encoded; nothing is searched."""
    module, _, kind = name.rpartition(".")
    try:
        found: Any = getattr(import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"there is no estimator {name!r}: {error}.", "pass package.module.Class.") from error
    if not inspect.isclass(found) or not hasattr(found, "fit") or not hasattr(found, "predict"):
        raise InputError(f"{name!r} is not an estimator: it has no fit and predict.", "pass the name of a class.")
    try:
        blank = found()
    except TypeError as error:
        raise InputError(
            f"{name!r} cannot be created without arguments: {error}.", "register a ModelSpec that makes it."
        ) from error
    if not is_classifier(blank):
        raise InputError(f"{name!r} is not a classifier.", "pass the name of a classifier.")

    def make(outline: Outline, seed: int) -> Any:
        model: Any = found()
        return model.set_params(random_state=seed) if "random_state" in model.get_params(deep=False) else model

    return ModelSpec(
        name=name,
        title=kind,
        make=make,
        prepare=scaled,
        search=lambda outline: {},
        cost=Cost(cell=1e-5, start=0.1),
        answers="probabilities" if hasattr(blank, "predict_proba") else "decision",
        scales=True,
    )
