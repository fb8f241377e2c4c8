"""One line per trial across all parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.tuning.pictures.scales import short, varied
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial, finished


def draw_parallel(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw the better trials darker. A line has gaps where a parameter is not active."""
    import matplotlib as mpl

    columns = varied(space)
    known = sorted(finished(trials), key=lambda one: one.score)
    scores = np.array([one.score for one in known])
    span = np.ptp(scores) or 1.0
    colors = mpl.colormaps["viridis"]
    norm = mpl.colors.Normalize(scores.min(), scores.max() if np.ptp(scores) else scores.min() + 1)
    at = np.arange(len(columns) + 1)
    for one, score in zip(known, scores, strict=True):
        level = (score - scores.min()) / span
        units = [*space.to_units(one.setting)[columns], level]
        ax.plot(at, units, color=colors(norm(score)), alpha=0.25 + 0.75 * level, linewidth=1 + level)
    ax.set_xticks(at, [*(space.columns[i].name.rpartition("__")[2] for i in columns), "score"])
    for x, i in zip(at, columns, strict=False):
        dimension = space.columns[i].dimension
        ends = [dimension.from_unit(0.0), dimension.from_unit(1.0)]
        for y, value in zip((-0.06, 1.03), ends, strict=True):
            ax.text(x, y, short(value), ha="center", fontsize=8)
    for y, value in zip((-0.06, 1.03), (scores.min(), scores.max()), strict=True):
        ax.text(at[-1], y, short(float(value)), ha="center", fontsize=8)
    ax.set_ylim(-0.1, 1.1)
    ax.set_yticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.figure.colorbar(mpl.cm.ScalarMappable(norm, colors), ax=ax, label="Mean score (higher is better)")
    return ax
