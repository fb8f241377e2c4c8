"""What the vectorised metrics share: the truth and the weights of a split, sound averages, and a way out.

Where a case is odd (a class absent from some rows, weights that sum to nothing, numbers that are no probabilities),
`scores` returns None and scikit-learn's own scorer decides, setting by setting: its errors, warnings and NaN are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer

from foldwise.evaluation.metrics.scorers import ScorerMetric, Scores, lacks, test_weights
from foldwise.folds.protocol import Answer, Labels, Need, Params, Values
from foldwise.folds.splits import Split

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One split as a metric sees it."""

    session: Any
    split: Split

    @cached_property
    def truth(self) -> NDArray[Any]:  # (rows,)
        """The test rows' codes, or numbers."""
        target = self.session.target
        return np.asarray((target.codes if isinstance(target, Labels) else target.numbers)[self.split.test])

    @cached_property
    def weights(self) -> Floats | None:  # (rows,)
        return test_weights(self.session, self.split)

    @property
    def n_classes(self) -> int:
        return len(self.session.target.classes)

    @cached_property
    def in_train(self) -> NDArray[np.bool_]:  # (classes,)
        return self.split.trained(self.session.target.codes, self.n_classes) > 0

    @cached_property
    def in_test(self) -> NDArray[np.bool_]:  # (classes,)
        return np.bincount(self.truth, minlength=self.n_classes) > 0

    def weights_are_sound(self) -> bool:
        """Whether an average by these weights is one: all finite, none negative, some positive."""
        w = self.weights
        return w is None or bool(w.min() >= 0 and np.isfinite(w.sum()) and w.sum() > 0)

    def average(self, values: NDArray[Any]) -> Scores:  # (settings, rows) -> (settings,)
        """The mean of each setting, summed as `np.average` sums one row: ranks must tie as scikit-learn's do."""
        values = np.ascontiguousarray(values)  # the order of summation follows the layout
        if self.weights is None:
            return np.asarray(values.mean(axis=1))
        return np.asarray(np.multiply(values, self.weights).sum(axis=1) / self.weights.sum())


class VectorisedMetric:
    """A metric by scikit-learn's name, computed for all settings at once where the case is plain."""

    need = Need.LABELS
    kind: type = Labels  # of target
    bounds = (0.0, 1.0)  # of the score
    lossless = 0.0  # the score at no loss, of metrics that average losses over rows: it is this minus their mean

    def __init__(self, name: str) -> None:
        self.name = name
        self.by_scorer = ScorerMetric(get_scorer(name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Scores:
        case = Case(session, split)
        scores = None
        if isinstance(session.target, self.kind) and not self.left_to_model(answer):
            self.check(case, answer)
            scores = self.scores(case, answer) if case.weights_are_sound() else None
        return self.by_scorer(session, settings, split, answer) if scores is None else scores

    def left_to_model(self, answer: Answer) -> bool:
        """Whether what the metric needs could not be said, and the model came along to be asked by the scorer."""
        return answer.models is not None and answer.labels is None

    def check(self, case: Case, answer: Answer) -> None:
        """Refuse an answer without what the metric needs."""
        self.labels(case, answer)

    def scores(self, case: Case, answer: Answer) -> Scores | None:
        """One a setting; None where scikit-learn shall decide."""
        raise NotImplementedError

    def labels(self, case: Case, answer: Answer) -> NDArray[np.integer[Any]]:  # (settings, rows)
        if answer.labels is None:
            raise lacks(case.session, self.name, "predicted labels")
        return answer.labels


class ValueMetric(VectorisedMetric):
    """A metric of regressions."""

    need = Need.VALUES
    kind = Values

    def left_to_model(self, answer: Answer) -> bool:
        return answer.models is not None and answer.values is None

    def check(self, case: Case, answer: Answer) -> None:
        self.values(case, answer)

    def values(self, case: Case, answer: Answer) -> Floats:  # (settings, rows)
        if answer.values is None:
            raise lacks(case.session, self.name, "predicted values")
        return answer.values
