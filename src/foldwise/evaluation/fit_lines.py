"""The lines that a search with `verbose` of 2 or more prints about each fit, like those of scikit-learn's searches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joblib.logger import short_format_time

from foldwise.evaluation.failures import with_error_score
from foldwise.folds.protocol import Params
from foldwise.folds.scoring import TaskResult


@dataclass(frozen=True)
class FitPrinter:
    """Prints a line about each fit as its scores arrive."""

    settings: Sequence[Params]  # of the round
    split_numbers: Sequence[int]  # of the round, among all splits
    n_splits: int
    verbose: int  # scores from 3 on, the number of the setting from 10 on
    error_score: Any

    def __call__(self, indices: Sequence[int], number: int | None, result: TaskResult) -> None:
        """Print the fits of a group of settings on one split, or on all splits of leave-one-out."""
        error = math.nan if self.error_score == "raise" else self.error_score
        test = with_error_score(result.test.scores, result.failed, result.test.unscored, error)
        train = with_error_score(result.train.scores, result.failed, result.train.unscored, error)
        numbers = self.split_numbers if number is None else [self.split_numbers[number]]
        seconds = result.seconds / (len(indices) * len(numbers))
        for i, setting in enumerate(indices):
            for k, split in enumerate(numbers):
                scores = {
                    name: (values[i, k], *(train[name][i, k : k + 1] if name in train else ()))
                    for name, values in test.items()
                }
                print(self.line(setting, split, scores, seconds))

    def line(self, setting: int, split: int, scores: dict[str, tuple[float, ...]], seconds: float) -> str:
        """Describe one fit; a score is that of the test rows, and that of the training rows if there is one."""
        counter = f" {split + 1}/{self.n_splits}" if self.verbose > 2 else ""
        counter += f"; {setting + 1}/{len(self.settings)}" if self.verbose > 9 else ""
        start = f"[CV{counter}] END "
        text = ", ".join(f"{name}={value}" for name, value in sorted(self.settings[setting].items()))
        text += ";" if text else ""
        for name in sorted(scores) if self.verbose > 2 else ():
            test, *train = scores[name]
            shown = [*(f"train={value:.3f}" for value in train), f"test={test:.3f}"]
            inside = f"{test:.3f}" if name == "score" and not train else f"({', '.join(shown)})"
            text += f", score={inside}" if name == "score" else f" {name}: {inside}"
        text += f" total time={short_format_time(seconds)}"
        return start + text.rjust(80 - len(start), ".")
