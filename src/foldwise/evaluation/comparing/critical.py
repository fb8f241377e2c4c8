"""The critical-difference diagram (Demšar 2006): average ranks on an axis, bars joining statistically tied models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwise.evaluation.plotting import axes


def cliques(ranks: list[float], distance: float) -> list[tuple[int, int]]:
    """Find the longest runs (first, last) of at least two sorted ranks that differ by less than a distance.

    >>> cliques([1.0, 1.5, 2.2, 3.9], 1.3)
    [(0, 2)]
    """
    runs: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(i for i in range(first, len(ranks)) if ranks[i] - ranks[first] < distance)
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw_ranks(ranks: Mapping[str, float], distance: float, n_tables: int, level: float, ax: Any = None) -> Any:
    """Draw the diagram of models sorted by rank, with the better half of the names on the left."""
    n = len(ranks)
    names, at = list(ranks), list(ranks.values())
    runs = cliques(at, distance)
    left = (n + 1) // 2
    depth = 0.6 + 0.35 * len(runs)  # of the first name below the axis
    height = depth + 0.55 * left
    ax = axes(ax, (7.0, 1.0 + 0.6 * height))
    ax.plot([1, n], [0, 0], color="black", linewidth=1)
    for tick in range(1, n + 1):
        ax.plot([tick, tick], [0, -0.12], color="black", linewidth=1)
        ax.text(tick, -0.2, str(tick), ha="center", va="bottom")
    ax.plot([1, 1 + distance], [-0.95, -0.95], color="C3", linewidth=2)
    for end in (1, 1 + distance):
        ax.plot([end, end], [-1.03, -0.87], color="C3", linewidth=2)
    ax.text(1 + distance / 2, -1.1, f"Critical difference {distance:.2f}", ha="center", va="bottom", color="C3")
    margin = 0.08 * (n - 1)
    for i, (name, rank) in enumerate(zip(names, at, strict=True)):
        to_left = i < left
        depth_here = depth + 0.55 * (i if to_left else n - 1 - i)
        edge = 1 - margin if to_left else n + margin
        ax.plot([rank, rank, edge], [0, depth_here, depth_here], color="0.4", linewidth=1)
        ax.text(edge, depth_here, f" {name} ({rank:.2f}) ", ha="right" if to_left else "left", va="center")
    for i, (first, last) in enumerate(runs):
        y = 0.3 + 0.35 * i
        ends = [at[first] - 0.02 * (n - 1), at[last] + 0.02 * (n - 1)]
        ax.plot(ends, [y, y], color="C0", linewidth=4, solid_capstyle="butt")
    ax.set_xlim(1 - margin, max(n, 1 + distance) + margin)
    ax.set_ylim(height, -1.6)
    ax.axis("off")
    tied = f"Bars join models that are statistically tied (Nemenyi's test at {1 - level:.3g})"
    ax.set_title(f"Average rank over {n_tables} tables (1 is best)\n{tied}", fontsize="medium")
    return ax
