"""The fold session of `Calibrated`: the session of the classifier inside answers calibration folds too.

Inside each training set the calibration folds are those that `fit` would make; their rows are rows of the whole table,
so one session of the classifier answers them all, and a grid over methods costs its answers once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foldwise.data.arguments import check_jobs, one_of
from foldwise.data.target import check_weights
from foldwise.decisions.calibrated import calibration_data, calibration_splits, empty_data
from foldwise.decisions.calibration import METHODS, CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import Calibrator, session_scores
from foldwise.decisions.wrapper_session import WrapperSession, branches_of, inside
from foldwise.folds.model_session import IndexedAnswer
from foldwise.folds.protocol import Answer, Failure, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows

BLOCK_CELLS = 1 << 23  # scores that are held at a time


class CalibratedSession(WrapperSession):
    """Settings that differ in the method share all answers; those that differ inside share what their session does."""

    own = frozenset({"method", "n_jobs"})

    def _group(
        self, indices: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[IndexedAnswer]:
        assert isinstance(self.target, Labels)
        branches = branches_of(indices, settings)
        cells = (len(train) + len(test)) * len(self.target.classes)
        size = max(1, BLOCK_CELLS // max(1, cells))
        for start in range(0, len(branches), size):
            yield from self._some(branches[start : start + size], settings, train, test, need)

    def _some(
        self, branches: Sequence[Sequence[int]], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[IndexedAnswer]:
        """The answers to settings of a few classifiers."""
        assert isinstance(self.target, Labels)
        present, codes = np.unique(self.target.codes[train], return_inverse=True)
        asked = tuple(inside(settings[branch[0]]) for branch in branches)
        tested = session_scores(self.inner, asked, train, test, present)
        wanted = any(self.param(settings[i], "method") != "none" for branch in branches for i in branch)
        data_by_model = (
            self._calibration_data(asked, settings[branches[0][0]], train, present, codes) if wanted else None
        )
        for b, branch in enumerate(branches):
            learned: dict[Any, Calibrator | Failure] = {}
            for i in branch:
                method = self.param(settings[i], "method")
                problem = self._problem(settings[i]) or tested[b]
                if isinstance(problem, Failure):
                    yield [i], problem
                    continue
                if method not in learned:
                    data = empty_data(len(present)) if data_by_model is None or method == "none" else data_by_model[b]
                    learned[method] = learned_map(method, data)
                yield [i], self._answer(learned[method], problem, present)

    def _problem(self, setting: Params) -> Failure | None:
        """What `fit` would refuse before it looks at rows."""
        try:
            one_of("method", self.param(setting, "method"), METHODS)
            check_jobs(self.param(setting, "n_jobs"))
        except Exception as error:
            return Failure(error)
        return None

    def _calibration_data(
        self, asked: Sequence[Params], setting: Params, train: Rows, present: Any, codes: Any
    ) -> list[CalibrationData | Failure]:
        """Out-of-fold scores inside the training rows, by each classifier."""
        if len(present) == 1:
            return [empty_data(1)] * len(asked)
        try:
            given = self.fit_params.get("sample_weight")
            weights = check_weights(None if given is None else np.asarray(given)[train], len(train))
            cv = self.param(setting, "cv")
            X = take_rows(self.X, train) if hasattr(cv, "split") else None
            splits = calibration_splits(cv, X, take_rows(self.y, train), codes)
        except Exception as error:
            return [Failure(error)] * len(asked)
        found = [session_scores(self.inner, asked, train[split.train], train[split.test], present) for split in splits]
        data_by_model: list[CalibrationData | Failure] = []
        for b in range(len(asked)):
            parts: list[ClassScores] = []
            failure = None
            for of_split in found:
                one = of_split[b]
                if isinstance(one, Failure):
                    failure = failure or one
                else:
                    parts.append(one)
            whole = np.ones(len(train)) if weights is None else weights
            data_by_model.append(failure or calibration_data(parts, splits, codes, whole))
        return data_by_model

    def _answer(self, learned: Calibrator | Failure, scores: ClassScores, present: Any) -> Answer | Failure:
        if isinstance(learned, Failure):
            return learned
        assert isinstance(self.target, Labels)
        log_proba = learned.log_proba(scores)
        answer = Answer(labels=log_proba.argmax(axis=1)[None], log_proba=log_proba[None])
        return answer.among(present, len(self.target.classes))


def learned_map(method: str, data: CalibrationData | Failure) -> Calibrator | Failure:
    """The map of a method, or why there is none."""
    if isinstance(data, Failure):
        return data
    try:
        return fit_calibrator(method, data)[1]
    except Exception as error:
        return Failure(error)
