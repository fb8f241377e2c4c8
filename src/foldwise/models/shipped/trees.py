"""Decision tree and forests. They compare values with thresholds, so columns need no scaling."""

from __future__ import annotations

from typing import Any, Literal

from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from foldwise.models.column_roles import Outline
from foldwise.models.preprocessing import for_trees
from foldwise.models.spec import BOTH, Cost, ModelSpec

MANY_ROWS = 20_000  # with more, 50 trees take too long for a short run: 2 s for 30,000 rows


def criteria(outline: Outline) -> dict[str, Any]:
    """Return the criteria of impurity that are worth a search; absolute errors would take far longer."""
    return {} if outline.task == "regression" else {"criterion": ["gini", "entropy"]}


def forest(
    name: str, title: str, kind: Any, regressor: Any, cell: float, general: Literal["", "forest"] = ""
) -> ModelSpec:
    """Declare a forest of 200 trees; `cell` is that of its cost.

    A forest for a quantity starts with a third of the columns at each node, and then tries all of them.
    """

    def make(outline: Outline, seed: int) -> Any:
        if outline.task == "regression":
            return regressor(n_estimators=200, min_samples_leaf=2, max_features=1 / 3, random_state=seed)
        return kind(n_estimators=200, min_samples_leaf=2, random_state=seed)

    return ModelSpec(
        name=name,
        title=title,
        make=make,
        prepare=for_trees,
        search=lambda outline: {
            "max_features": uniform(0.05, 0.9),
            "min_samples_leaf": [1, 2, 3, 5, 10, 20],
            **criteria(outline),
            "max_depth": [None, None, 6, 12],
        },
        cost=Cost(cell=cell, power=1.1, start=0.2, width_power=0.5),
        stages="model__n_estimators",
        quick=lambda outline: {"n_estimators": 50 if outline.n_rows < MANY_ROWS else 25},
        general=general,
        large_files=True,
        tasks=BOTH,
        regression={"variants": lambda outline: [{"max_features": 1.0}]},
    )


def make_tree(outline: Outline, seed: int) -> Any:
    if outline.target is None:
        return DecisionTreeClassifier(ccp_alpha=1e-3, min_samples_leaf=3, random_state=seed)
    variance = outline.target.spread**2  # the penalty of a leaf is in units of the squared error
    return DecisionTreeRegressor(ccp_alpha=1e-3 * variance, min_samples_leaf=5, random_state=seed)


def search_tree(outline: Outline) -> dict[str, Any]:
    unit = 1.0 if outline.target is None else outline.target.spread**2
    return {
        "ccp_alpha": loguniform(1e-5 * unit, 0.05 * unit),
        **criteria(outline),
        "min_samples_leaf": randint(1, 21),
        "max_depth": [None, 3, 5, 8, 12],
    }


SPECS = (
    ModelSpec(
        name="decision_tree",
        title="decision tree",
        make=make_tree,
        prepare=for_trees,
        search=search_tree,
        shares=("ccp_alpha",),
        cost=Cost(cell=1e-7, power=1.1),
        tasks=BOTH,
    ),
    forest("random_forest", "random forest", RandomForestClassifier, RandomForestRegressor, 3.5e-5, general="forest"),
    forest("extra_trees", "extremely randomized trees", ExtraTreesClassifier, ExtraTreesRegressor, 2.5e-5),
)
