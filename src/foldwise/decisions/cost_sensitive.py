"""`CostSensitive`: a classifier that takes the action of least expected cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from foldwise.data.target import check_weights
from foldwise.decisions.resolved_costs import ResolvedCosts, resolve_costs
from foldwise.decisions.wrapper import Wrapper
from foldwise.errors import InputError
from foldwise.evaluation.cost import Decision
from foldwise.folds.weights import weight_params

Floats = NDArray[np.float64]


class CostSensitive(Wrapper):
    """Take the action of least expected cost, by the probabilities of a classifier.

    Parameters
    ----------
    estimator : a classifier with `predict_proba`; decisions are as good as its probabilities (see `Calibrated`)
    costs : None, a `CostMatrix`, {action: {truth: cost}}, a frame, or an array in the order of the classes
        None makes every mistake cost 1. Actions need not be classes ("abstain"); a cost below 0 is a gain. In a nested
        mapping a cost may be the name of a column of X or a function of X that gives one number per row.

    Attributes
    ----------
    classes_ : the classes, which are the truths; the columns of `predict_proba`
    actions_ : the actions, in the order of the costs; what `predict` gives
    estimator_ : the fitted classifier

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise import CostSensitive, NaiveBayes
    >>> X = pl.DataFrame({"word": ["win", "win", "win", "lunch"] * 9})
    >>> y = ["spam", "spam", "ham", "ham"] * 9
    >>> costs = {"keep": {"spam": 10, "ham": 0}, "delete": {"spam": 0, "ham": 100}, "ask": {"spam": 3, "ham": 3}}
    >>> model = CostSensitive(NaiveBayes(), costs).fit(X, y)
    >>> model.predict(X[2:4])
    array(['ask', 'keep'], dtype='<U6')
    >>> model.decide(X[:1]).cost
    array([3.])

    Notes
    -----
    Action a costs Σ_c P(c | row)·cost(a, c). Expectations nearer than 1e-12 of the greatest cost tie, and the first
    action of a tie is taken. `score` is the accuracy, as of every classifier; where actions are not classes, look at
    `cost(X, y)`, or pass a `CostMatrix` or `foldwise.decisions.realized_cost` as `scoring`.
    """

    actions_: NDArray[Any]
    _costs: ResolvedCosts

    def __init__(self, estimator: Any, costs: Any = None) -> None:
        self.estimator = estimator
        self.costs = costs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the wrapped classifier and resolve the costs for its classes."""
        model = self._unfitted()
        model.fit(X, y, **weight_params(model, sample_weight))
        return self._adopt(model)

    def _adopt(self, model: Any, warn: bool = True) -> Self:
        """Decide by a fitted model."""
        if not hasattr(model, "predict_proba"):
            raise lacks_probabilities(model)
        costs = resolve_costs(self.costs, model.classes_, warn)
        self._wrap(model)
        self._costs, self.actions_ = costs, costs.actions
        return self

    def predict(self, X: Any, row_costs: Any = None) -> NDArray[Any]:
        """The action of least expected cost."""
        return self.decide(X, row_costs).action

    def decide(self, X: Any, row_costs: Any = None) -> Decision:
        """The action of each row, its expected cost, and how much more the next best action would cost.

        `row_costs` are costs (rows, actions, classes), in the order of `actions_` and `classes_`, instead of `costs`.
        """
        return self._decide(X, row_costs)[1]

    def cost(self, X: Any, y: Any, row_costs: Any = None, sample_weight: Any = None) -> float:
        """The mean realized cost: actions are chosen by expected cost, and cost what they do under the true class."""
        action, _ = self._decide(X, row_costs)
        costs = self._costs.realized(action, y, X, row_costs)
        return float(np.average(costs, weights=check_weights(sample_weight, len(costs))))

    def _decide(self, X: Any, row_costs: Any) -> tuple[NDArray[np.intp], Decision]:
        check_is_fitted(self)
        return self._costs.decide(self.estimator_.predict_proba(X), X, row_costs)

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row) of the wrapped classifier, in the order of `classes_`."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), "predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | row) of the wrapped classifier."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The fold session: any costs, applied to probabilities that are computed once."""
        from foldwise.decisions.cost_sensitive_session import CostSensitiveSession

        return CostSensitiveSession.open(self, X, y, fit_params)


def realized_cost(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """A scorer for searches over `CostSensitive`: minus the mean realized cost under the estimator's own costs."""
    if not hasattr(estimator, "cost"):
        raise InputError(
            f"realized_cost asks the estimator for its costs, but {type(estimator).__name__} has none.",
            "wrap it in CostSensitive, or pass a CostMatrix as scoring.",
        )
    return -float(estimator.cost(X, y, sample_weight=sample_weight))


def lacks_probabilities(model: Any) -> InputError:
    return InputError(
        f"expected costs need probabilities, but {type(model).__name__} has no predict_proba.",
        "wrap it: CostSensitive(Calibrated(estimator), costs).",
    )
