"""Intervals and sets with a chosen coverage: `Conformal`, its scores, its quantiles, the models it keeps."""

from foldwise.decisions.conformal.estimator import Conformal

__all__ = ["Conformal"]
