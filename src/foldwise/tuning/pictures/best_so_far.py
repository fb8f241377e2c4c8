"""The best score after each trial."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial


def draw_best_so_far(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw each score as a dot and the best so far as a line."""
    scores = np.array([one.score for one in trials])
    numbers = np.arange(1, len(scores) + 1)
    ax.plot(numbers, scores, "o", markersize=4, color="0.6", label="trial")
    ax.step(numbers, np.fmax.accumulate(scores), where="post", label="best so far")
    ax.set_xlabel("Trial")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("Mean score (higher is better)")
    ax.legend(frameon=False)
    return ax
