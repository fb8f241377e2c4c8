"""The session of decision trees: grown once per training set, pruned anew for every `ccp_alpha`."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

from foldwise.adapters.sklearn_staged import is_seed
from foldwise.adapters.support import SKLEARN, Support
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Params, Rows


class PruningSession(ModelSession):
    """scikit-learn grows a tree without looking at `ccp_alpha` and prunes it afterwards; so do we, growing once."""

    shares = "pruning"

    def lazy(self, params: Params) -> frozenset[str]:
        # without a seed, ties between splits are broken at random: two fits may differ
        return frozenset({"ccp_alpha"}) if is_seed(self.merged(params)["random_state"]) else frozenset()

    def fit_group(self, settings: Sequence[Params], train: Rows) -> Iterator[Any]:
        grown, error = None, None
        if self.lazy(settings[0]):
            grown, error = attempt(lambda: self.refit({**settings[0], "ccp_alpha": 0.0}, train))
        for setting in settings:
            alpha = self.merged(setting)["ccp_alpha"]
            if grown is None or not is_alpha(alpha):
                yield refitted(self.fit_alone(setting, train), error)
            else:
                yield pruned(grown, alpha)


def pruned(grown: Any, alpha: float) -> Any:
    """The tree that a fit with this alpha gives. The grown tree is left as it is."""
    model = copy.copy(grown)
    model.ccp_alpha = alpha
    model._prune_tree()  # puts a new tree in place of the shared one
    return model


def is_alpha(value: Any) -> bool:
    """Whether scikit-learn takes it; what else it may take is left to a refit."""
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < math.inf


SUPPORT = Support(SKLEARN, ("_prune_tree",))


def support_of(estimator: Any) -> Support:
    """What the session of an estimator relies on."""
    return SUPPORT


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> PruningSession | None:
    """A session for a decision tree of one output."""
    session = PruningSession(estimator, X, y, fit_params)
    return None if session.target is None else session
