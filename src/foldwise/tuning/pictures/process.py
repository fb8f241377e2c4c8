"""What a Gaussian process knows about the scores, and which setting Bayesian search would try next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.errors import InputError
from foldwise.tuning.pictures.scales import show_scale, varied
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.bayesian import Bayesian, ScoreModel
from foldwise.tuning.strategies.protocol import Trial, finished, trial_generator

N_POINTS, N_CELLS = 201, 61  # along a line, and along each side of a square


def draw_process(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw the expected score with its band and the acquisition for one parameter, or both as maps for two."""
    columns = varied(space)
    if len(columns) not in (1, 2) or len(space.columns) != len(columns):
        raise InputError(
            f"the Gaussian process can be drawn for one or two parameters, got {len(space.columns)}.",
            "pass kind='parallel'.",
        )
    bayesian = strategy if isinstance(strategy, Bayesian) else Bayesian()
    if bayesian.acquisition == "thompson":  # a random draw, of which there is no picture
        bayesian = replace(bayesian, acquisition="logei")
    rng = trial_generator(0, len(trials))
    model = ScoreModel.of(space, trials, rng, bayesian)
    if model is None:
        raise InputError("the Gaussian process needs at least two trials with a score.", "score more settings first.")
    proposed = bayesian.propose(space.branches[0], trials, trial_generator(0, len(trials)))
    following = space.to_units(proposed[0])[columns] if proposed else None
    draw = draw_line if len(columns) == 1 else draw_map
    return draw(ax, space, model, bayesian, finished(trials), following)


def predicted(
    space: SearchSpace, model: ScoreModel, strategy: Bayesian, units: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The expected score of units, the ends of its band (two standard deviations), and the acquisition."""
    rows, _ = model.encoding.to_rows([space.from_units(one) for one in units])
    mean, deviation = model.posterior.predict(rows, model.encoding.active(rows))
    best = float(model.posterior.predict(model.posterior.rows, model.posterior.active)[0].max())
    acquisition = model.acquisition(strategy, rows, best, trial_generator(0, 0))
    gain = np.asarray(acquisition(mean, deviation)[0])
    if strategy.acquisition == "logei":  # its logarithm falls without bound near settings that were tried
        gain = np.exp(gain)
    middle, low, high = (model.warping.back(mean + k * deviation) for k in (0, -2, 2))
    return middle, low, high, gain


def draw_line(
    ax: Any, space: SearchSpace, model: ScoreModel, strategy: Bayesian, trials: list[Trial], following: Any
) -> Any:
    """The process along one parameter."""
    units = np.linspace(0, 1, N_POINTS)
    middle, low, high, gain = predicted(space, model, strategy, units[:, None])
    ax.fill_between(units, low, high, alpha=0.2, label="two standard deviations")
    ax.plot(units, middle, label="expected score")
    ax.plot([space.to_units(one.setting)[0] for one in trials], [one.score for one in trials], "ko", markersize=4)
    other, name = ax.twinx(), strategy.acquisition.removeprefix("log")
    other.plot(units, gain, color="tab:green", linewidth=1, label=f"acquisition ({name})")
    other.set_yticks([])
    if following is not None:
        ax.axvline(following[0], linestyle=":", color="tab:red", label="next setting")
    show_scale(ax, space.columns[0], "x")
    ax.set_ylabel("Mean score (higher is better)")
    handles = [one for part in (ax, other) for one in part.get_legend_handles_labels()[0]]
    ax.legend(handles=handles, frameon=False, fontsize=8)
    return ax


def draw_map(
    ax: Any, space: SearchSpace, model: ScoreModel, strategy: Bayesian, trials: list[Trial], following: Any
) -> Any:
    """The process over two parameters: expected scores as colors, the acquisition as lines."""
    side = np.linspace(0, 1, N_CELLS)
    units = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    middle, _, _, gain = predicted(space, model, strategy, units)
    shown = ax.pcolormesh(side, side, middle.reshape(N_CELLS, N_CELLS), shading="nearest")
    ax.contour(side, side, gain.reshape(N_CELLS, N_CELLS), levels=6, colors="white", linewidths=0.6)
    tried = np.array([space.to_units(one.setting) for one in trials])
    ax.plot(tried[:, 0], tried[:, 1], "ko", markersize=4, markeredgecolor="white", label="tried")
    if following is not None:
        ax.plot(*following, marker="*", markersize=14, color="red", linestyle="none", label="next setting")
    for which, column in zip("xy", space.columns, strict=True):
        show_scale(ax, column, which)
    ax.figure.colorbar(shown, ax=ax, label="Expected score (higher is better)")
    ax.legend(loc="upper left", bbox_to_anchor=(0, 1.15), frameon=False, ncols=2)
    return ax
