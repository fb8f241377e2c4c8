"""What the schedule knows about a model before the search, and the settings that it draws for it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from foldwise.app.search_state import SettingBatch, decode, encode
from foldwise.folds.protocol import Params
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Strategy, Trial, untried

COMPANIONS = 24  # settings that share one piece of work
STAGES = (1.0, 0.5, 0.25, 0.125)  # of a staged model's length, answered by the same fit
CLIMBING = 3  # settings of a batch that go on to the next rung together, if they share work


@dataclass(frozen=True)
class ModelPlan:
    """What the schedule knows about a model before the search."""

    name: str
    seconds: float  # of a batch on one split and the lowest rung, as the catalogue predicts
    space: Mapping[str, Any] = field(default_factory=dict)  # what is searched
    first: tuple[Params, ...] = ({},)  # settings that are tried before any other
    defaults: Params = field(default_factory=dict)  # of the parameters that are searched
    shared: tuple[str, ...] = ()  # parameters whose other values are answered from the same work
    n_companions: int = COMPANIONS  # settings drawn for that
    stages: str | None = None  # the parameter whose smaller values are part of the same fit
    longest: int = 1  # its value where none is drawn
    fixed: Params = field(default_factory=dict)  # set in every setting
    compiled: bool = False  # whether its code is compiled on a new machine
    growth: tuple[float, ...] = (1.0,)  # seconds on each rung, as multiples of the lowest
    general: str = ""  # the kind of a model that is good on most tables: linear, boosting or forest

    def trials(self, batches: Sequence[SettingBatch]) -> list[Trial]:
        """The settings of some batches with their scores on the first split, which all have in common."""
        found = []
        for batch in batches:
            scores = batch.scores.get(0) or (math.nan,) * len(batch.settings)
            state: Literal["failed", "running"] = "failed" if batch.stopped else "running"
            for setting, score in zip(batch.settings, scores, strict=True):
                full = {**self.defaults, **decode(setting, self.space)}
                known = {name: value for name, value in full.items() if name in self.space}
                found.append(Trial(known, score, state if math.isnan(score) else "finished"))
        return found

    def climbing(self, batch: SettingBatch) -> tuple[Params, ...]:
        """The settings of a finished batch that go on to the next rung: the best, and what the same fit answers."""
        if self.stages in self.space:
            return batch.settings
        ranked = sorted(batch.usable, key=batch.mean_score, reverse=True)
        return tuple(batch.settings[i] for i in ranked[: CLIMBING if self.shared else 1])

    def longer(self, batch: SettingBatch, factor: int) -> tuple[Params, ...]:
        """The best setting of a batch with more stages, if its longest stage did best; empty otherwise.

        The trees of a forest are averaged, so a short run that began with few of them gains by more.
        """
        if self.stages is None or not batch.scores:
            return ()
        if self.stages in self.fixed:
            n_stages = int(batch.settings[0][self.stages])
            longer = min(self.longest, factor * n_stages)
            return ({**batch.settings[0], self.stages: longer},) if longer > n_stages else ()
        if self.stages not in self.space:
            return ()
        lengths = [int(one[self.stages]) for one in batch.settings]
        most = int(self.space[self.stages].support()[1])
        best = max(batch.usable, key=lambda i: batch.scores[0][i], default=None)
        if best is None or lengths[best] < max(lengths) or lengths[best] >= most:
            return ()
        longest = min(most, factor * lengths[best])
        steps = sorted({round(share * longest) for share in STAGES if share * longest > lengths[best]}, reverse=True)
        return tuple({**batch.settings[best], self.stages: n} for n in steps)

    def draw(
        self, batches: Sequence[SettingBatch], seed: int, strategy: Strategy, *, select: bool = True
    ) -> tuple[Params, ...]:
        """Draw the settings of the next batch: first those that are given, then what the search strategy proposes."""
        number = len(batches)
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode()), number])
        base = {**self.fixed}
        if number < len(self.first):
            base |= self.first[number]
        elif self.space:
            base |= next(iter(strategy.propose(self.space, self.trials(batches), rng)), {})
        if not select:
            base.pop("select", None)
        shared = {name: self.space[name] for name in self.shared if name in self.space}
        if shared:
            others = different(SearchSpace.of(shared), self.n_companions, rng)
            settings = [base, *({**base, **one} for one in others)]
        elif self.stages in self.space:
            assert self.stages is not None
            longest = int(base.get(self.stages, self.longest))
            steps = sorted({max(1, round(share * longest)) for share in STAGES}, reverse=True)
            settings = [{**base, self.stages: n} for n in steps]
        else:
            settings = [base]
        return tuple(encode(one, self.space) for one in settings)


def different(space: SearchSpace, n: int, rng: np.random.Generator) -> list[Params]:
    """Random settings of a space, each once."""
    found: list[Trial] = []
    while len(found) < min(n, space.n_settings):
        one = untried(found, lambda: space.sample(rng))
        if not one:
            break
        found.append(Trial(one[0], float("nan")))
    return [one.setting for one in found]
