"""`Ensemble` and `EnsembleRegressor`: ensembles of any estimators, composed from four blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from foldwise.arrays import Floats
from foldwise.data.levels import as_level
from foldwise.data.target import check_weights, encode_target, number_target
from foldwise.data.validation import validate_table
from foldwise.data.view import is_frame, plain_table
from foldwise.ensembles.blocks import Combiner, Dependency, Diversity, EnsembleSize
from foldwise.ensembles.config import check_config, named_members
from foldwise.ensembles.dependency import DEPENDENCIES
from foldwise.ensembles.fitting import FittedEnsemble, fit_ensemble
from foldwise.ensembles.protocol import FittedMembers, MemberPredictions, TrainingData
from foldwise.ensembles.training import PREDICTION_CELLS, predict_members
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels, TargetValues
from foldwise.folds.rows import count_rows, take_rows

GivenMembers = Any  # an estimator, or a list or dict of them


class ComposedEnsemble(BaseEstimator):  # type: ignore[misc]
    """The base of both ensembles: parameters, validation of the table, and predictions of members."""

    n_features_in_: int
    classes_: NDArray[Any]
    members_: list[Any]
    _fitted: FittedEnsemble
    _columns: tuple[str, ...]

    def __init__(
        self,
        members: GivenMembers,
        *,
        diversity: str | Diversity | Sequence[Any] | None = None,
        dependency: str | Dependency = "independent",
        size: int | EnsembleSize | None = None,
        combiner: str | Combiner = "mean",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.diversity = diversity
        self.dependency = dependency
        self.size = size
        self.combiner = combiner
        self.n_jobs = n_jobs
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include members and their parameters, by names such as `knn__n_neighbors`.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, one in self._several().items():
                params[name] = one
                if hasattr(one, "get_params") and not isinstance(one, type):
                    params.update({f"{name}__{key}": value for key, value in one.get_params(deep=True).items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members and parameters of members.

        Parameters
        ----------
        **params
            New values by name. The dict or list of members is replaced, not changed.

        Returns
        -------
        Self
            The ensemble.
        """
        if "members" in params:
            self.members = params.pop("members")
        named = self._several()
        replaced = {name: params.pop(name) for name in list(params) if name in named}
        if replaced:
            named = {**named, **replaced}
            self.members = named if isinstance(self.members, Mapping) else list(named.values())
        super().set_params(**params)
        return self

    def _several(self) -> dict[str, Any]:
        """The members by name; empty if one estimator is copied."""
        several = isinstance(self.members, Mapping | list | tuple) and self.members
        return named_members(self.members) if several else {}

    def _table(self, X: Any, reset: bool) -> Any:
        """The rows as they are passed to members: frames unchanged, other tables as an array or a sparse matrix."""
        X = plain_table(X)
        if not is_frame(X):
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse=["csr", "csc"])
            if X.dtype == object:  # members may not see the row that contains it
                refuse_containers(X)
            return X
        entered = validate_table(self, X, None if reset else self._columns)
        if reset:
            self._columns = tuple(column.name for column in entered.table.columns)
        return X.to_native() if hasattr(X, "to_native") else X

    def _fit(self, X: Any, target: Labels | TargetValues, sample_weight: Any) -> None:
        config = check_config(self, regression=isinstance(target, TargetValues))
        n_rows = count_rows(X)
        weights = check_weights(sample_weight, n_rows)
        if weights is not None and not weights.any():
            raise InputError("sample_weight must not be zero for all rows.", "give at least one row a positive weight.")
        data = TrainingData(X, target, weights, n_rows, self.n_features_in_).observed()
        if isinstance(data.target, Labels):
            self.classes_ = data.target.classes
        self._fitted = fit_ensemble(config, data)
        self.members_ = [getattr(member, "model", member) for member in self._fitted.fitted.members]

    @property
    def fitted_members_(self) -> FittedMembers:
        """The fitted members with their weights and specs (rows, columns, parameters)."""
        check_is_fitted(self)
        return self._fitted.fitted

    @property
    def weights_(self) -> Floats:
        """The weight of each member."""
        return self.fitted_members_.weights

    def predict_members(self, X: Any) -> MemberPredictions:
        """Predict with each member.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        MemberPredictions
            The predictions of all members.
        """
        check_is_fitted(self)
        return self._predict_members(self._table(X, reset=False))

    def _predict_members(self, X: Any) -> MemberPredictions:
        return predict_members(self._fitted.fitted, X, self._n_classes(), self._fitted.proba, self.n_jobs)

    def _n_classes(self) -> int:
        return len(getattr(self, "classes_", ()))

    def _combined(self, X: Any) -> Floats:
        """The predictions of the ensemble, in chunks of rows, so that memory stays bounded."""
        check_is_fitted(self)
        X = self._table(X, reset=False)
        n_rows = count_rows(X)
        most = max(1, PREDICTION_CELLS // (len(self._fitted.fitted.members) * max(1, self._n_classes())))
        if n_rows <= most:
            return self._fitted.rule(self._predict_members(X), X)
        parts = [take_rows(X, np.arange(i, min(i + most, n_rows))) for i in range(0, n_rows, most)]
        return np.concatenate([self._fitted.rule(self._predict_members(part), part) for part in parts])

    def _open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open the fold session that combines the sessions of the members."""
        from foldwise.ensembles.session import open_ensemble

        return open_ensemble(self, X, y, fit_params)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = [
            get_tags(one).input_tags
            for one in self._several().values() or [self.members]
            if hasattr(one, "__sklearn_tags__") and not isinstance(one, type)
        ]
        if parts:
            dependency = DEPENDENCIES.get(self.dependency) if isinstance(self.dependency, str) else self.dependency
            tags.input_tags.allow_nan = all(part.allow_nan for part in parts)
            tags.input_tags.sparse = all(part.sparse for part in parts) and getattr(dependency, "sparse", True)
            tags.input_tags.categorical = all(part.categorical for part in parts)
        return tags


def refuse_containers(X: Any) -> None:
    """Raise for cells that are neither text nor numbers."""
    for i, cell in enumerate(X.ravel()):
        if isinstance(cell, dict | list | tuple | set):
            as_level(cell, str(i % X.shape[1]))


class Ensemble(ClassifierMixin, ComposedEnsemble):  # type: ignore[misc]
    """A classifier composed of other classifiers.

    Parameters
    ----------
    members : estimator, or list or dict of estimators
        One estimator is copied; several are the members. `knn__n_neighbors` sets a parameter of the member "knn".
    diversity : str, Diversity or list, default=None
        What makes members differ: "bootstrap", "pasting", "poisson", "row_parts", "column_parts" or "subspaces". A
        list of several is applied in order.
    dependency : str or Dependency, default="independent"
        Whether members are trained independently or one after the other: "independent", "adaboost" or "decorate".
    size : int or EnsembleSize, default=None
        The number of members. None means all members of a list, or 10 copies of one estimator.
    combiner : str or Combiner, default="mean"
        How predictions are combined: "mean", "log_mean", "median", "vote", "weighted", "best", "stacking", "grading",
        "arbiters" or "decode".
    n_jobs : int, default=None
        The number of workers that train members and predict. It does not change the result.
    random_state : int, Generator, RandomState or None, default=None
        The seed of all random numbers.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    members_ : list
        The fitted estimators.
    weights_ : array
        The weights of the members.
    fitted_members_ : FittedMembers
        The members with their specs: rows, columns and parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import Ensemble, KNNClassifier, NaiveBayes
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Ensemble({"near": KNNClassifier(5), "far": KNNClassifier(19), "bayes": NaiveBayes()}, combiner="vote")
    >>> model.fit(X, y).predict(X[:3])
    array([0, 0, 0])

    Notes
    -----
    A class that is missing from a member's training rows has probability 0 there. A tie goes to the first class.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : table
            The training rows.
        y : array
            Their labels.
        sample_weight : array, optional
            One weight per row; a weight of 2 counts like two rows.

        Returns
        -------
        Self
            The fitted ensemble.
        """
        X = self._table(X, reset=True)
        target = encode_target(y, count_rows(X))
        self._fit(X, Labels(target.classes, target.codes), sample_weight)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        array
            One label per row.
        """
        scores = self._combined(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """Predict probabilities.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        array of shape (rows, classes)
            The probability of each of `classes_`.
        """
        return self._combined(X)

    open_folds = ComposedEnsemble._open_folds  # defined here, because a subclass may predict differently


class EnsembleRegressor(RegressorMixin, ComposedEnsemble):  # type: ignore[misc]
    """A regressor composed of other regressors.

    Parameters
    ----------
    members : estimator, or list or dict of estimators
        One estimator is copied; several are the members. `knn__n_neighbors` sets a parameter of the member "knn".
    diversity : str, Diversity or list, default=None
        What makes members differ; as for `Ensemble`, without `OutputCodes`.
    dependency : str or Dependency, default="independent"
        "independent", or "residuals" or "adaboost" for boosting.
    size : int or EnsembleSize, default=None
        The number of members. None means all members of a list, or 10 copies of one estimator.
    combiner : str or Combiner, default="mean"
        "mean", "median", "weighted", "best", "stacking", or "sum" for boosting by residuals. With "adaboost", use
        "median".
    n_jobs : int, default=None
        The number of workers that train members and predict. It does not change the result.
    random_state : int, Generator, RandomState or None, default=None
        The seed of all random numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from foldwise import EnsembleRegressor, KNNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> EnsembleRegressor([LinearRegression(), KNNRegressor(9)]).fit(X, y).predict(X[:1]).round()
    array([203.])
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : table
            The training rows.
        y : array
            Their values.
        sample_weight : array, optional
            One weight per row; a weight of 2 counts like two rows.

        Returns
        -------
        Self
            The fitted ensemble.
        """
        X = self._table(X, reset=True)
        self._fit(X, TargetValues(number_target(y, count_rows(X))), sample_weight)
        return self

    def predict(self, X: Any) -> Floats:
        """Predict values.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        array
            One value per row.
        """
        return self._combined(X)

    open_folds = ComposedEnsemble._open_folds
