"""Estimators that wrap another one: cost-sensitive decisions, calibration, balanced classes, intervals and sets."""

from foldwise.decisions.balanced import Balanced
from foldwise.decisions.calibrated import Calibrated
from foldwise.decisions.conformal import Conformal
from foldwise.decisions.cost_sensitive import CostSensitive, realized_cost
from foldwise.decisions.reliability_bins import Reliability, reliability

__all__ = ["Balanced", "Calibrated", "Conformal", "CostSensitive", "Reliability", "realized_cost", "reliability"]
