"""The steps of gradient search, from each start to its end."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.tuning.pictures.scales import show_scale, varied
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import DescentStrategy, Trial


def draw_paths(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw the loss along each path, or the path itself for two parameters."""
    paths = strategy.paths if isinstance(strategy, DescentStrategy) else []
    if not paths:
        raise InputError("only gradient search has paths to draw.", "pass strategy='gradient' to the search.")
    columns = varied(space)
    for number, path in enumerate(paths, start=1):
        if len(columns) == 2:
            units = np.array([space.to_units(setting)[columns] for setting, _ in path])
            ax.plot(units[:, 0], units[:, 1], "o-", markersize=3, label=f"start {number}: loss {path[-1][1]:.3g}")
            ax.plot(*units[-1], marker="*", markersize=12, color=ax.lines[-1].get_color())
        else:
            ax.plot([loss for _, loss in path], "o-", markersize=3, label=f"start {number}")
    if len(columns) == 2:
        for which, i in zip("xy", columns, strict=True):
            show_scale(ax, space.columns[i], which)
    else:
        ax.set_xlabel("Step")
        ax.set_ylabel("Mean out-of-fold loss (lower is better)")
    ax.legend(frameon=False)
    return ax
