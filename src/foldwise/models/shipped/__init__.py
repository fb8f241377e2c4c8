"""The models that come with Foldwise, a few per file: declarations only."""

from __future__ import annotations

from foldwise.models.shipped import baselines, boosting, foldwise_models, linear, networks, trees
from foldwise.models.spec import ModelSpec

SHIPPED: tuple[ModelSpec, ...] = (
    *baselines.SPECS,
    *foldwise_models.SPECS,
    *trees.SPECS,
    *linear.SPECS,
    *networks.SPECS,
    *boosting.SPECS,
)
