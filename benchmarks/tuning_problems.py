"""The problems of the regret benchmark: known functions, and tables of real tuning problems.

Only numpy is needed, so that peers can run in an environment of their own. All scores are maximized.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TABLES = Path(__file__).parent / "tuning_problems.npz"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a problem: a float or int between bounds, or a choice without order."""

    name: str
    kind: str  # "float", "int" or "choice"
    low: float = 0
    high: float = 1
    log: bool = False
    values: tuple[str, ...] = ()
    when: tuple[str, str] | None = None  # the parameter and value that this one needs


@dataclass(frozen=True)
class Problem:
    """A space, the score of each setting, and the best score there is."""

    name: str
    parameters: tuple[Parameter, ...]
    score: Callable[[Mapping[str, Any]], float]
    best: float
    held_out: Callable[[Mapping[str, Any]], float] | None = None
    best_held_out: float = math.nan


def box(n: int, low: float = 0, high: float = 1) -> tuple[Parameter, ...]:
    return tuple(Parameter(f"x{i}", "float", low, high) for i in range(n))


def branin(setting: Mapping[str, Any]) -> float:
    a, b = setting["x0"], setting["x1"]
    bowl = (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2
    return -(bowl + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10)


HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_SCALES = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
HARTMANN_CENTERS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(setting: Mapping[str, Any]) -> float:
    x = np.array([setting[f"x{i}"] for i in range(6)])
    return float(HARTMANN_WEIGHTS @ np.exp(-(HARTMANN_SCALES * (x - HARTMANN_CENTERS) ** 2).sum(axis=1)))


def ackley(setting: Mapping[str, Any]) -> float:
    x = np.array([setting[f"x{i}"] for i in range(5)])
    far = -20 * math.exp(-0.2 * math.sqrt(float((x**2).mean())))
    return -(far - math.exp(float(np.cos(2 * math.pi * x).mean())) + 20 + math.e)


MIXED = (
    Parameter("model", "choice", values=("tree", "kernel", "linear")),
    Parameter("x", "float"),
    Parameter("rate", "float", 1e-5, 1, log=True),
    Parameter("n", "int", 1, 20),
    Parameter("depth", "int", 1, 12, when=("model", "tree")),
    Parameter("gamma", "float", 1e-4, 10, log=True, when=("model", "kernel")),
    Parameter("shape", "choice", values=("round", "flat", "steep"), when=("model", "kernel")),
)


def mixed(setting: Mapping[str, Any]) -> float:
    """Every term is at most 0, and all are 0 in one setting of the kernel branch."""
    model = setting["model"]
    center, rate = {"tree": (0.2, -3.0), "kernel": (0.73, -2.2), "linear": (0.5, -1.0)}[model]
    off = setting["x"] - center
    found = -2 * off**2 + 0.1 * (math.cos(6 * math.pi * off) - 1)
    found -= 0.1 * (math.log10(setting["rate"]) - rate - 0.5 * off) ** 2 + 0.004 * (setting["n"] - 8) ** 2
    if model == "tree":
        return found - 0.15 - 0.01 * (setting["depth"] - 7) ** 2
    if model == "linear":
        return found - 0.1
    found -= 0.12 * (math.log10(setting["gamma"]) + 1.4) ** 2
    return found - {"round": 0.2, "flat": 0.0, "steep": 0.35}[setting["shape"]]


FUNCTIONS = (
    Problem(
        "Branin", (Parameter("x0", "float", -5, 10), Parameter("x1", "float", 0, 15)), branin, -0.39788735772973816
    ),
    Problem("Hartmann 6", box(6), hartmann, 3.322368011415515),
    Problem("Ackley 5", box(5, -32.768, 32.768), ackley, 0.0),
    Problem("Mixed, conditional", MIXED, mixed, 0.0),
)


def table_problems() -> tuple[Problem, ...]:
    """The stored tables: the score of every setting of a grid, by cross-validation and on held-out rows."""
    if not TABLES.exists():
        return ()
    with np.load(TABLES, allow_pickle=False) as stored:
        names = sorted({key.split("|")[0] for key in stored.files})
        return tuple(table_problem(one, {key: stored[f"{one}|{key}"] for key in KEYS}) for one in names)


KEYS = ("axes", "choices", "cv", "held_out")


def table_problem(name: str, parts: Mapping[str, Any]) -> Problem:
    """A problem whose ordered parameters are given by the index of their value on the grid."""
    axes, choices = [str(one) for one in parts["axes"]], [str(one) for one in parts["choices"]]
    cv, held_out = (parts[key].astype(float) for key in ("cv", "held_out"))
    parameters = tuple(
        Parameter(axis, "choice", values=tuple(chosen.split(","))) if chosen else Parameter(axis, "int", 0, size - 1)
        for axis, chosen, size in zip(axes, choices, cv.shape, strict=True)
    )

    def cell(setting: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(
            one.values.index(setting[one.name]) if one.kind == "choice" else int(setting[one.name])
            for one in parameters
        )

    return Problem(
        name,
        parameters,
        lambda setting: float(cv[cell(setting)]),
        float(cv.max()),
        lambda setting: float(held_out[cell(setting)]),
        float(held_out.max()),
    )


def problems() -> dict[str, Problem]:
    """All problems by name."""
    return {one.name: one for one in (*FUNCTIONS, *table_problems())}


def regrets(problem: Problem, settings: list[Mapping[str, Any]], after: tuple[int, ...]) -> dict[str, list[float]]:
    """How far the best setting of the first trials is behind the best there is, also on held-out rows."""
    scores = [problem.score(one) for one in settings]
    best = [int(np.argmax(scores[:n])) for n in after]
    found = {"cv": [problem.best - scores[i] for i in best]}
    if problem.held_out is not None:
        found["held_out"] = [problem.best_held_out - problem.held_out(settings[i]) for i in best]
    return found
