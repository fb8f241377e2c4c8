"""Baselines for a quantity: the mean or the median of the training rows, whatever the columns contain."""

from __future__ import annotations

from functools import partial

from sklearn.dummy import DummyRegressor

from foldwise.models.preprocessing import native
from foldwise.models.spec import Cost, ModelSpec

baseline = partial(
    ModelSpec,
    prepare=native,
    search=lambda outline: {},
    cost=Cost(cell=1e-9, start=0.001),
    answers="values",
    tasks=("regression",),
)
SPECS = (
    baseline(
        name="mean",
        title="baseline (mean)",
        make=lambda outline, seed: DummyRegressor(strategy="mean"),
        notes={"predicts": "the mean has the lowest squared error among constants"},
    ),
    baseline(
        name="median",
        title="baseline (median)",
        make=lambda outline, seed: DummyRegressor(strategy="median"),
        notes={"predicts": "the median has the lowest absolute error among constants"},
    ),
)
