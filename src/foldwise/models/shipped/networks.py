"""The perceptron for classes, and the multilayer perceptron for classes and quantities."""

from __future__ import annotations

from typing import Any

from scipy.stats import loguniform
from sklearn.linear_model import Perceptron
from sklearn.neural_network import MLPClassifier, MLPRegressor

from foldwise.models.column_roles import Outline
from foldwise.models.preprocessing import scaled
from foldwise.models.spec import BOTH, Cost, ModelSpec

MOST_WORDS = 2_000  # each word has a weight per hidden unit

SPACE = {
    "hidden_layer_sizes": [(16,), (32,), (64,), (128,), (64, 32)],
    "alpha": loguniform(1e-6, 1.0),
    "learning_rate_init": loguniform(3e-4, 1e-2),
    "activation": ["relu", "tanh"],
}


def make_network(outline: Outline, seed: int) -> Any:
    """Create the network. Gradient steps have no unit, so the target of a regression is standardized."""
    if outline.task == "regression":
        return MLPRegressor(hidden_layer_sizes=(64,), alpha=1e-2, random_state=seed)
    # no early stopping: it needs a validation row of each class, but a class may have a single row
    return MLPClassifier(hidden_layer_sizes=(64,), alpha=1e-2, random_state=seed)


SPECS = (
    ModelSpec(
        name="perceptron",
        title="perceptron",
        make=lambda outline, seed: Perceptron(random_state=seed),
        prepare=scaled,
        search=lambda outline: {"penalty": [None, "l2", "l1", "elasticnet"], "alpha": loguniform(1e-6, 1e-2)},
        cost=Cost(cell=2e-7, each_class=True),
        answers="decision",
        scales=True,
        selects=True,
    ),
    ModelSpec(
        name="mlp",
        title="neural network",
        make=make_network,
        prepare=lambda outline: scaled(outline, n_words=MOST_WORDS),
        search=lambda outline: SPACE,
        cost=Cost(cell=1.4e-5, start=0.2),
        scales=True,
        tasks=BOTH,
        regression={"transform": "scale"},
    ),
)
