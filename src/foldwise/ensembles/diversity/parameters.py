"""Varied hyperparameters: the same estimator with a different setting for each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from foldwise.ensembles.blocks import Diversity
from foldwise.ensembles.protocol import MemberSpec, TrainingData
from foldwise.errors import InputError


@dataclass(repr=False, eq=False)
class VariedParameters(Diversity):
    """Give each member its own setting, from a list or grid, or drawn at random.

    Parameters
    ----------
    space : dict or sequence of dict
        A grid from parameter names to values, or a list of settings. Member i gets setting i.
    sampled : bool, default=False
        Whether settings are drawn at random instead; values may then be distributions, as in `RandomizedSearchCV`.

    Examples
    --------
    >>> from foldwise import KNNClassifier
    >>> from foldwise.ensembles import Ensemble, VariedParameters
    >>> model = Ensemble(KNNClassifier(), diversity=VariedParameters({"n_neighbors": [1, 5, 25]}), combiner="vote")
    """

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
                "space is empty, so no setting can be drawn.", "pass a dict from parameters to lists or distributions."
            )
        (setting,) = ParameterSampler(self.space, 1, random_state=spec.random_state())
        return spec.drawn(params={**spec.params, **setting})

    def _settings(self) -> list[Mapping[str, Any]]:
        settings = list(ParameterGrid(self.space)) if isinstance(self.space, Mapping) else list(self.space)
        if not settings:
            raise InputError("space is empty.", "pass a list of settings, or a grid.")
        return settings
