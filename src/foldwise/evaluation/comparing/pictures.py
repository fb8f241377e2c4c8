"""Where the pictures of comparisons are drawn: matplotlib, loaded only when one is asked for."""

from __future__ import annotations

from typing import Any

from foldwise.errors import PlotError


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise PlotError(
            "the picture is drawn by matplotlib, which is not installed.",
            "pip install 'foldwise[plots]', or print the result.",
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
