"""Pictures of a search: what was tried, what is known, and what comes next. One file per kind."""

from foldwise.tuning.pictures.choosing import plot_search
from foldwise.tuning.pictures.live import LivePlot

__all__ = ["LivePlot", "plot_search"]
