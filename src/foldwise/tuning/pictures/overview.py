"""Several pictures of one search in one figure: the settings, how the strategy found them, and what matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foldwise.evaluation.plotting import pyplot
from foldwise.tuning.pictures.scales import varied
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.bayesian import Bayesian
from foldwise.tuning.strategies.protocol import DescentStrategy, GenerationStrategy, Trial, finished

ENOUGH = 10  # trials, below which the importance of parameters is a guess
PANEL = (7.0, 4.4)  # inches

Draw = Callable[[str, Any], None]  # a kind of picture, and the axes to draw it on


def kinds_of(space: SearchSpace, trials: list[Trial], usual: str, strategy: Any) -> list[str]:
    """The pictures that suit a search; `usual` is the one for the number of its parameters."""
    found = [usual, kind_of_strategy(space, trials, strategy), "best_so_far"]
    if len(varied(space)) > 1 and len(finished(trials)) >= ENOUGH:
        found.append("importance")
    return list(dict.fromkeys(kind for kind in found if kind is not None))


def kind_of_strategy(space: SearchSpace, trials: list[Trial], strategy: Any) -> str | None:
    """The picture of what a strategy knows or does; None if it has none."""
    if isinstance(strategy, DescentStrategy) and strategy.paths:
        return "paths"
    if isinstance(strategy, GenerationStrategy):
        return "generations"
    can_draw = len(space.columns) == len(varied(space)) <= 2 and len(finished(trials)) > 1
    return "process" if isinstance(strategy, Bayesian) and can_draw else None


def draw_overview(kinds: list[str], draw: Draw) -> Any:
    """Draw pictures side by side; return the axes of the first."""
    plt = pyplot()
    n_rows, n_columns = -(-len(kinds) // 2), min(2, len(kinds))
    size = (PANEL[0] * n_columns, PANEL[1] * n_rows)
    figure, grid = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False)
    for ax, kind in zip(grid.flat, kinds, strict=False):
        ax.spines[["top", "right"]].set_visible(False)
        draw(kind, ax)
    for ax in grid.flat[len(kinds) :]:
        figure.delaxes(ax)
    return grid.flat[0]
