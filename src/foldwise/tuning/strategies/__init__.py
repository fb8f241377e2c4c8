"""Search strategies, one file each. A strategy proposes the next settings of a search."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.tuning.strategies.protocol import Strategy

# name → (module, class): loaded when needed
NAMED: dict[str, tuple[str, str]] = {
    "grid": ("grid", "Grid"),
    "design": ("grid", "Design"),
    "random": ("random", "Random"),
    "evolutionary": ("evolutionary", "Evolutionary"),
    "bayesian": ("bayesian", "Bayesian"),
    "gradient": ("gradient", "Gradient"),
    "tpe": ("optuna", "TPE"),
    "cma-es": ("optuna", "CMAES"),
}


def strategy_of(strategy: Any) -> Strategy:
    """Return the strategy of a name, or the object itself."""
    if isinstance(strategy, str):
        if strategy not in NAMED:
            raise InputError(
                f"strategy must be one of {', '.join(map(repr, NAMED))}, or an object with a method "
                f"propose(space, trials, rng), got {strategy!r}."
            )
        module, name = NAMED[strategy]
        named: Strategy = getattr(import_module(f"{__name__}.{module}"), name)()
        return named
    if isinstance(strategy, type):
        raise FoldwiseTypeError(
            f"strategy must be an object, but {strategy.__name__} is a class.", f"pass {strategy.__name__}()."
        )
    if not isinstance(strategy, Strategy):
        raise FoldwiseTypeError(f"strategy must have a method propose(space, trials, rng), but {strategy!r} does not.")
    return strategy
