"""Scores of two parameters as colors."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.errors import InputError
from foldwise.tuning.pictures.scales import show_scale, varied
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial, finished


def draw_heat_map(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw a cell per setting of a grid, or a colored dot per trial elsewhere."""
    columns = varied(space)
    if len(columns) != 2:
        raise InputError(
            f"a heat map needs a space with two varied parameters, got {len(columns)}.", "pass kind='parallel'."
        )
    known = [one for one in finished(trials) if not np.isnan(space.to_units(one.setting)[columns]).any()]
    units = np.array([space.to_units(one.setting)[columns] for one in known])
    scores = np.array([one.score for one in known])
    first, second = np.unique(units[:, 0].round(9)), np.unique(units[:, 1].round(9))
    if len(first) * len(second) == len(known) and min(len(first), len(second)) > 1:
        cells = np.full((len(second), len(first)), np.nan)
        cells[np.searchsorted(second, units[:, 1].round(9)), np.searchsorted(first, units[:, 0].round(9))] = scores
        shown = ax.pcolormesh(first, second, cells, shading="nearest")
    else:
        shown = ax.scatter(units[:, 0], units[:, 1], c=scores, s=45, edgecolors="white", linewidths=0.6)
    best = units[int(scores.argmax())]
    ax.plot(*best, marker="*", markersize=15, color="red", markeredgecolor="white", label=f"best: {scores.max():.3g}")
    for which, i in zip("xy", columns, strict=True):
        show_scale(ax, space.columns[i], which)
    ax.figure.colorbar(shown, ax=ax, label="Mean score (higher is better)")
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.14), frameon=False)
    return ax
