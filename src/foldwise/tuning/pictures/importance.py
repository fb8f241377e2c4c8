"""How much each parameter matters for the score."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance

from foldwise.tuning.pictures.scales import varied
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial, finished


def parameter_importance(space: SearchSpace, trials: list[Trial]) -> NDArray[np.float64]:
    """The share of each varied parameter in the variation of scores.

    A random forest predicts scores from settings. The importance of a parameter is how much worse it predicts when the
    values of the parameter are shuffled.
    """
    columns, known = varied(space), finished(trials)
    units = np.nan_to_num(np.array([space.to_units(one.setting)[columns] for one in known]), nan=-1.0)
    scores = np.array([one.score for one in known])
    forest = RandomForestRegressor(200, min_samples_leaf=2, random_state=0).fit(units, scores)
    found = permutation_importance(forest, units, scores, n_repeats=10, random_state=0).importances_mean.clip(0)
    return np.asarray(found / (found.sum() or 1.0))


def draw_importance(space: SearchSpace, trials: list[Trial], ax: Any, strategy: Any) -> Any:
    """Draw one bar per parameter."""
    shares = parameter_importance(space, trials)
    names = [space.columns[i].name.rpartition("__")[2] for i in varied(space)]
    order = np.argsort(shares, kind="stable")
    ax.barh([names[i] for i in order], shares[order])
    ax.set_xlabel("Share of the variation of scores")
    return ax
