"""`plot_search`: the picture of a search that suits its space, or the one that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes
from foldwise.tuning.dimensions import Space
from foldwise.tuning.racing import proposing
from foldwise.tuning.space import SearchSpace
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
        "overview" shows those that suit the search in one figure, with that of its strategy. By default a heat map for
        two parameters, the process for one, and parallel coordinates for more.
    ax : matplotlib axes, default None
        The axes to draw on. An overview has axes of its own.
    strategy : Strategy, default None
        The strategy, for pictures of what it knows.

    Returns
    -------
    matplotlib axes
        The axes; of an overview, those of the first picture.

    Examples
    --------
    >>> from foldwise.tuning import Float, Trial, plot_search
    >>> trials = [Trial({"x": 0.1}, 0.5), Trial({"x": 0.7}, 0.8), Trial({"x": 0.4}, 0.6)]
    >>> plot_search({"x": Float(0, 1)}, trials, "best_so_far").get_xlabel()
    'Trial'
    """
    known, strategy = SearchSpace.of(space), proposing(strategy)
    if not finished(trials):
        raise InputError("there is nothing to draw, because no trial has a score.", "score some settings first.")
    if kind == "overview":
        return overview(known, list(trials), strategy, ax)
    kind = usual_kind(known) if kind is None else kind
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, (*KINDS, 'overview')))}, got {kind!r}.")
    return drawing(kind)(known, list(trials), axes(ax), strategy)


def drawing(kind: str) -> Callable[..., Any]:
    """The function that draws one kind of picture."""
    found: Callable[..., Any] = getattr(import_module(f"foldwise.tuning.pictures.{kind}"), f"draw_{kind}")
    return found


def usual_kind(space: SearchSpace) -> str:
    """The picture for the number of parameters that vary."""
    n_varied = len([one for one in space.columns if one.dimension.n_values > 1])
    return {1: "process", 2: "heat_map"}.get(n_varied, "parallel")


def suitable_kinds(space: SearchSpace, trials: list[Trial], strategy: Any) -> list[str]:
    """The pictures that suit a search, that of its strategy among them."""
    from foldwise.tuning.pictures.overview import kinds_of

    usual = usual_kind(space)
    if usual == "process" and len(finished(trials)) < 2:
        usual = "best_so_far"  # a process of one trial is not known
    return kinds_of(space, trials, usual, proposing(strategy))


def overview(space: SearchSpace, trials: list[Trial], strategy: Any, ax: Any) -> Any:
    """Draw the pictures that suit a search in one figure."""
    from foldwise.tuning.pictures.overview import draw_overview

    if ax is not None:
        raise InputError("an overview has several axes of its own, but ax was passed.", "leave ax out.")
    kinds = suitable_kinds(space, trials, strategy)
    return draw_overview(kinds, lambda kind, own: drawing(kind)(space, trials, axes(own), strategy))
