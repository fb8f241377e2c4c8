"""Varied hyperparameters: the same estimator with another setting for each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from foldwise.ensembles.protocol import Diversity, MemberSpec, TrainingData
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class VariedParameters(Diversity):
    """Member i has the i-th setting of a list or grid; with `sampled`, a draw from lists and distributions."""

    space: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
    sampled: bool = False

    @property
    def random(self) -> bool:
        return self.sampled

    def n_members(self, data: TrainingData) -> int | None:
        return None if self.sampled else len(self._settings())

    def vary(self, specs: Sequence[MemberSpec], data: TrainingData) -> list[MemberSpec]:
        if self.sampled:
            return super().vary(specs, data)
        settings = self._settings()
        return [replace(spec, params={**spec.params, **settings[i % len(settings)]}) for i, spec in enumerate(specs)]

    def draw(self, spec: MemberSpec, data: TrainingData) -> MemberSpec:
        if not self.space:
            raise InputError(
                "there is no setting to draw.", "pass a mapping from parameters to lists or distributions."
            )
        (setting,) = ParameterSampler(self.space, 1, random_state=spec.random_state())
        return spec.drawn(params={**spec.params, **setting})

    def _settings(self) -> list[Mapping[str, Any]]:
        settings = list(ParameterGrid(self.space)) if isinstance(self.space, Mapping) else list(self.space)
        if not settings:
            raise InputError("the list of settings is empty.", "pass at least one setting, or a grid.")
        return settings
