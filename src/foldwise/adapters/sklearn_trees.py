"""The session of decision trees: grown once per training set, and pruned for each `ccp_alpha`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from foldwise.adapters.support import SKLEARN, Support, is_number, is_whole
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Params, Rows


class PruningSession(ModelSession):
    """A session in which settings that differ in `ccp_alpha` share a tree, because pruning follows growing."""

    shares = "pruning"

    def lazy(self, params: Params) -> frozenset[str]:
        # without a seed, ties between splits are broken at random
        return frozenset({"ccp_alpha"}) if is_whole(self.merged(params)["random_state"]) else frozenset()

    def fit_group(self, settings: Sequence[Params], train: Rows) -> Iterator[Any]:
        grown, error = None, None
        if self.lazy(settings[0]):
            grown, error = attempt(lambda: self.refit({**settings[0], "ccp_alpha": 0.0}, train))
        for setting in settings:
            alpha = self.merged(setting)["ccp_alpha"]
            if grown is None or not is_number(alpha):
                yield refitted(self.fit_alone(setting, train), error)
            else:
                yield pruned(grown, alpha)


def pruned(grown: Any, alpha: float) -> Any:
    """The tree of a fit with this alpha; the grown tree is not changed."""
    model = copy.copy(grown)
    model.ccp_alpha = alpha
    model._prune_tree()  # replaces the shared tree by a new one
    return model


SUPPORT = Support(SKLEARN, ("_prune_tree",))


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> PruningSession | None:
    """A session for a decision tree with one output."""
    return PruningSession.with_target(estimator, X, y, fit_params)
