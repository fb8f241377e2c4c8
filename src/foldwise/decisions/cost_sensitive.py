"""`CostSensitive`: a classifier that predicts the action with the lowest expected cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.target import check_weights, refuse_several
from foldwise.decisions.resolved_costs import ResolvedCosts, resolve_costs
from foldwise.decisions.wrapper import Wrapper, if_wrapped_has
from foldwise.errors import InputError
from foldwise.evaluation.decision import Decision
from foldwise.folds.weights import weight_params


class CostSensitive(Wrapper):
    """Predict the action with the lowest expected cost.

    Parameters
    ----------
    estimator : classifier
        A classifier with `predict_proba`. Decisions are only as good as its probabilities; see `Calibrated`.
    costs : CostMatrix, mapping, frame, array or None, default None
        The cost of each action for each true class, for example `{action: {true class: cost}}`. Actions need not be
        classes ("abstain" is allowed), and a negative cost is a gain. In a mapping, a cost may also be the name of a
        column of X, or a function of X that returns one cost per row. An array has one row and one column per class.
        None makes every error cost 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    actions_ : ndarray of shape (n_actions,)
        The actions, in the order of the costs. `predict` returns these.
    estimator_ : classifier
        The fitted classifier.

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
    The expected cost of action a is Σ_c P(c | row) · cost(a, c). Costs that differ by less than 1e-12 of the largest
    cost count as equal, and the first action with the lowest cost is chosen. `score` is the accuracy, as in every
    classifier. If actions are not classes, use `cost(X, y)` instead, or pass a `CostMatrix` or
    `foldwise.decisions.realized_cost` as `scoring`.
    """

    actions_: NDArray[Any]
    _costs: ResolvedCosts

    def __init__(self, estimator: Any, costs: Any = None) -> None:
        self.estimator = estimator
        self.costs = costs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the wrapped classifier and match the costs with its classes.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The training rows.
        y : array-like of shape (n_rows,)
            The class of each row.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row; None weighs all rows equally.

        Returns
        -------
        self : CostSensitive
            The fitted estimator.
        """
        refuse_several(y)
        model = self._unfitted()
        model.fit(X, y, **weight_params(model, sample_weight))
        return self._adopt(model)

    def _adopt(self, model: Any, warn: bool = True) -> Self:
        """Use a fitted model."""
        if not hasattr(model, "predict_proba"):
            raise InputError(
                f"expected costs need probabilities, but {type(model).__name__} has no predict_proba.",
                "wrap the classifier: CostSensitive(Calibrated(estimator), costs).",
            )
        costs = resolve_costs(self.costs, model.classes_, warn)
        self._wrap(model)
        self._costs, self.actions_ = costs, costs.actions
        return self

    def predict(self, X: Any, row_costs: Any = None) -> NDArray[Any]:
        """Predict the action with the lowest expected cost for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.
        row_costs : array-like of shape (n_rows, n_actions, n_classes), default None
            Costs that replace `costs`, in the order of `actions_` and `classes_`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The actions.
        """
        return self.decide(X, row_costs).action

    def decide(self, X: Any, row_costs: Any = None) -> Decision:
        """Predict actions together with their expected costs.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.
        row_costs : array-like of shape (n_rows, n_actions, n_classes), default None
            Costs that replace `costs`, in the order of `actions_` and `classes_`.

        Returns
        -------
        Decision
            The action of each row, its expected cost, and how much more the second-best action would cost.
        """
        return self._decide(X, row_costs)[1]

    def cost(self, X: Any, y: Any, row_costs: Any = None, sample_weight: Any = None) -> float:
        """Compute the mean cost of the predicted actions, given the true classes.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.
        y : array-like of shape (n_rows,)
            The true class of each row.
        row_costs : array-like of shape (n_rows, n_actions, n_classes), default None
            Costs that replace `costs`, in the order of `actions_` and `classes_`.
        sample_weight : array-like of shape (n_rows,), default None
            Weight of each row in the mean.

        Returns
        -------
        float
            The mean cost per row; lower is better.
        """
        action, _ = self._decide(X, row_costs)
        costs = self._costs.realized(action, y, X, row_costs)
        return float(np.average(costs, weights=check_weights(sample_weight, len(costs))))

    def _decide(self, X: Any, row_costs: Any) -> tuple[NDArray[np.intp], Decision]:
        check_is_fitted(self)
        return self._costs.decide(self.estimator_.predict_proba(X), X, row_costs)

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class with the wrapped classifier.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @if_wrapped_has("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Predict the logarithm of the probability of each class with the wrapped classifier.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log-probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    def _session_class(self) -> Any:
        from foldwise.decisions.cost_sensitive_session import CostSensitiveSession

        return CostSensitiveSession

    open_folds = Wrapper._open_folds


def realized_cost(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Score a `CostSensitive` model by minus its mean cost, for use as `scoring` in a search.

    Parameters
    ----------
    estimator : CostSensitive
        A fitted model. Its own costs are used.
    X : array-like or frame of shape (n_rows, n_columns)
        The test rows.
    y : array-like of shape (n_rows,)
        The true class of each row.
    sample_weight : array-like of shape (n_rows,), default None
        Weight of each row in the mean.

    Returns
    -------
    float
        Minus the mean cost per row; higher is better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import CostSensitive, NaiveBayes
    >>> from foldwise.decisions import realized_cost
    >>> X, y = load_iris(return_X_y=True)
    >>> round(realized_cost(CostSensitive(NaiveBayes()).fit(X, y), X, y), 2)
    -0.04
    """
    if not hasattr(estimator, "cost"):
        raise InputError(
            f"realized_cost needs a model with costs, but {type(estimator).__name__} has no method cost.",
            "wrap the model in CostSensitive, or pass a CostMatrix as scoring.",
        )
    return -float(estimator.cost(X, y, sample_weight=sample_weight))
