"""The session for every estimator: nothing is shared, each setting is fitted on each split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from foldwise.data.target import encode_target
from foldwise.folds.protocol import Answer, Block, Failure, Need, Params, Rows
from foldwise.folds.rows import count_rows, take_params, take_rows


class RefitSession:
    """clone → set_params → fit → predict, as scikit-learn would."""

    shares = "refit"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params or {}
        self._n_rows = count_rows(X)
        if is_classifier(estimator):
            target = encode_target(y, self._n_rows)
            self.classes, self.codes = target.classes, target.codes

    def lazy(self, params: Params) -> frozenset[str]:
        return frozenset()

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        X_test = take_rows(self.X, test)
        for i, setting in enumerate(settings):
            try:
                answer: Answer | Failure = self._one(self.model(setting, train), X_test, need)
            except Exception as error:
                answer = Failure(error)
            yield Block(i, i + 1, answer)

    def model(self, setting: Params, train: Rows) -> Any:
        model = clone(self.estimator).set_params(**{name: clone(v, safe=False) for name, v in setting.items()})
        fit_params = take_params(self.fit_params, train, self._n_rows)
        return model.fit(take_rows(self.X, train), take_rows(self.y, train), **fit_params)

    def _one(self, model: Any, X_test: Any, need: Need) -> Answer:
        models = (model,) if need & Need.MODEL else None
        if not need & (Need.LABELS | Need.PROBA):
            return Answer(None, None, models)
        place = {label: i for i, label in enumerate(self.classes.tolist())}
        labels = np.array([place[label] for label in np.asarray(model.predict(X_test)).tolist()], dtype=np.intp)
        if not need & Need.PROBA:
            return Answer(labels[None], None, models)
        log_proba = np.full((len(labels), len(self.classes)), -np.inf)
        log_proba[:, [place[label] for label in model.classes_.tolist()]] = log_probabilities(model, X_test)
        return Answer(labels[None], log_proba[None], models)


def log_probabilities(model: Any, X: Any) -> Any:
    """Logarithms from whichever the model has."""
    if hasattr(model, "predict_log_proba"):
        return model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))
