"""The fold session: out-of-sample predictions of one model with many settings on one table.

A session never calls the engine and never looks at rows outside `train` and `test`. Its law is shipped as
`foldwise.testing.check_foldable`: every answer equals clone → set_params → fit(train) → predict(test).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Params = Mapping[str, Any]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Labels:
    """The target of a classification: one class index per row."""

    classes: NDArray[Any]  # sorted
    codes: NDArray[np.int64]  # indices into `classes`

    @cached_property
    def short(self) -> NDArray[np.signedinteger[Any]]:
        """The codes in the smallest integer type that holds them: splitters sort them, which is then faster."""
        return self.codes.astype(np.min_scalar_type(-len(self.classes)))

    def take(self, rows: Rows) -> Labels:
        """Some of the rows; the classes stay the same."""
        return Labels(self.classes, self.codes[rows])

    def observed(self) -> tuple[NDArray[np.intp], Labels]:
        """The indices of the classes that occur, and the same rows with only these classes."""
        present, codes = np.unique(self.codes, return_inverse=True)
        return present, Labels(self.classes[present], codes.astype(np.int64))


@dataclass(frozen=True)
class TargetValues:
    """The target of a regression."""

    numbers: NDArray[np.float64]

    def take(self, rows: Rows) -> TargetValues:
        """Some of the rows."""
        return TargetValues(self.numbers[rows])


class Need(IntFlag):
    """The kinds of predictions that a session is asked for; the needs of several metrics are combined with `|`.

    Attributes
    ----------
    LABELS : Need
        Class indices.
    PROBA : Need
        Probabilities or their logarithms; about three times the work of labels.
    MODEL : Need
        The fitted model, or probabilities from a session that fits none.
    DECISION : Need
        Decision values, or probabilities from a model without `decision_function`.
    VALUES : Need
        Predictions of a regressor.

    Examples
    --------
    >>> need = Need.LABELS | Need.PROBA
    >>> need.has(Need.PROBA), need.has(Need.MODEL)
    (True, False)
    """

    LABELS = 1
    PROBA = 2
    MODEL = 4
    DECISION = 8
    VALUES = 16

    def has(self, other: Need) -> bool:
        """Tell whether two needs have a kind in common, ten times as fast as `&`.

        Parameters
        ----------
        other : Need
            The need to compare with.

        Returns
        -------
        bool
            True if at least one kind is in both.
        """
        return self._value_ & other._value_ != 0


# of a session that fits no models
NAMES = Need.LABELS | Need.MODEL
SHARES = Need.PROBA | Need.MODEL

ARRAYS = ("labels", "log_proba", "proba", "decision", "values")  # the fields of an answer, without its models


@dataclass(frozen=True)
class Answer:
    """The predictions of several settings for the test rows, of the kinds that were requested.

    Probabilities come as logarithms or as they are, whichever the model computes first: taking a logarithm and
    exponentiating it again may break or create a tie.

    Attributes
    ----------
    labels : array of shape (settings, rows), optional
        Indices into the session's classes.
    log_proba : array of shape (settings, rows, classes), optional
        Log-probabilities; minus infinity for a class that is missing from the training rows.
    proba : array of shape (settings, rows, classes), optional
        Probabilities; 0 for a class that is missing from the training rows.
    decision : array of shape (settings, rows) or (settings, rows, columns), optional
        What `decision_function` returns.
    values : array of shape (settings, rows), optional
        Predictions of a regressor.
    models : tuple, optional
        One fitted model per setting, if models were fitted anyway.

    Examples
    --------
    >>> import numpy as np
    >>> answer = Answer(labels=np.array([[0, 1], [1, 1]]))
    >>> answer.cut(1, 2).labels
    array([[1, 1]])
    """

    labels: NDArray[np.integer[Any]] | None = None
    log_proba: NDArray[np.float64] | None = None
    proba: NDArray[np.float64] | None = None
    decision: NDArray[np.float64] | None = None
    values: NDArray[np.float64] | None = None
    models: tuple[Any, ...] | None = None

    def probabilities(self) -> NDArray[np.float64] | None:
        """Return probabilities, computed from logarithms if need be.

        Returns
        -------
        array of shape (settings, rows, classes), or None
            None if the answer holds neither probabilities nor their logarithms.
        """
        return np.exp(self.log_proba) if self.proba is None and self.log_proba is not None else self.proba

    def log_probabilities(self) -> NDArray[np.float64] | None:
        """Return log-probabilities, computed from probabilities if need be.

        Returns
        -------
        array of shape (settings, rows, classes), or None
            None if the answer holds neither probabilities nor their logarithms.
        """
        if self.log_proba is None and self.proba is not None:
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(self.proba))
        return self.log_proba

    def among(self, indices: NDArray[np.integer[Any]], n_classes: int) -> Answer:
        """Return the same predictions among more classes, of which the additional ones are impossible.

        Parameters
        ----------
        indices : array of int
            The new index of each class.
        n_classes : int
            The new number of classes.

        Returns
        -------
        Answer
            The same answer if the number of classes does not change.
        """
        if len(indices) == n_classes:
            return self
        labels = None if self.labels is None else indices.astype(self.labels.dtype)[self.labels]
        wide: dict[str, Any] = {}
        for name, impossible in (("log_proba", -np.inf), ("proba", 0.0)):
            scores = getattr(self, name)
            if scores is not None:
                wide[name] = np.full((*scores.shape[:2], n_classes), impossible)
                wide[name][:, :, indices] = scores
        return replace(self, labels=labels, **wide)

    def of_rows(self, start: int, stop: int) -> Answer:
        """Return the predictions for some of the rows.

        Parameters
        ----------
        start, stop : int
            The range of rows.

        Returns
        -------
        Answer
            The predictions for rows start to stop - 1.
        """
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return replace(self, **{name: array[:, start:stop] for name, array in arrays.items() if array is not None})

    def cut(self, start: int, stop: int) -> Answer:
        """Return the predictions of some of the settings.

        Parameters
        ----------
        start, stop : int
            The range of settings.

        Returns
        -------
        Answer
            The predictions of settings start to stop - 1.
        """
        parts = (self.labels, self.log_proba, self.proba, self.decision, self.values, self.models)
        return Answer(*(None if part is None else part[start:stop] for part in parts))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Failure:
    """The error of a setting that could not be fitted, or whose model could not predict.

    Attributes
    ----------
    error : Exception
        What was raised.
    fitted : bool
        True if the fit succeeded and the prediction failed.

    Examples
    --------
    >>> Failure(ValueError("one class only")).fitted
    False
    """

    error: Exception
    fitted: bool = False


@dataclass(frozen=True)
class Block:
    """The answer to consecutive settings of a request.

    Attributes
    ----------
    start : int
        The index of the first of these settings.
    stop : int
        One more than the index of the last.
    answer : Answer or Failure
        Their predictions, or the error that they have in common.

    Examples
    --------
    >>> block = Block(0, 2, Failure(ValueError("one class only")))
    >>> block.stop - block.start
    2
    """

    start: int
    stop: int
    answer: Answer | Failure


class FoldSession(Protocol):
    """One table and one estimator, ready to predict with any setting on any split.

    Attributes
    ----------
    estimator : estimator
        The estimator that settings are applied to.
    X, y : table and target
        All rows.
    fit_params : dict
        Further arguments of `fit`, such as `sample_weight`.
    target : Labels, TargetValues or None
        `y` as metrics read it; None for a target of another kind, or without a target.
    shares : str
        What settings and splits share, in one word; "refit" for nothing.
    threads : bool
        True if the work releases the GIL, so that threads are enough.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes
    >>> from foldwise.folds import open_session
    >>> X, y = load_iris(return_X_y=True)
    >>> session = open_session(NaiveBayes(), X, y)
    >>> train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    >>> [block] = session.answer([{"var_floor": 0.1}, {"var_floor": 0.2}], train, test, Need.LABELS)
    >>> block.answer.labels.shape
    (2, 75)
    """

    estimator: Any
    X: Any
    y: Any
    fit_params: dict[str, Any]
    target: Labels | TargetValues | None
    shares: str
    threads: bool

    @property
    def order_free(self) -> bool:
        """True if models do not depend on the order of rows, except for rounding."""

    def lazy(self, params: Params) -> frozenset[str]:
        """Name the parameters that may vary without a refit.

        Parameters
        ----------
        params : mapping
            A setting; the values of its other parameters may matter.

        Returns
        -------
        frozenset of str
            Settings that differ only in these parameters share their work.
        """

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        """Predict the test rows with each setting, trained on the training rows.

        Parameters
        ----------
        settings : sequence of mappings
            Parameters to set, by name.
        train : array of int
            Indices of training rows; a row that occurs twice counts twice.
        test : array of int
            Indices of test rows.
        need : Need
            The kinds of predictions.

        Returns
        -------
        iterator of Block
            The answers to all settings, in their order.
        """

    def model(self, setting: Params, train: Rows) -> Any:
        """Fit a model.

        Parameters
        ----------
        setting : mapping
            Parameters to set, by name.
        train : array of int
            Indices of training rows.

        Returns
        -------
        estimator
            The fitted model.
        """


@dataclass(frozen=True)
class LeaveOneOutBlock:
    """The answer to settings start to stop - 1 for rows that are left out one at a time.

    Row i of the answer is the i-th requested row, predicted by the model of all other rows. Rows whose index is in
    `refit` are left to `answer`, split by split; the predictions for them here are meaningless. A failure is that of
    every split.
    """

    start: int
    stop: int
    answer: Answer | Failure
    refit: NDArray[np.intp]


@runtime_checkable
class LeaveOneOutSession(Protocol):
    """A session that also answers all splits of leave-one-out together, in time linear in the number of rows."""

    def answers_leave_one_out(self, setting: Params) -> bool:
        """Whether `answer_leave_one_out` supports a setting."""

    def answer_leave_one_out(
        self, settings: Sequence[Params], rows: Rows, left_out: Rows, need: Need
    ) -> Iterator[LeaveOneOutBlock]:
        """Predict each of `rows[left_out]` with the model of all other `rows`."""


Opener = Callable[[Any, Any, Any, dict[str, Any]], FoldSession | None]
"""Opens a session from an estimator, X, y and fit parameters; None means that the estimator is refitted."""


@runtime_checkable
class HasSubsets(Protocol):
    """A session that can score subsets of columns faster than fits on them would (`open_subsets`)."""

    def subsets(self) -> FoldSession | None:
        """Open a session whose settings are `{"columns": indices}`, each answered as by a fit on these columns alone.

        Columns that the estimator's own parameters name are those of the whole table. None means that the subsets are
        refitted.
        """
