"""The critical-difference diagram (Demšar 2006): models on an axis of ranks, bars over those not told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldwise.evaluation.plotting import axes


def cliques(ranks: list[float], distance: float) -> list[tuple[int, int]]:
    """Of sorted ranks, the longest runs (first, last) of at least two that lie less than a distance apart.

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
    """Draw the diagram of models by ascending rank; the better half of names to the left, the others to the right."""
    n = len(ranks)
    names, places = list(ranks), list(ranks.values())
    runs = cliques(places, distance)
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
    ax.text(1 + distance / 2, -1.1, f"critical difference {distance:.2f}", ha="center", va="bottom", color="C3")
    margin = 0.08 * (n - 1)
    for i, (name, place) in enumerate(zip(names, places, strict=True)):
        to_left = i < left
        depth_here = depth + 0.55 * (i if to_left else n - 1 - i)
        edge = 1 - margin if to_left else n + margin
        ax.plot([place, place, edge], [0, depth_here, depth_here], color="0.4", linewidth=1)
        ax.text(
            edge, depth_here, f" {name} ({place:.2f}) ", ha="right" if to_left else "left", va="center", clip_on=False
        )
    for i, (first, last) in enumerate(runs):
        at = 0.3 + 0.35 * i
        ends = [places[first] - 0.02 * (n - 1), places[last] + 0.02 * (n - 1)]
        ax.plot(ends, [at, at], color="C0", linewidth=4, solid_capstyle="butt")
    ax.set_xlim(1 - margin, max(n, 1 + distance) + margin)
    ax.set_ylim(height, -1.6)
    ax.axis("off")
    ax.set_title(f"average rank over {n_tables} tables, Nemenyi's test at {1 - level:.3g}", fontsize="medium")
    return ax
