"""Parts that plots and printed curves share: matplotlib axes, axis labels, and intervals drawn as text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from foldwise.errors import PlotError
from foldwise.evaluation.metrics.scoring import sign_and_title
from foldwise.evaluation.tables import WIDTH, capitalized


def axes(ax: Any = None, size: tuple[float, float] = (7.0, 4.0)) -> Any:
    """Return the matplotlib axes to draw on: those given, or of a new figure."""
    plt = pyplot()
    if ax is None:
        ax = plt.subplots(figsize=size, layout="constrained")[1]
        ax.spines[["top", "right"]].set_visible(False)
    return ax


def pyplot() -> Any:
    """Return the module `matplotlib.pyplot`, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise PlotError(
            "plots need matplotlib, which is not installed.",
            "run pip install 'foldwise[plots]', or print the result, which shows the same numbers.",
        ) from error
    return plt


def score_label(name: str) -> str:
    """Label an axis of scores as scikit-learn signs them, where higher is always better.

    >>> score_label("neg_log_loss"), score_label("r2")
    ('Negative log loss (higher is better)', 'R² (higher is better)')
    """
    sign, title = sign_and_title(name)
    return f"{capitalized(f'negative {title}' if sign < 0 else title)} (higher is better)"


def metric_name(scoring: Any, model: Any) -> str:
    """Return the name of the metric of a curve."""
    if isinstance(scoring, str):
        return scoring
    if scoring is None:
        return "accuracy" if is_classifier(model) else "r2"
    return "score"


def printed_curve(heads: list[str], cells: list[list[str]], ends: NDArray[np.float64]) -> list[str]:
    """Print headings and one line per tick: its cells, then its mean in its interval, drawn as text."""
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *cells)]
    pictures = drawn(ends, max(1, WIDTH - len(lines[0]) - 2))
    return [lines[0], *(f"{line}  {picture}".rstrip() for line, picture in zip(lines[1:], pictures, strict=True))]


def drawn(ends: NDArray[np.float64], width: int) -> list[str]:  # (lines, 3): low, mean, high
    """Draw each mean in its interval, all on one scale; empty if a limit is not known."""
    floor, top = np.nanmin(ends, initial=np.inf), np.nanmax(ends, initial=-np.inf)
    if not floor < top or not np.isfinite(ends).all():
        return [""] * len(ends)
    columns = np.rint((ends - floor) / (top - floor) * (width - 1)).astype(int)
    return [" " * a + "─" * (m - a) + "●" + "─" * (b - m) for a, m, b in columns.tolist()]
