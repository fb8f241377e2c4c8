"""The families that come with Foldwise, a few to a file: declarations only."""

from __future__ import annotations

from foldwise.models.families import boosting, linear, networks, ours, rules, trees
from foldwise.models.spec import ModelSpec

SHIPPED: tuple[ModelSpec, ...] = (
    *ours.SPECS,
    *trees.SPECS,
    *rules.SPECS,
    *linear.SPECS,
    *networks.SPECS,
    *boosting.SPECS,
)
