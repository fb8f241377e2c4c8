"""The models that come with Foldwise, a few per file: declarations only."""

from __future__ import annotations

from foldwise.models.families import bayes_and_neighbors, boosting, linear, networks, rules, trees
from foldwise.models.spec import ModelSpec

SHIPPED: tuple[ModelSpec, ...] = (
    *bayes_and_neighbors.SPECS,
    *trees.SPECS,
    *rules.SPECS,
    *linear.SPECS,
    *networks.SPECS,
    *boosting.SPECS,
)
