"""Sessions that fit a model for each setting and let it predict: the base of most sessions, and plain refits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from foldwise.data.target import encode_target
from foldwise.folds.fallback import raise_hidden
from foldwise.folds.groups import group_settings
from foldwise.folds.protocol import Answer, Block, Failure, Labels, Need, Params, Rows, TargetValues
from foldwise.folds.rows import count_rows, is_square, take_columns, take_pairs, take_params, take_rows, takes_pairs

BLOCK_CELLS = 1 << 18  # probabilities in one block, so that metrics read them from the processor's cache

IndexedAnswer = tuple[Sequence[int], Answer | Failure]  # indices of settings, and their answer
Refit = Callable[[], Any]


class ModelSession:
    """A session that fits groups of settings together; a subclass defines `lazy` and `fit_group`."""

    shares = "refit"
    threads = False
    order_free = False

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params or {}
        self.n_rows, self.is_square = count_rows(X), is_square(X)
        self.target = target_of(estimator, y, self.n_rows)
        # read once: scikit-learn inspects the signature on each call
        self.own_params: dict[str, Any] = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}

    @classmethod
    def with_target(cls, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Self | None:
        """A session, or None if metrics cannot read its target, such as one with several columns."""
        session = cls(estimator, X, y, fit_params)
        return None if session.target is None else session

    def lazy(self, params: Params) -> frozenset[str]:
        return frozenset()

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from in_order(self._pieces(settings, train, test, need))

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        """The answers to all settings, group by group."""
        for group in group_settings(self, settings):
            chosen = [settings[i] for i in group]
            X_test = self.test_table(chosen[0], train, test)  # a copy: a model may transform its input in place
            for i, answer in zip(group, self.answer_group(chosen, train, X_test, need), strict=True):
                yield [i], answer

    def answer_group(
        self, settings: Sequence[Params], train: Rows, X_test: Any, need: Need
    ) -> Iterator[Answer | Failure]:
        """The answers to settings of one group, in order."""
        for setting, model in zip(settings, self.fit_group(settings, train), strict=True):
            refit = None if self.shares == "refit" else partial(self.refit, setting, train)
            yield model if isinstance(model, Failure) else self.predict(model, X_test, need, refit)

    def fit_group(self, settings: Sequence[Params], train: Rows) -> Iterator[Any]:
        """The fitted models of settings of one group, in order; a Failure if a fit raised."""
        for setting in settings:
            yield self.fit_alone(setting, train)

    def fit_alone(self, setting: Params, train: Rows) -> Any:
        """The refitted model of one setting, or a Failure."""
        try:
            return self.refit(setting, train)
        except Exception as error:  # a refit is the reference, so its error is the answer
            return Failure(error)

    def answer_alone(self, setting: Params, train: Rows, X_test: Any, need: Need) -> Answer | Failure:
        """The answer to one setting by a refit."""
        model = self.fit_alone(setting, train)
        return model if isinstance(model, Failure) else self.predict(model, X_test, need)

    def answer_by_refit(self, setting: Params, train: Rows, test: Rows, need: Need) -> Answer | Failure:
        """The same for rows of the table."""
        model = self.fit_alone(setting, train)
        return model if isinstance(model, Failure) else self.predict(model, self.test_table(setting, train, test), need)

    def merged(self, setting: Params) -> dict[str, Any]:
        """The parameters of the estimator, updated by a setting."""
        return {**self.own_params, **setting}

    def block_size(self, n_test: int) -> int:
        """How many settings are answered at a time if probabilities are needed."""
        n_classes = len(self.target.classes) if isinstance(self.target, Labels) else 1
        return max(1, BLOCK_CELLS // max(1, n_test * n_classes))

    def model(self, setting: Params, train: Rows) -> Any:
        model = next(iter(self.fit_group([setting], train)))
        if isinstance(model, Failure):
            raise model.error
        return model

    def refit(self, setting: Params, train: Rows) -> Any:
        """clone → set_params → fit, as scikit-learn does it."""
        return self.fit(self.unfitted(setting), train, self.table_of(setting))

    def unfitted(self, setting: Params) -> Any:
        """clone → set_params."""
        model = clone(self.estimator)
        model.set_params(**{name: clone(v, safe=False) for name, v in setting.items()})  # FrozenEstimator returns None
        return model

    def table_of(self, setting: Params) -> Any:
        """The columns that the model of a setting is fitted on."""
        return self.X

    def test_table(self, setting: Params, train: Rows, test: Rows) -> Any:
        """The test rows for the model of a setting; the columns of a table of pairs are the training rows."""
        pairs = self.is_square and takes_pairs(self.unfitted(setting))
        return take_pairs(self.X, test, train) if pairs else take_rows(self.table_of(setting), test)

    def train_table(self, model: Any, train: Rows, X: Any = None) -> Any:
        """The training rows of X, by default of the whole table; of a table of pairs, also these columns only."""
        X = self.X if X is None else X
        return take_pairs(X, train, train) if self.is_square and takes_pairs(model) else take_rows(X, train)

    def fit(self, model: Any, train: Rows, X: Any = None) -> Any:
        """The model, fitted on the training rows of X, by default of the whole table."""
        fit_params = take_params(self.fit_params, train, self.n_rows)
        X = self.train_table(model, train, X)
        # what `fit` returns is ignored, as in scikit-learn's searches
        model.fit(X, **fit_params) if self.y is None else model.fit(X, take_rows(self.y, train), **fit_params)
        return model

    def predict(self, model: Any, X_test: Any, need: Need, refit: Refit | None = None) -> Answer | Failure:
        """The predictions of a fitted model for the test rows; `refit` fits it alone, if it comes from shared work."""
        return predictions(model, X_test, need, self.target, refit)


class RefitSession(ModelSession):
    """A session for any estimator: each setting is fitted on each split, and nothing is shared.

    Parameters
    ----------
    estimator : estimator
        The estimator that settings are applied to.
    X, y : table and target
        All rows.
    fit_params : dict, optional
        Further arguments of `fit`; arrays with one entry per row are split like the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> session = RefitSession(DecisionTreeClassifier(random_state=0), *load_iris(return_X_y=True))
    >>> train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    >>> [block.answer.labels.shape for block in session.answer([{"max_depth": 1}], train, test, Need.LABELS)]
    [(1, 75)]
    """


class SubsetRefitSession(ModelSession):
    """A session whose settings are `{"columns": indices}`: the estimator is fitted on these columns alone.

    A session that can do this faster has a method `subsets` (see `HasSubsets`).
    """

    def table_of(self, setting: Params) -> Any:
        return take_columns(self.X, setting["columns"])

    def unfitted(self, setting: Params) -> Any:
        return super().unfitted({name: value for name, value in setting.items() if name != "columns"})


def in_order(pieces: Iterable[IndexedAnswer]) -> Iterator[Block]:
    """Blocks in the order of settings; consecutive settings that were answered together stay together."""
    waiting: dict[int, tuple[Answer | Failure, int]] = {}
    done = 0
    for indices, answer in pieces:
        waiting.update({i: (answer, at) for at, i in enumerate(indices)})
        while done in waiting:
            start, (found, at) = done, waiting.pop(done)
            done += 1
            while done in waiting and waiting[done][0] is found and waiting[done][1] == at + done - start:
                del waiting[done]
                done += 1
            yield Block(start, done, found if isinstance(found, Failure) else found.cut(at, at + done - start))


def target_of(estimator: Any, y: Any, n_rows: int) -> Labels | TargetValues | None:
    """The target as metrics read it; None without a target, with several columns, or with unlabeled rows."""
    if y is None or len(getattr(y, "shape", np.shape(y))) != 1:
        return None
    if type(estimator).__module__.startswith("sklearn.semi_supervised"):
        return None
    if is_classifier(estimator):
        target = encode_target(y, n_rows)
        return Labels(target.classes, target.codes)
    if is_regressor(estimator):
        return TargetValues(np.asarray(y, dtype=np.float64))
    return None


def predictions(
    model: Any, X: Any, need: Need, target: Labels | TargetValues | None, refit: Refit | None = None
) -> Answer:
    """The needed predictions that the model has, as an answer of one setting.

    If the model raises, or predicts classes that are not in the target, the answer contains the model itself, and each
    scorer calls it. In strict mode, a model that comes from shared work may only raise if its refit does.
    """
    if target is None:
        return Answer(models=(model,))
    found: dict[str, Any] = {}
    parts: tuple[tuple[str, Any, Callable[[Any, Any, Any], Any]], ...] = (
        ("values", isinstance(target, TargetValues) and need & Need.VALUES, values_of),
        ("labels", isinstance(target, Labels) and need & Need.LABELS, labels_of),
        ("decision", isinstance(target, Labels) and need & Need.DECISION, decisions_of),
        ("proba", isinstance(target, Labels) and need & (Need.PROBA | Need.DECISION), probabilities_of),
    )
    for name, wanted, read in parts:
        if wanted and not (name == "proba" and not need & Need.PROBA and found.get("decision") is not None):
            try:
                found[name] = read(model, X, target)
            except Exception as error:  # the scorer calls the model itself and meets the error
                if refit is not None:
                    raise_hidden(error, partial(read_refit, refit, read, X, target))
                found["models"] = (model,)
    if need & Need.MODEL:
        found["models"] = (model,)
    return Answer(**found)


def read_refit(refit: Refit, read: Callable[[Any, Any, Any], Any], X: Any, target: Any) -> Any:
    return read(refit(), X, target)


def values_of(model: Any, X: Any, target: TargetValues) -> NDArray[np.float64]:
    return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)[None]


def labels_of(model: Any, X: Any, target: Labels) -> NDArray[np.intp]:
    labels = np.asarray(model.predict(X))
    if labels.ndim == 2 and labels.shape[1] == 1:  # CatBoost with more than two classes
        labels = labels[:, 0]
    return class_indices(labels, target.classes)[None]


def decisions_of(model: Any, X: Any, target: Labels) -> NDArray[np.float64] | None:
    if not hasattr(model, "decision_function"):
        return None
    return np.asarray(model.decision_function(X), dtype=np.float64)[None]


def probabilities_of(model: Any, X: Any, target: Labels) -> NDArray[Any] | None:
    if not hasattr(model, "predict_proba"):
        return None
    found = model.predict_proba(X)
    indices = class_indices(model.classes_, target.classes)
    if found.shape[1:] != indices.shape:
        raise ValueError("predict_proba must return one column per class of the model.")
    # in the model's precision: scikit-learn clips single-precision probabilities at another value
    proba = np.zeros((1, len(found), len(target.classes)), dtype=found.dtype)
    proba[:, :, indices] = found
    return proba


def class_indices(labels: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """The indices of labels in the sorted classes; raises if a label is not among them."""
    labels = np.asarray(labels)
    indices: NDArray[np.intp] = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not (classes[indices] == labels).all():
        raise ValueError("a predicted label is not among the classes of the target.")
    return indices
