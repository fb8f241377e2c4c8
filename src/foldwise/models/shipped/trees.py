"""Decision tree and forests. They compare values with thresholds, so columns need no scaling."""

from __future__ import annotations

from typing import Any, Literal

from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from foldwise.models.preprocessing import for_trees
from foldwise.models.spec import Cost, ModelSpec

MANY_ROWS = 20_000  # with more, 50 trees take too long for a short run: 2 s for 30,000 rows


def forest(name: str, title: str, kind: Any, cell: float, general: Literal["", "forest"] = "") -> ModelSpec:
    """Declare a forest of 200 trees; `cell` is that of its cost."""
    return ModelSpec(
        name=name,
        title=title,
        make=lambda outline, seed: kind(n_estimators=200, min_samples_leaf=2, random_state=seed),
        prepare=for_trees,
        search=lambda outline: {
            "max_features": uniform(0.05, 0.9),
            "min_samples_leaf": [1, 2, 3, 5, 10, 20],
            "criterion": ["gini", "entropy"],
            "max_depth": [None, None, 6, 12],
        },
        cost=Cost(cell=cell, power=1.1, start=0.2, width_power=0.5),
        stages="model__n_estimators",
        quick=lambda outline: {"n_estimators": 50 if outline.n_rows < MANY_ROWS else 25},
        general=general,
        large_files=True,
    )


SPECS = (
    ModelSpec(
        name="decision_tree",
        title="decision tree",
        make=lambda outline, seed: DecisionTreeClassifier(ccp_alpha=1e-3, min_samples_leaf=3, random_state=seed),
        prepare=for_trees,
        search=lambda outline: {
            "ccp_alpha": loguniform(1e-5, 0.05),
            "criterion": ["gini", "entropy"],
            "min_samples_leaf": randint(1, 21),
            "max_depth": [None, 3, 5, 8, 12],
        },
        shares=("ccp_alpha",),
        cost=Cost(cell=1e-7, power=1.1),
    ),
    forest("random_forest", "random forest", RandomForestClassifier, 3.5e-5, general="forest"),
    forest("extra_trees", "extremely randomized trees", ExtraTreesClassifier, 2.5e-5),
)
