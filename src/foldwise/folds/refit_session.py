"""The session for every estimator: nothing is shared, each setting is fitted on each split."""

from __future__ import annotations

from foldwise.folds.model_session import ModelSession


class RefitSession(ModelSession):
    """clone → set_params → fit → predict for each setting, as scikit-learn would."""
