"""Any scikit-learn scorer or callable as a metric: called once per setting, with the model or a stand-in for it.

Sample weights passed to `fit` also weight the test rows if the scorer accepts them, as in scikit-learn's searches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Answer, Labels, Need, Params
from foldwise.folds.rows import count_rows, take_params, take_rows
from foldwise.folds.splits import Split


class ScorerMetric:
    """A scorer, called with the fitted model, or with a stand-in that returns the predictions of a session."""

    need = Need.MODEL
    bounds = (-np.inf, np.inf)  # not known
    has_losses = False

    def __init__(self, scorer: Callable[..., Any], wants_model: bool = False) -> None:
        self.scorer = scorer
        self.wants_model = wants_model  # whether it may use more of a model than its predictions
        self.takes_weight = takes_weight(scorer)

    def __repr__(self) -> str:
        return f"the scorer {getattr(self.scorer, '__name__', repr(self.scorer))}"

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Floats:
        target = () if session.y is None else (take_rows(session.y, split.test),)
        given = self.given(session, split)
        whole = take_rows(session.X, split.test)
        scores: list[Any] = []
        for i, setting in enumerate(settings):
            model = self.model(session, setting, split, answer, i)
            X = whole
            if isinstance(session, ModelSession) and not isinstance(model, AnsweredClassifier | AnsweredRegressor):
                own = session.is_square or session.table_of(setting) is not session.X
                X = session.test_table(setting, split.train, split.test) if own else whole
            try:
                scores.append(self.scorer(model, X, *target, **given))
            except AttributeError as error:
                if not isinstance(model, AnsweredClassifier):
                    raise
                raise lacks(session, f"the scorer {self.scorer!r}", "another kind of prediction") from error
        several = any(isinstance(score, dict) for score in scores)
        return np.array(scores, dtype=object if several else np.float64)

    def given(self, session: Any, split: Split) -> dict[str, Any]:
        """Return what the scorer is called with besides the test rows: weights, or metadata routed to it."""
        routed = getattr(session, "score_params", None)
        if routed is not None:
            return take_params(routed, split.test, count_rows(session.X))
        weights = test_weights(session, split) if self.takes_weight else None
        return {} if weights is None else {"sample_weight": weights}

    def model(self, session: Any, setting: Params, split: Split, answer: Answer, i: int) -> Any:
        """Return the model, or its stand-in, that the scorer is called with."""
        if answer.models is not None:
            return answer.models[i]
        if not self.wants_model and isinstance(session.target, Labels):
            return AnsweredClassifier(session, answer, i, split)
        if not self.wants_model and answer.values is not None:
            return AnsweredRegressor(answer, i)
        return session.model(setting, split.train)


class AnsweredClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A stand-in for a fitted classifier, which returns stored predictions for the test rows."""

    def __init__(self, session: Any, answer: Answer, i: int, split: Split) -> None:
        self.session, self.answer, self.i, self.split = session, answer, i, split
        self._present = np.flatnonzero(split.trained(session.target.codes, len(session.target.classes)))
        self.classes_ = session.target.classes[self._present]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @available_if(lambda self: self.answer.labels is not None)  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        labels: Any = self.answer.labels
        return self.session.target.classes[labels[self.i]]

    @available_if(lambda self: has_probabilities(self.answer))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        log_proba: Any = self.answer.cut(self.i, self.i + 1).log_probabilities()
        return log_proba[0][:, self._present]

    @available_if(lambda self: has_probabilities(self.answer))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        proba: Any = self.answer.cut(self.i, self.i + 1).probabilities()
        return proba[0][:, self._present]

    @available_if(lambda self: self.answer.decision is not None)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        decision: Any = self.answer.decision
        return decision[self.i]


class AnsweredRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A stand-in for a fitted regressor, which returns stored predictions for the test rows."""

    def __init__(self, answer: Answer, i: int) -> None:
        self.answer, self.i = answer, i

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> Any:
        assert self.answer.values is not None
        return self.answer.values[self.i]


def has_probabilities(answer: Answer) -> bool:
    return answer.proba is not None or answer.log_proba is not None


def lacks(session: Any, metric: str, what: str) -> InputError:
    """Return the error for a model that cannot make the predictions a metric needs."""
    return InputError(
        f"{metric} needs {what}, which {type(session.estimator).__name__} does not provide.",
        "use a metric of labels, such as 'accuracy' or 'f1_macro', or wrap a classifier in Calibrated.",
    )


def takes_weight(scorer: Callable[..., Any]) -> bool:
    """Whether a scorer accepts sample weights, determined as in scikit-learn's searches."""
    accepts = getattr(scorer, "_accept_sample_weight", None)  # a scorer's own signature always accepts them
    return bool(accepts()) if accepts is not None else "sample_weight" in signature(scorer).parameters


def test_weights(session: Any, split: Split) -> NDArray[np.float64] | None:
    """Return the weights of the test rows, if any were passed to `fit`."""
    weights = session.fit_params.get("sample_weight")
    return None if weights is None else np.asarray(weights, dtype=np.float64)[split.test]


test_weights.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name
