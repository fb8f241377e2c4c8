"""Calibrators, one file per method: maps from a model's scores to probabilities, fitted on out-of-fold scores."""

from foldwise.decisions.calibration.scores import CalibrationData, ClassScores
from foldwise.decisions.calibration.selection import METHODS, fit_calibrator

__all__ = ["METHODS", "CalibrationData", "ClassScores", "fit_calibrator"]
