"""Classifiers that wrap another classifier: cost-sensitive decisions, calibrated probabilities, balanced classes."""

from foldwise.decisions.balanced import Balanced
from foldwise.decisions.calibrated import Calibrated
from foldwise.decisions.cost_sensitive import CostSensitive, realized_cost
from foldwise.decisions.reliability_bins import Reliability, reliability

__all__ = ["Balanced", "Calibrated", "CostSensitive", "Reliability", "realized_cost", "reliability"]
