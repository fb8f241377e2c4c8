"""The population of an evolutionary search, generation after generation."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.evolutionary import Evolutionary
from foldwise.tuning.strategies.protocol import GenerationStrategy, Trial

USUAL_SIZE = Evolutionary().population  # where the strategy is not known


def draw_generations(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw the scores of each generation as dots, and their median as a line."""
    size = strategy.generation_size(space) if isinstance(strategy, GenerationStrategy) else USUAL_SIZE
    scores = np.array([one.score for one in trials])
    generation = 1 + np.arange(len(scores)) // size
    ax.plot(generation, scores, "o", markersize=4, color="0.6", label="setting")
    numbers = np.unique(generation)
    ax.plot(numbers, [np.nanmedian(scores[generation == k]) for k in numbers], label="median")
    ax.plot(numbers, [np.nanmax(scores[generation <= k]) for k in numbers], label="best so far")
    ax.set_xlabel("Generation")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("Mean score (higher is better)")
    ax.legend(frameon=False)
    return ax
