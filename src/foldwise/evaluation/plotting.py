"""What pictures share: the library that draws them, intervals drawn in text, and what a score is called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.errors import PlotError
from foldwise.evaluation.tables import WIDTH, number

HOW = "pip install 'foldwise[plots]', or print the result, which holds the same numbers."


def axes(ax: Any = None, size: tuple[float, float] = (7.0, 4.0)) -> Any:
    """The axes to draw into, new ones by default."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise PlotError("the picture is drawn by matplotlib, which is not installed.", HOW) from error
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def printed_curve(heads: list[str], cells: list[list[str]], ends: NDArray[np.float64]) -> list[str]:
    """A heading and a line for each tick: its cells to the right, then its mean in its interval."""
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *cells)]
    pictures = drawn(ends, max(1, WIDTH - len(lines[0]) - 2))
    return [lines[0], *(f"{line}  {picture}".rstrip() for line, picture in zip(lines[1:], pictures, strict=True))]


def interval_text(low: float, high: float) -> str:
    """Both ends, or nothing where there is no interval."""
    return "" if np.isnan(low) else f"{number(low)} to {number(high)}"


def drawn(ends: NDArray[np.float64], room: int) -> list[str]:  # (lines, 3): low, mean, high
    """Each mean in its interval, all on one scale of so many characters; nothing where an end is unknown."""
    floor, top = np.nanmin(ends, initial=np.inf), np.nanmax(ends, initial=-np.inf)
    if not floor < top or not np.isfinite(ends).all():
        return [""] * len(ends)
    places = np.rint((ends - floor) / (top - floor) * (room - 1)).astype(int)
    return [" " * a + "─" * (m - a) + "●" + "─" * (b - m) for a, m, b in places.tolist()]


def metric_name(scoring: Any, model: Any) -> str:
    """What a curve shows."""
    if isinstance(scoring, str):
        return scoring
    if scoring is None:
        return "accuracy" if is_classifier(model) else "r2"
    return "score"
