"""The session of scikit-learn's `Lasso` and `ElasticNet`: its own coordinate descent on the Gram matrix of each fold.

Every penalty starts from zero with the same order and tolerance as a fit of its own, without a warm start. So the steps
are those of `precompute=True`. The default, `precompute=False`, takes the same steps with residuals instead of
products, and may stop one step earlier or later. Random selection of columns, positive coefficients, several targets,
sparse tables and tables with more columns than rows are refitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from foldwise.adapters.linear_facts import TrainingFacts
from foldwise.adapters.linear_session import GramSession, Solution, opened
from foldwise.adapters.sklearn_linear import is_seed, usual
from foldwise.adapters.support import SKLEARN, Support, is_number, is_whole
from foldwise.folds.protocol import Params

DESCENT = "sklearn.linear_model._cd_fast.enet_coordinate_descent_gram"  # private: found when it is used


@dataclass(frozen=True)
class DescentSetting:
    """A penalty, and when the descent ends."""

    alpha: float
    l1_ratio: float
    fit_intercept: bool
    tol: float
    max_iter: int
    class_weight: None = None


class DescentSession(GramSession[DescentSetting]):
    """A session of the lasso and the elastic net."""

    LAZY: ClassVar[frozenset[str]] = frozenset(
        {"alpha", "l1_ratio", "fit_intercept", "precompute", "copy_X", "max_iter", "tol", "random_state"}
    )

    def equal_settings(self, setting: Params) -> list[dict[str, Any]]:
        """Settings with the same minimum, whose refits show how far equally right answers lie apart."""
        return [{**setting, **other} for other in equal_params(self.merged(setting))]

    def plain(self, params: dict[str, Any]) -> DescentSetting | None:
        max_iter, ratio, seed = params["max_iter"], params.get("l1_ratio", 1.0), params["random_state"]
        fine = (
            usual(params)
            and is_number(params["alpha"])
            and params["alpha"] > 0  # without a penalty, the fit warns
            and is_number(ratio, 1)
            and is_whole(max_iter)
            and max_iter >= 1
            and isinstance(params["precompute"], bool | np.bool_)
            and isinstance(params["selection"], str)
            and params["selection"] == "cyclic"
            and params["warm_start"] is False
            and (seed is None or is_seed(seed))
        )
        if not fine:
            return None
        numbers = (float(params["alpha"]), float(ratio), bool(params["fit_intercept"]), float(params["tol"]))
        return DescentSetting(*numbers, int(max_iter))

    def solve(self, settings: Sequence[DescentSetting], facts: TrainingFacts) -> Solution:
        coef = np.zeros((len(settings), 1, facts.n_columns))
        intercepts = np.array([one.fit_intercept for one in settings])
        if facts.rows is not None:
            return Solution(coef, np.zeros((len(settings), 1)), np.zeros(len(settings), dtype=bool))
        # weights are scaled to sum to the number of rows
        share = facts.n_rows / facts.weight
        parts = {}
        for intercept in {one.fit_intercept for one in settings}:
            given = facts.equations(intercept)
            # of the target, the descent reads its sum of squares only
            length = np.sqrt(np.maximum(share * given.squares, 0.0))
            parts[intercept] = (share * given.gram, share * given.moment[:, 0], length)
        descend = resolve_name(DESCENT)
        rng = check_random_state(0)  # the descent draws a seed, for random selection only
        for one, w in zip(settings, coef[:, 0], strict=True):
            gram, moment, length = parts[one.fit_intercept]
            l1 = one.alpha * one.l1_ratio * facts.n_rows
            l2 = one.alpha * (1.0 - one.l1_ratio) * facts.n_rows
            ends = (one.max_iter, one.tol)
            w[:] = descend(w, l1, l2, gram, moment, length, *ends, rng, False, False, True)[0]
        return Solution.of(coef, intercepts, facts, np.isfinite(coef).all(axis=(1, 2)))


def equal_params(params: Params) -> list[dict[str, Any]]:
    """Other parameters of a linear model with the same minimum; none if its solution does not stop at a tolerance."""
    return [] if params.get("precompute", True) else [{"precompute": True}]


SUPPORT = Support(SKLEARN, functions=(DESCENT,))


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> GramSession[Any] | None:
    """A session for a dense table of finite numbers in double precision and one target; None otherwise."""
    return opened(DescentSession(estimator, X, y, fit_params))
