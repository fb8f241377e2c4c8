"""Random problems for metrics: models with known answers, odd splits, weights, and the peers' scorers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from foldwise.evaluation.metrics import metrics_of
from foldwise.folds import Answer, Need, RefitSession, Split

LAYOUTS = ("settings", "rows", "int8 rows", "int16 rows", "strided")


class Told(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are drawn by row number and seed; it knows the classes it was fitted on."""

    def __init__(self, seed=0, sharp=1.0, n_classes=2, n_rows=100):
        self.seed, self.sharp, self.n_classes, self.n_rows = seed, sharp, n_classes, n_rows

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.columns_ = np.unique(y), np.unique(X[:, 1].astype(int))
        return self

    def predict_proba(self, X):
        rng = np.random.default_rng(self.seed)
        raw = rng.exponential(size=(self.n_rows, self.n_classes)).round(1) + 0.01  # rounded: ties
        raw = raw[X[:, 0].astype(int)] ** self.sharp
        if self.sharp < 0:  # one class for all
            raw = np.tile(np.arange(1.0, self.n_classes + 1), (len(X), 1))
        raw = raw[:, self.columns_]
        return raw / raw.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Deciding(Told):
    """The same with decision values, which are not its probabilities."""

    def decision_function(self, X):
        rng = np.random.default_rng(self.seed + 99)
        values = rng.normal(size=(self.n_rows, self.n_classes)).round(1)[X[:, 0].astype(int)][:, self.columns_]
        return values[:, 0] if len(self.columns_) <= 2 else values


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """A classifier without probabilities."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class ToldValues(RegressorMixin, BaseEstimator):
    """A regressor whose values are drawn by row number and seed."""

    def __init__(self, seed=0, scale=1.0, n_rows=100):
        self.seed, self.scale, self.n_rows = seed, scale, n_rows

    def fit(self, X, y, sample_weight=None):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return self.mean_ + self.scale * np.random.default_rng(self.seed).normal(size=self.n_rows)[X[:, 0].astype(int)]


@dataclass
class Problem:
    """A session, a split of it and settings to score."""

    session: RefitSession
    split: Split
    settings: list[dict[str, Any]]

    def answer(self, settings, need=Need.LABELS | Need.PROBA | Need.DECISION | Need.VALUES, layout="settings"):
        blocks = list(self.session.answer(settings, self.split.train, self.split.test, need))
        parts = {}
        for name in ("labels", "proba", "decision", "values"):
            found = [getattr(block.answer, name) for block in blocks]
            parts[name] = None if found[0] is None else np.concatenate(found)
        if parts["labels"] is not None:
            parts["labels"] = laid_out(parts["labels"], layout)
        return Answer(**parts)

    def metric(self, name):
        return metrics_of(name, self.session.estimator)[0]["score"]

    def ours(self, name, settings, layout="settings", need=None):
        metric = self.metric(name)
        answer = self.answer(settings, metric.need if need is None else need, layout)
        return metric(self.session, settings, self.split, answer)

    def theirs(self, name, setting):
        session, split = self.session, self.split
        model = session.refit(setting, split.train)
        weights = session.fit_params.get("sample_weight")
        extra = {} if weights is None else {"sample_weight": weights[split.test]}
        return get_scorer(name)(model, session.X[split.test], session.y[split.test], **extra)


def laid_out(labels, layout):
    """The same labels in another layout or type."""
    if layout == "strided":
        return np.repeat(labels, 2, axis=1)[:, ::2]
    if layout == "settings":
        return labels
    kind = {"rows": np.intp, "int8 rows": np.int8, "int16 rows": np.int16}[layout]
    return np.ascontiguousarray(labels.T.astype(kind)).T


def classification(
    rng, n_classes, *, kind="int", weights=None, train_lacks=(), test_lacks=(), model=Told, n=60, sharp=1
):
    """A random problem; some classes may be absent from training or test rows."""
    codes = np.r_[np.arange(n_classes), np.arange(n_classes), rng.integers(0, n_classes, n)]
    names = {
        "int": np.arange(n_classes),
        "from one": np.arange(1, n_classes + 1),
        "text": np.array([f"class {c}" for c in range(n_classes)]),
        "object": np.array([f"class {c}" for c in range(n_classes)], dtype=object),
        "bool": np.array([False, True]),
    }[kind]
    order = rng.permutation(len(codes))
    train, test = order[: len(codes) // 2], order[len(codes) // 2 :]
    train = np.union1d(train, np.arange(n_classes))
    test = np.union1d(np.setdiff1d(test, np.arange(n_classes)), np.arange(n_classes, 2 * n_classes))
    train = np.setdiff1d(train, test)
    train = train[~np.isin(codes[train], train_lacks)]
    test = test[~np.isin(codes[test], test_lacks)]
    X = np.c_[np.arange(len(codes)), codes].astype(float)
    fit_params = {} if weights is None else {"sample_weight": draw_weights(rng, weights, codes)}
    estimator = model(n_classes=n_classes, n_rows=len(codes), sharp=sharp)
    session = RefitSession(estimator, X, names[codes], fit_params)
    return Problem(session, Split(train, test), [{"seed": s} for s in range(4)])


def regression(rng, *, weights=None, n=60, constant=False):
    y = np.full(n, 3.0) if constant else rng.normal(5, 2, n)
    X = np.c_[np.arange(n), np.zeros(n)].astype(float)
    fit_params = {} if weights is None else {"sample_weight": draw_weights(rng, weights, np.zeros(n, dtype=int))}
    session = RefitSession(ToldValues(n_rows=n), X, y, fit_params)
    order = rng.permutation(n)
    return Problem(session, Split(order[: n // 2], order[n // 2 :]), [{"seed": s, "scale": s / 3} for s in range(5)])


def draw_weights(rng, kind, codes):
    weights = rng.exponential(size=len(codes))
    if kind == "whole":
        return rng.integers(1, 5, len(codes))
    if kind == "some zero":
        weights[rng.random(len(codes)) < 0.3] = 0
    if kind == "class of none":
        weights[codes == codes.max()] = 0
    return weights


def told(call, *args):
    """The value or the error, and the warnings, of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call(*args)
        except Exception as error:
            return error, frozenset()
    return value, frozenset((one.category, str(one.message)) for one in caught)


def assert_as_scikit_learn(problem, name, layout="settings"):
    """Setting by setting the same value, or the same error, and the same warnings; together the same values."""
    values = []
    for setting in problem.settings:
        theirs, their_warnings = told(problem.theirs, name, setting)
        ours, our_warnings = told(problem.ours, name, [setting], layout)
        if isinstance(theirs, Exception):
            assert isinstance(ours, Exception), (name, theirs, ours)
            assert (type(ours), str(ours)) == (type(theirs), str(theirs))
            continue
        if isinstance(ours, Exception):
            raise ours
        assert_equal_scores(name, ours, [theirs])
        if not (name == "balanced_accuracy" and "sample_weight" in problem.session.fit_params):
            assert our_warnings == their_warnings, name
        values.append(theirs)
    if len(values) == len(problem.settings):
        together, _ = told(problem.ours, name, problem.settings, layout)
        assert_equal_scores(name, together, values)
    return values


def assert_equal_scores(name, ours, theirs):
    assert ours.shape == (len(theirs),)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15, err_msg=name)
