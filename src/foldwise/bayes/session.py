"""The fold session of `NaiveBayes`: facts once per training set, every setting finished from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from foldwise.bayes.assignment import Block as FamilyBlock
from foldwise.bayes.estimator import check_classes
from foldwise.bayes.facts import Facts
from foldwise.bayes.families.protocol import AnyView
from foldwise.bayes.posterior import to_comparable, to_log_probabilities
from foldwise.data.cells import read_only
from foldwise.data.encoded import encode_view, take_view
from foldwise.data.target import Target, check_weights, encode_target
from foldwise.folds.protocol import Answer, Block, Failure, Need, Params, Rows

LAZY = frozenset({"families", "alpha", "var_floor", "ddof", "priors", "missing", "unseen", "n_jobs"})


@dataclass(frozen=True)
class Opened:
    """The table encoded for one assignment of families."""

    view: Any
    blocks: tuple[FamilyBlock, ...]
    template: Any  # an estimator that knows names and schema


class NaiveBayesSession:
    """Settings that differ in smoothing, floors, priors or policies share their facts; families share the table."""

    shares = "summaries"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params
        self._table: AnyView = clone(estimator)._view(X, reset=True)
        target = encode_target(y, self._table.n_rows)
        self.classes, self.codes = target.classes, target.codes
        weight = fit_params.get("sample_weight")
        self._weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        self._opened: dict[str, Opened] = {}

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        learned: dict[str, Facts | Exception] = {}
        tested: dict[str, AnyView] = {}
        for i, setting in enumerate(settings):
            try:
                model = self._model(setting, train, learned)
                opened = self._open(model)
                key = repr(opened.blocks)
                if key not in tested:
                    tested[key] = take_view(opened.view, test)
                answer: Answer | Failure = self._score(model, tested[key], need)
            except Exception as error:
                answer = Failure(error)
            yield Block(i, i + 1, answer)

    def model(self, setting: Params, train: Rows) -> Any:
        return self._model(setting, train, {})

    def _model(self, setting: Params, train: Rows, learned: dict[str, Facts | Exception]) -> Any:
        """The estimator that `fit` on the training rows would give, from facts that are learned once."""
        model = clone(self.estimator).set_params(**setting)
        parameters = model._setting()
        opened = self._open(model)
        key = repr(opened.blocks)
        if key not in learned:
            try:
                learned[key] = self._learn(opened, train)
            except Exception as error:
                learned[key] = error
        facts = learned[key]
        if isinstance(facts, Exception):
            raise facts
        model._adopt(opened.template)
        return model._finish(facts, parameters)

    def _open(self, model: Any) -> Opened:
        key = repr(model.families)
        if key not in self._opened:
            template = clone(model)
            template._view(self.X, reset=True)
            blocks = template._assign(self._table)
            categorical = [j for block in blocks if block.family == "categorical" for j in block.columns]
            self._opened[key] = Opened(encode_view(self._table, categorical), blocks, template)
        return self._opened[key]

    def _learn(self, opened: Opened, train: Rows) -> Facts:
        present, codes = np.unique(self.codes[train], return_inverse=True)
        check_classes(self.classes[present])
        weights = check_weights(None if self._weights is None else self._weights[train], len(train))
        target = Target(self.classes[present], read_only(codes.astype(np.int64)))
        return Facts.learn(take_view(opened.view, train), target, weights, opened.blocks, n_jobs=1)

    def _score(self, model: Any, view: AnyView, need: Need) -> Answer:
        scores, _ = model._score(view, to_log_probabilities if need & (Need.PROBA | Need.MODEL) else to_comparable)
        place = {label: i for i, label in enumerate(self.classes.tolist())}
        places = np.array([place[label] for label in model.classes_.tolist()])
        labels = places[scores.argmax(axis=1)]
        if not need & (Need.PROBA | Need.MODEL):
            return Answer(labels[None])
        log_proba = np.full((len(scores), len(self.classes)), -np.inf)
        log_proba[:, places] = scores
        return Answer(labels[None], log_proba[None])
