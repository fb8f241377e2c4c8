"""`plot_search`: the picture of a search that suits its space, or the one that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes
from foldwise.tuning.space import SearchSpace, Space
from foldwise.tuning.strategies.protocol import Trial, finished

# kind → function in a file of the same name
KINDS = ("heat_map", "best_so_far", "parallel", "importance", "process", "generations", "paths")


def plot_search(
    space: Space, trials: Sequence[Trial], kind: str | None = None, *, ax: Any = None, strategy: Any = None
) -> Any:
    """Draw the trials of a search.

    Parameters
    ----------
    space : mapping or list of mappings
        The search space.
    trials : sequence of Trial
        The trials.
    kind : str, default None
        "heat_map" shows the scores of two parameters, "best_so_far" the best score after each trial, "parallel" a line
        per trial across all parameters, "importance" how much each parameter matters, "process" what a Gaussian process
        knows and proposes next, "generations" the scores of each generation, "paths" the steps of gradient search.
        By default a heat map for two parameters, the process for one, and parallel coordinates for more.
    ax : matplotlib axes, default None
        The axes to draw on.
    strategy : Strategy, default None
        The strategy, for pictures of what it knows.

    Returns
    -------
    matplotlib axes
        The axes.

    Examples
    --------
    >>> from foldwise.tuning import Float, Trial, plot_search
    >>> trials = [Trial({"x": 0.1}, 0.5), Trial({"x": 0.7}, 0.8), Trial({"x": 0.4}, 0.6)]
    >>> plot_search({"x": Float(0, 1)}, trials, "best_so_far").get_xlabel()
    'Trial'
    """
    known = SearchSpace.of(space)
    if not finished(trials):
        raise InputError("there is nothing to draw, because no trial has a score.", "score some settings first.")
    if kind is None:
        varied = [one for one in known.columns if one.dimension.n_values > 1]
        kind = {1: "process", 2: "heat_map"}.get(len(varied), "parallel")
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
    draw: Callable[..., Any] = getattr(import_module(f"foldwise.tuning.pictures.{kind}"), f"draw_{kind}")
    return draw(known, list(trials), axes(ax), strategy)
