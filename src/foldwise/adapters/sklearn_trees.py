"""The session of decision trees: grown once per training set, pruned anew for every `ccp_alpha`."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

from foldwise.adapters.sklearn_staged import is_seed
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Params, Rows


class PruningSession(ModelSession):
    """scikit-learn grows a tree without looking at `ccp_alpha` and prunes it afterwards; so do we, growing once."""

    shares = "pruning"

    def lazy(self, params: Params) -> frozenset[str]:
        # without a seed, ties between splits are broken at random: two fits may differ
        seed = {**self.estimator.get_params(deep=False), **params}["random_state"]
        return frozenset({"ccp_alpha"}) if is_seed(seed) else frozenset()

    def fit_group(self, settings: Sequence[Params], train: Rows) -> Iterator[Any]:
        grown = self.grow(settings[0], train) if self.lazy(settings[0]) else None
        for setting in settings:
            alpha = setting.get("ccp_alpha", self.estimator.ccp_alpha)
            yield self.fit_alone(setting, train) if grown is None or not is_alpha(alpha) else pruned(grown, alpha)

    def grow(self, setting: Params, train: Rows) -> Any:
        """The whole tree; None where it cannot be grown, and each setting then says so itself."""
        try:
            return self.refit({**setting, "ccp_alpha": 0.0}, train)
        except Exception:
            return None


def pruned(grown: Any, alpha: float) -> Any:
    """The tree that a fit with this alpha gives. The grown tree is left as it is."""
    model = copy.copy(grown)
    model.ccp_alpha = alpha
    model._prune_tree()  # puts a new tree in place of the shared one
    return model


def is_alpha(value: Any) -> bool:
    """Whether scikit-learn takes it; what else it may take is left to a refit."""
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < math.inf


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> PruningSession | None:
    """A session for a decision tree of one output."""
    if not hasattr(estimator, "_prune_tree"):
        return None
    session = PruningSession(estimator, X, y, fit_params)
    return None if session.target is None else session
