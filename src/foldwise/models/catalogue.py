"""The catalog of models: those that come with Foldwise, those that users register, and any estimator by its path."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from sklearn.base import is_classifier, is_regressor

from foldwise.data.schema import listing
from foldwise.data.table import Table
from foldwise.data.target import Task
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.model_names import nearest_model
from foldwise.models.column_roles import Outline, outline
from foldwise.models.preprocessing import scaled
from foldwise.models.shipped import SHIPPED
from foldwise.models.spec import Answers, Cost, ModelSpec

_REGISTERED: dict[str, ModelSpec] = {}
PLURALS = {"number": "numbers", "category": "categories", "text": "text", "date": "dates"}


def catalogue() -> dict[str, ModelSpec]:
    """Return all models by name, including those whose library is not installed.

    Returns
    -------
    dict of str to ModelSpec
        The models that come with Foldwise, and those added by `register`.

    Examples
    --------
    >>> sorted(catalogue())[:3]
    ['adaboost', 'catboost', 'decision_tree']
    """
    return {**{spec.name: spec for spec in SHIPPED}, **_REGISTERED}


def register(spec: ModelSpec, *, replace: bool = False) -> ModelSpec:
    """Add a model to the catalog, so that it is trained like any other.

    Parameters
    ----------
    spec : ModelSpec
        The declaration of the model.
    replace : bool
        Whether to replace a model of the same name. The default, False, raises an error instead.

    Returns
    -------
    ModelSpec
        The same declaration.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from foldwise.models import Cost, ModelSpec, register, scaled, unregister
    >>> ridge = ModelSpec(
    ...     name="my_ridge", title="ridge classifier",
    ...     make=lambda outline, seed: RidgeClassifier(), prepare=scaled,
    ...     search=lambda outline: {"alpha": loguniform(1e-3, 1e3)},
    ...     cost=Cost(cell=1e-8), answers="decision", scales=True,
    ... )
    >>> register(ridge).name
    'my_ridge'
    >>> unregister("my_ridge")
    """
    if spec.name in catalogue() and not replace:
        raise InputError(f"a model called {spec.name!r} already exists.", "choose another name, or pass replace=True.")
    _REGISTERED[spec.name] = spec
    return spec


def unregister(name: str) -> None:
    """Remove a model that was added by `register`.

    Parameters
    ----------
    name : str
        Name of the model.

    Examples
    --------
    >>> from foldwise.models import catalogue, register, unregister
    >>> from dataclasses import replace
    >>> _ = register(replace(catalogue()["knn"], name="my_knn"))
    >>> unregister("my_knn")
    >>> "my_knn" in catalogue()
    False
    """
    if name not in _REGISTERED:
        raise InputError(
            f"no model called {name!r} was registered.", f"registered models: {listing(_REGISTERED) or 'none'}."
        )
    del _REGISTERED[name]


def spec_of(name: str | ModelSpec, about: Outline | None = None) -> ModelSpec:
    """Return the model of a name, or declare one for the import path of an estimator.

    Parameters
    ----------
    name : str or ModelSpec
        A name of the catalog, an import path such as "sklearn.ensemble.BaggingClassifier", or a declaration, which
        is returned as it is.
    about : Outline, optional
        The table to model. If there is no model of that name, the error suggests those that can be trained on it.

    Returns
    -------
    ModelSpec
        The declaration of the model.

    Examples
    --------
    >>> spec_of("sklearn.ensemble.BaggingClassifier").title
    'BaggingClassifier'
    """
    if isinstance(name, ModelSpec):
        return name
    if not isinstance(name, str):
        raise FoldwiseTypeError(
            f"models must be names or ModelSpecs, got {name!r}.",
            "pass a name such as 'logistic_regression', or an import path such as 'sklearn.naive_bayes.GaussianNB'.",
        )
    known = catalogue()
    if name in known:
        return known[name]
    if "." in name:
        return dotted(name)
    names = known if about is None else able_names(about)
    near = nearest_model(str(name), names)
    start = f"did you mean {near!r}? Choose among" if near else "choose among"
    raise InputError(
        f"there is no model called {name!r}.",
        f"{start} {', '.join(names)}, or pass the import path of an estimator, 'package.module.Class'.",
    )


def models_for(table: Table | Outline, names: Iterable[str | ModelSpec] | None = None) -> list[ModelSpec]:
    """Return the models that can be trained on a table, the fastest first.

    Parameters
    ----------
    table : Table or Outline
        The table, read with a target.
    names : list of str or ModelSpec, optional
        Choose among these models; an error is raised if one of them cannot be trained. The default, None, takes all
        models of the catalog that can.

    Returns
    -------
    list of ModelSpec
        The models, suited to the task of the table and sorted by the estimated time of one fit.

    Examples
    --------
    >>> from foldwise import read_table
    >>> table = read_table("examples/weather.csv", target="play")
    >>> [spec.name for spec in models_for(table, ["random_forest", "naive_bayes"])]
    ['naive_bayes', 'random_forest']
    """
    if not isinstance(table, Table | Outline):
        raise FoldwiseTypeError(
            f"table must be a Table, got {type(table).__name__}.", "pass read_table(path, target='column')."
        )
    about = outline(table) if isinstance(table, Table) else table
    if names is None:
        able = [spec.suited(about.task) for spec in catalogue().values() if spec.available and spec.takes(about)]
        found = [spec for spec in able if about.n_rows >= spec.least_rows] or able
    else:
        found = [spec_of(name, about).suited(about.task) for name in ([names] if isinstance(names, str) else names)]
        for spec in found:
            spec.require()
            if about.task not in spec.tasks:
                raise InputError(*wrong_task(spec, about))
            if not spec.takes(about):
                raise InputError(
                    f"the model {spec.name!r} needs a column of {usable_columns(spec)}, but the table has none.",
                    "choose other models.",
                )
    return sorted(found, key=lambda spec: spec.seconds(about))


def able_names(about: Outline) -> list[str]:
    """Return the names of the models that can be trained on a table."""
    return [one.name for one in catalogue().values() if one.available and one.takes(about)]


def wrong_task(spec: ModelSpec, about: Outline) -> tuple[str, str]:
    """Return the message and the hint for a model that does not serve the task of a table."""
    target = "is a quantity" if about.task == "regression" else "contains classes"
    other = "classes" if about.task == "regression" else "a quantity"
    hint = f"choose among {', '.join(able_names(about))}."
    return f"the target {target}, but the model {spec.name!r} predicts {other}.", hint


def usable_columns(spec: ModelSpec) -> str:
    """Describe the columns of which a model needs at least one.

    >>> usable_columns(spec_of("knn"))
    'numbers, categories or dates'
    """
    *others, last = (PLURALS[role] for role in spec.roles)
    kinds = f"{', '.join(others)} or {last}" if others else last
    return kinds if spec.takes_constants else f"{kinds} with at least two values"


def dotted(name: str) -> ModelSpec:
    """Declare any scikit-learn estimator. Columns are imputed, scaled and one-hot encoded, and nothing is searched."""
    module, _, kind = name.rpartition(".")
    try:
        found: Any = getattr(import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "check the spelling." if module else "pass 'package.module.Class'."
        raise InputError(f"estimator {name!r} cannot be imported: {error}.", hint) from error
    if not inspect.isclass(found) or not hasattr(found, "fit") or not hasattr(found, "predict"):
        raise InputError(f"{name!r} is not an estimator class with fit and predict.", "pass the path of an estimator.")
    try:
        blank = found()
    except TypeError as error:
        raise InputError(
            f"{name!r} cannot be created without arguments: {error}.", "register a ModelSpec that creates it."
        ) from error
    task: Task | None = "classification" if is_classifier(blank) else "regression" if is_regressor(blank) else None
    if task is None:
        raise InputError(f"{name!r} is not a classifier or regressor.", "pass the path of one.")
    answers: Answers = "probabilities" if hasattr(blank, "predict_proba") else "decision"

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
        answers=answers if task == "classification" else "values",
        scales=True,
        tasks=(task,),
    )
