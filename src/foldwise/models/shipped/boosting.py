"""Boosted trees: AdaBoost, gradient boosting with and without histograms; LightGBM, XGBoost and CatBoost as extras.

All have a fixed learning rate and no early stopping, so that a model contains all models with fewer trees.

The L2 penalty of the leaves is 1, XGBoost's default. Without one, a rare class can push predictions far off: the log
loss on poker_hand was 2.2 for histogram gradient boosting and 1.2 for LightGBM, and is 0.73 for both with it.
"""

from __future__ import annotations

from typing import Any

from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from foldwise.models.coded_labels import CodedLabels
from foldwise.models.column_roles import Outline
from foldwise.models.column_transformers import CategoricalFrame
from foldwise.models.preprocessing import for_trees, native
from foldwise.models.spec import BOTH, Cost, ModelSpec

EXTRA = "boosters"
MANY_CLASSES = 5
LEAST_ROWS = 50  # boosted trees fit fewer rows perfectly, whatever their labels
FEW_ROWS = 100  # with fewer, each further setting is one more that may look good by chance
MANY_ROWS = 5_000  # from here on, 127 leaves were clearly better than 31 on four of nine tables; below, on none of five


def categories(outline: Outline) -> list[int]:
    """Return the columns in which `native` puts the codes of categories."""
    return list(range(len(outline.columns("category"))))


def coded(outline: Outline, kind: str) -> Any:
    """Prepare columns like `native`, and mark categories by their type."""
    return make_pipeline(native(outline), CategoricalFrame(len(categories(outline)), kind=kind))


def make_ada(outline: Outline, seed: int) -> AdaBoostClassifier:
    small = DecisionTreeClassifier(max_depth=2, random_state=seed)  # AdaBoost replaces this seed
    return AdaBoostClassifier(small, n_estimators=100, learning_rate=0.5, random_state=seed)


def make_textbook(outline: Outline, seed: int) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(learning_rate=0.1, n_estimators=100, max_depth=4, random_state=seed)


def make_histograms(outline: Outline, seed: int) -> Any:
    kind = HistGradientBoostingRegressor if outline.task == "regression" else HistGradientBoostingClassifier
    return kind(
        learning_rate=0.1,
        max_iter=100,
        l2_regularization=1.0,
        early_stopping=False,
        categorical_features=categories(outline) or None,
        random_state=seed,
    )


def make_lightgbm(outline: Outline, seed: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if outline.task == "regression" else LGBMClassifier
    return kind(
        learning_rate=0.1,
        n_estimators=100,
        reg_lambda=1.0,
        min_child_weight=0.1,
        deterministic=True,
        force_row_wise=True,
        n_jobs=1,
        verbosity=-1,
        random_state=seed,
    )


def make_xgboost(outline: Outline, seed: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBRegressor if outline.task == "regression" else XGBClassifier
    booster = kind(learning_rate=0.1, n_estimators=100, tree_method="hist", n_jobs=1, random_state=seed)
    return booster if outline.task == "regression" else CodedLabels(booster)


def make_catboost(outline: Outline, seed: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostRegressor if outline.task == "regression" else CatBoostClassifier
    booster = kind(
        learning_rate=0.1,
        n_estimators=100,
        cat_features=tuple(categories(outline)),  # CatBoost copies a list, which clone() refuses
        one_hot_max_size=10,
        boosting_type="Plain",
        thread_count=1,
        allow_writing_files=False,
        verbose=False,
        random_state=seed,
    )
    return booster if outline.task == "regression" else CodedLabels(booster)


def rates_and_rounds(size: str) -> dict[str, Any]:
    return {"learning_rate": loguniform(0.02, 0.3), size: randint(20, 401)}


def leafwise(size: str, leaves: str, least: str, penalty: str, columns: str) -> dict[str, Any]:
    """Return the search space of trees that grow leaf by leaf, with the parameter names of a library."""
    return {
        **rates_and_rounds(size),
        leaves: [4, 8, 16, 31, 64, 128],
        least: [2, 5, 10, 20, 50],
        penalty: loguniform(1e-6, 10.0),
        columns: uniform(0.3, 0.7),
    }


def quick(outline: Outline, size: str, inner: str = "") -> dict[str, Any]:
    """Fewer trees at three times the learning rate: a third, or a sixth if every tree is one for each of many classes.

    With a third, LightGBM's log loss rises by 0.003 (median of 14 tables).
    """
    return {f"{inner}learning_rate": 0.3, f"{inner}{size}": 16 if outline.n_classes > MANY_CLASSES else 33}


def tree_sizes(outline: Outline, name: str, small: int, large: int) -> list[dict[str, Any]]:
    """The other size of trees that is worth a try: larger ones if there are rows enough to fill them."""
    if outline.n_rows < FEW_ROWS:
        return []
    return [{name: large if outline.n_rows >= MANY_ROWS else small}]


def inside(outline: Outline, **space: Any) -> dict[str, Any]:
    """Return the search space of a booster, which is wrapped in `CodedLabels` if it predicts classes."""
    inner = "" if outline.task == "regression" else "estimator__"
    return {f"{inner}{name}": values for name, values in {**rates_and_rounds("n_estimators"), **space}.items()}


REGRESSOR = {"transform": "none", "stages": "model__regressor__n_estimators"}
UNWRAPPED = {**REGRESSOR, "quick": lambda outline: quick(outline, "n_estimators")}  # not in `CodedLabels`
SPECS = (
    ModelSpec(
        name="gradient_boosting",
        title="gradient boosting",
        make=make_textbook,
        prepare=for_trees,
        search=lambda outline: {
            **rates_and_rounds("n_estimators"),
            "max_depth": [2, 3, 4, 6, 8],
            "min_samples_leaf": [1, 3, 5, 10, 20],
            "subsample": [0.5, 0.7, 1.0],
            "max_features": uniform(0.3, 0.7),
        },
        cost=Cost(cell=4e-6, power=1.1, start=0.1, column=1e-3),
        answers="values",
        transform="none",
        stages="model__regressor__n_estimators",
        quick=lambda outline: quick(outline, "n_estimators"),
        least_rows=LEAST_ROWS,
        tasks=("regression",),
    ),
    ModelSpec(
        name="adaboost",
        title="AdaBoost of small trees",
        make=make_ada,
        prepare=for_trees,
        search=lambda outline: {
            "n_estimators": randint(10, 301),
            "learning_rate": loguniform(0.03, 2.0),
            "estimator__max_depth": [1, 2, 3, 4],
        },
        cost=Cost(cell=3.5e-6, start=0.15, column=1e-3),
        stages="model__n_estimators",
        least_rows=LEAST_ROWS,
        takes_constants=False,
    ),
    ModelSpec(
        name="hist_gradient_boosting",
        title="histogram gradient boosting",
        make=make_histograms,
        prepare=native,
        search=lambda outline: leafwise(
            "max_iter", "max_leaf_nodes", "min_samples_leaf", "l2_regularization", "max_features"
        ),
        cost=Cost(cell=1e-6, start=0.15, each_class=True, column=3e-3),
        general="boosting",
        stages="model__max_iter",
        least_rows=LEAST_ROWS,
        quick=lambda outline: quick(outline, "max_iter"),
        variants=lambda outline: tree_sizes(outline, "max_leaf_nodes", 8, 128),
        tasks=BOTH,
        regression={"transform": "none", "stages": "model__regressor__max_iter"},
    ),
    ModelSpec(
        name="lightgbm",
        title="LightGBM",
        make=make_lightgbm,
        prepare=lambda outline: coded(outline, "category"),
        search=lambda outline: leafwise(
            "n_estimators", "num_leaves", "min_child_samples", "reg_lambda", "colsample_bytree"
        ),
        cost=Cost(cell=5e-7, start=0.06, each_class=True),
        general="boosting",
        stages="model__n_estimators",
        least_rows=LEAST_ROWS,
        quick=lambda outline: quick(outline, "n_estimators"),
        variants=lambda outline: tree_sizes(outline, "num_leaves", 8, 128),
        tasks=BOTH,
        regression=REGRESSOR,
        module="lightgbm",
        extra=EXTRA,
    ),
    ModelSpec(
        name="xgboost",
        title="XGBoost",
        make=make_xgboost,
        prepare=lambda outline: for_trees(outline, impute=False),
        search=lambda outline: inside(
            outline,
            max_depth=randint(2, 11),
            min_child_weight=loguniform(0.1, 20.0),
            reg_lambda=loguniform(1e-3, 10.0),
            subsample=uniform(0.5, 0.5),
            colsample_bytree=uniform(0.3, 0.7),
        ),
        cost=Cost(cell=5e-7, start=0.06, each_class=True),
        stages="model__estimator__n_estimators",
        least_rows=LEAST_ROWS,
        quick=lambda outline: quick(outline, "n_estimators", "estimator__"),
        variants=lambda outline: tree_sizes(outline, "estimator__max_depth", 3, 10),
        tasks=BOTH,
        regression={**UNWRAPPED, "variants": lambda outline: tree_sizes(outline, "max_depth", 3, 10)},
        module="xgboost",
        extra=EXTRA,
    ),
    ModelSpec(
        name="catboost",
        title="CatBoost",
        make=make_catboost,
        prepare=lambda outline: coded(outline, "integer"),
        search=lambda outline: inside(
            outline, depth=randint(2, 9), l2_leaf_reg=loguniform(0.5, 20.0), random_strength=loguniform(0.1, 5.0)
        ),
        cost=Cost(cell=1.1e-6, start=0.08, each_class=True, column=3e-3),
        stages="model__estimator__n_estimators",
        least_rows=LEAST_ROWS,
        quick=lambda outline: quick(outline, "n_estimators", "estimator__"),
        takes_constants=False,
        tasks=BOTH,
        regression=UNWRAPPED,
        module="catboost",
        extra=EXTRA,
    ),
)
