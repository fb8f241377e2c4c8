"""The fold session of `Calibrated`: one session of the wrapped classifier also serves the calibration folds.

The calibration folds inside each training set are those that `fit` would make. Their rows are rows of the whole table,
so one session of the classifier predicts all of them, and a grid over methods needs these predictions only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from foldwise.data.arguments import check_jobs, one_of
from foldwise.data.target import check_weights
from foldwise.decisions.calibrated import calibration_data, calibration_splits, empty_data
from foldwise.decisions.calibration import METHODS, CalibrationData, ClassScores, fit_calibrator
from foldwise.decisions.calibration.scores import Calibrator, IdentityCalibrator, session_scores
from foldwise.decisions.wrapper_session import WrapperSession, branches_of, inside
from foldwise.folds.model_session import IndexedAnswer
from foldwise.folds.protocol import Answer, Failure, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows

BLOCK_CELLS = 1 << 23  # most scores in memory at a time


class CalibratedSession(WrapperSession):
    """Settings that differ only in the method share all predictions of the wrapped classifier."""

    own = frozenset({"method", "n_jobs"})

    def _group(
        self, indices: Sequence[int], settings: Sequence[Params], train: Rows, test: Rows, need: Need
    ) -> Iterator[IndexedAnswer]:
        assert isinstance(self.target, Labels)
        branches = branches_of(indices, settings)
        cells = (len(train) + len(test)) * len(self.target.classes)
        size = max(1, BLOCK_CELLS // max(1, cells))
        for start in range(0, len(branches), size):
            yield from self._some(branches[start : start + size], settings, train, test)

    def _some(
        self, branches: Sequence[Sequence[int]], settings: Sequence[Params], train: Rows, test: Rows
    ) -> Iterator[IndexedAnswer]:
        """Answer the settings of a few branches, each of which is one setting of the wrapped classifier."""
        assert isinstance(self.target, Labels)
        present, codes = np.unique(self.target.codes[train], return_inverse=True)
        asked = tuple(inside(settings[branch[0]]) for branch in branches)
        tested = session_scores(self.inner, asked, train, test, present)
        calibrates = any(self.param(settings[i], "method") != "none" for branch in branches for i in branch)
        data: list[CalibrationData | Failure] = [empty_data(len(present))] * len(branches)
        if calibrates and len(present) > 1:
            data = self._calibration_data(asked, settings[branches[0][0]], train, present, codes)
        for branch, scores, of_branch in zip(branches, tested, data, strict=True):
            fitted = cache(partial(fitted_calibrator, of_branch))  # settings of one method share their calibrator
            for i in branch:
                yield [i], self._answer(settings[i], scores, fitted, present)

    def _answer(
        self, setting: Params, scores: ClassScores | Failure, fitted: Callable[[str], Calibrator], present: Any
    ) -> Answer | Failure:
        """Answer one setting; errors in its arguments are reported before errors of the wrapped classifier."""
        assert isinstance(self.target, Labels)
        try:
            method = one_of("method", self.param(setting, "method"), METHODS)
            check_jobs(self.param(setting, "n_jobs"))
            if isinstance(scores, Failure):
                return scores
            log_proba = fitted(method).log_proba(scores)
        except Exception as error:  # not hidden: the failure is the answer
            return Failure(error)
        answer = Answer(labels=log_proba.argmax(axis=1)[None], log_proba=log_proba[None])
        return answer.among(present, len(self.target.classes))

    def _calibration_data(
        self, asked: Sequence[Params], setting: Params, train: Rows, present: Any, codes: Any
    ) -> list[CalibrationData | Failure]:
        """Compute out-of-fold scores inside the training rows, for each setting of the wrapped classifier."""
        try:
            given = self.fit_params.get("sample_weight")
            weights = check_weights(None if given is None else np.asarray(given)[train], len(train))
            cv = self.param(setting, "cv")
            X = take_rows(self.X, train) if hasattr(cv, "split") else None
            splits = calibration_splits(cv, X, take_rows(self.y, train), codes)
        except Exception as error:  # not hidden: the failure is the answer
            return [Failure(error)] * len(asked)
        found = [session_scores(self.inner, asked, train[split.train], train[split.test], present) for split in splits]
        whole = np.ones(len(train)) if weights is None else weights
        data: list[CalibrationData | Failure] = []
        for of_model in zip(*found, strict=True) if found else [()] * len(asked):
            parts = [one for one in of_model if isinstance(one, ClassScores)]
            failures = [one for one in of_model if isinstance(one, Failure)]
            data.append(failures[0] if failures else calibration_data(parts, splits, codes, whole))
        return data


def fitted_calibrator(data: CalibrationData | Failure, method: str) -> Calibrator:
    """Fit the calibrator of a method; raise the error of the out-of-fold scores if they failed."""
    if method == "none":
        return IdentityCalibrator()
    if isinstance(data, Failure):
        raise data.error
    return fit_calibrator(method, data)[1]
