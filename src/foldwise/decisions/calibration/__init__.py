"""Maps from the scores of a model to probabilities that hold: one file a method, learned from out-of-fold scores."""

from foldwise.decisions.calibration.choosing import METHODS, learn
from foldwise.decisions.calibration.scores import Lesson, Scores

__all__ = ["METHODS", "Lesson", "Scores", "learn"]
