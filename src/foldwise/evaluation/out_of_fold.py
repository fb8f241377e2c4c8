"""Out-of-fold predictions stored by a search, so that later estimates resample them instead of fitting again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.data.arguments import one_of
from foldwise.evaluation.metrics.protocol import SearchMetric, as_row_metric
from foldwise.folds.engine import Outcome
from foldwise.folds.protocol import Answer, FoldSession, Labels, Need, TargetValues
from foldwise.folds.splits import LeaveOneOutSplits, Split, test_rows

KEEP_BYTES = 256 * 2**20  # limit of keep="losses"
CHOICES = ("losses", "all", "none")


@dataclass(frozen=True, repr=False, eq=False)
class OutOfFoldAnswers:
    """Out-of-fold predictions of all settings of a search, as in its attribute `kept_`.

    Arrays have one row per setting, in the order of `cv_results_`, and one column per test row of every split. What was
    not stored is None. A label of -1 or a NaN marks a setting that failed.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        The row of the table that each column belongs to.
    split : ndarray of shape (m,)
        The split in which it was tested.
    target : Labels, TargetValues or None
        The true classes or values of all rows of the table.
    groups : ndarray or None
        Group numbers of all rows of the table, if passed to `fit`.
    weights : ndarray or None
        Sample weights of all rows of the table, if passed to `fit`.
    labels : ndarray of shape (n_settings, m) or None
        Predicted classes, as indices into `classes`.
    losses : ndarray of shape (n_settings, m) or None
        Losses of the metric that selects, if it is a mean over rows.
    values : ndarray of shape (n_settings, m) or None
        Predicted values of regressors.
    proba : ndarray of shape (n_settings, m, n_classes) or None
        Probabilities, if `keep="all"` or if the metric that selects needs them.
    decision : ndarray of shape (n_settings, m) or (n_settings, m, n_columns), or None
        Decision values, if the metric that selects needs them.
    why : str
        Why something was not stored.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, NaiveBayes
    >>> search = GridSearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=5).fit(*load_iris(return_X_y=True))
    >>> search.kept_
    OutOfFoldAnswers(labels (2, 150), losses (2, 150))
    """

    rows: NDArray[np.intp]
    split: NDArray[np.intp]
    target: Labels | TargetValues | None = None
    groups: NDArray[np.intp] | None = None
    weights: NDArray[np.float64] | None = None
    labels: NDArray[np.integer[Any]] | None = None
    losses: NDArray[np.float64] | None = None
    values: NDArray[np.float64] | None = None
    proba: NDArray[np.float64] | None = None
    decision: NDArray[np.float64] | None = None
    why: str = ""

    @property
    def classes(self) -> NDArray[Any] | None:
        """The classes; None for regression."""
        return self.target.classes if isinstance(self.target, Labels) else None

    @property
    def parts(self) -> dict[str, NDArray[Any]]:
        """The stored arrays that have one row per setting, by name."""
        named = {name: getattr(self, name) for name in ("labels", "losses", "values", "proba", "decision")}
        return {name: part for name, part in named.items() if part is not None}

    @property
    def complete(self) -> NDArray[np.bool_]:  # (S,)
        """Which settings have predictions for every row."""
        lacks = [part < 0 if name == "labels" else np.isnan(part) for name, part in self.parts.items()]
        return np.asarray(~np.any([lack.reshape(len(lack), -1).any(axis=1) for lack in lacks], axis=0))

    def of_settings(self, indices: NDArray[np.intp]) -> OutOfFoldAnswers:
        """Return the predictions of some settings only.

        Parameters
        ----------
        indices : ndarray of int
            Indices of the settings.

        Returns
        -------
        OutOfFoldAnswers
            Their predictions.
        """
        parts: dict[str, Any] = {name: part[indices] for name, part in self.parts.items()}
        return replace(self, **parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OutOfFoldAnswers):
            return NotImplemented
        same = self.why == other.why and self.parts.keys() == other.parts.keys()
        pairs: list[tuple[Any, Any]] = [(self.rows, other.rows), (self.split, other.split)]
        pairs += [(part, other.parts.get(name)) for name, part in self.parts.items()]
        return same and all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        held = ", ".join(f"{name} {part.shape}" for name, part in self.parts.items())
        return f"OutOfFoldAnswers({held or 'nothing'}{f'; {self.why}' if self.why else ''})"


class OutOfFoldRecorder:
    """Records labels or values, losses and perhaps probabilities of each block of settings."""

    def __init__(self, metric: SearchMetric | None, need: Need, scores: Need) -> None:
        self._row_metric = as_row_metric(metric)
        self._scores = scores  # which of probabilities and decision values are stored
        self.need = need  # what sessions must predict for it

    def record(self, session: FoldSession, split: Split, answer: Answer) -> dict[str, Any]:
        found: dict[str, Any] = {"labels": answer.labels, "values": answer.values}
        if self._row_metric is not None:
            try:
                found["losses"] = self._row_metric.losses(session, split, answer)
            except Exception:  # the metric itself has reported it
                found["losses"] = None
        if self._scores.has(Need.DECISION):
            found["decision"] = answer.decision
        if self._scores.has(Need.PROBA) or (self._scores.has(Need.DECISION) and answer.decision is None):
            found["proba"] = answer.probabilities()
        return {name: part for name, part in found.items() if part is not None}


def recorder_for(
    keep: str,
    session: FoldSession,
    metrics: dict[str, SearchMetric],
    chooser: str,
    n_settings: int,
    splits: Sequence[Split],
) -> tuple[OutOfFoldRecorder | None, str]:
    """Return the recorder of a search, and why it does not store more.

    With keep="losses" no model predicts twice: only what the metrics need anyway is stored.
    """
    one_of("keep", keep, CHOICES)
    if keep == "none":
        return None, "keep='none'"
    if not isinstance(session.target, Labels | TargetValues):
        return None, "the target is neither classes nor numbers"
    regression = isinstance(session.target, TargetValues)
    metric = metrics.get(chooser)
    wanted = Need(0) if metric is None else metric.need
    if keep == "all":
        need = Need.VALUES if regression else Need.LABELS | Need.PROBA
        return OutOfFoldRecorder(metric, need, Need(0) if regression else Need.PROBA | (wanted & Need.DECISION)), ""
    if all(one.need == Need.MODEL for one in metrics.values()) and not session.threads:
        return None, "the scorer calls the models itself; keep='all' computes and stores predictions in addition"
    # a metric that is not a mean over rows is recomputed from probabilities or decision values
    scores = Need(0) if as_row_metric(metric) is not None else wanted & (Need.PROBA | Need.DECISION)
    n_scores = len(session.target.classes) if scores and isinstance(session.target, Labels) else 0
    cells = n_settings * len(test_rows(splits))
    if cells * ((16 if regression else 10) + 8 * n_scores) > KEEP_BYTES:
        return None, f"labels and losses would take more than {KEEP_BYTES >> 20} MB; keep='all' stores them anyway"
    # labels cost almost nothing in a session that shares work, but another call of `predict` elsewhere
    free = Need.LABELS if session.threads and not regression else Need(0)
    return OutOfFoldRecorder(metric, free, scores), ""


def gather(
    outcomes: Sequence[Outcome],
    session: FoldSession,
    n_settings: int,
    splits: Sequence[Split],
    why: str,
    groups: Any = None,
) -> OutOfFoldAnswers:
    """Join the recorded blocks of all rounds to arrays."""
    rows = test_rows(splits)
    one_each = isinstance(splits, LeaveOneOutSplits)
    ends = np.arange(len(rows) + 1) if one_each else np.cumsum([0, *(len(split.test) for split in splits)])
    number = np.repeat(np.arange(len(splits)), np.diff(ends))
    arrays: dict[str, Any] = {}
    classes = session.target.classes if isinstance(session.target, Labels) else None
    first = 0
    for outcome in outcomes:
        for settings, k, part in outcome.kept:
            for name, values in part.items():
                if name not in arrays:
                    small = np.int16 if classes is not None and len(classes) < 1 << 15 else np.int32
                    fill, kind = (-1, small) if name == "labels" else (np.nan, np.float64)
                    arrays[name] = np.full((n_settings, len(rows), *values.shape[2:]), fill, dtype=kind)
                tested = slice(None) if k is None else slice(ends[k], ends[k + 1])
                arrays[name][[first + i for i in settings], tested] = values
        first += len(next(iter(outcome.scores.values())))
    if not why and "losses" not in arrays:
        why = "no losses: the metric that selects is not a mean over rows"
    if groups is not None:
        groups = np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.intp)
    weights = session.fit_params.get("sample_weight")
    weighed = None if weights is None else np.asarray(weights, dtype=np.float64)
    return OutOfFoldAnswers(rows, number, session.target, groups, weighed, **arrays, why=why)
