"""`Ensemble` and `EnsembleRegressor`: any members, composed from four blocks, in scikit-learn's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from foldwise.data.levels import as_level
from foldwise.data.target import check_weights, encode_target, number_target
from foldwise.data.validation import validate_table
from foldwise.data.view import is_frame, plain_table
from foldwise.ensembles.config import check_config, named_members
from foldwise.ensembles.dependency import DEPENDENCIES
from foldwise.ensembles.fitting import FittedEnsemble, fit_ensemble
from foldwise.ensembles.protocol import (
    Combiner,
    Dependency,
    Diversity,
    EnsembleSize,
    FittedMembers,
    Floats,
    MemberPredictions,
    TrainingData,
)
from foldwise.ensembles.training import PREDICTION_CELLS, predict_members
from foldwise.errors import InputError
from foldwise.folds.protocol import Labels, TargetValues
from foldwise.folds.rows import count_rows, take_rows

Members = Any  # an estimator, or a list or dict of them


class ComposedEnsemble(BaseEstimator):  # type: ignore[misc]
    """What both kinds share: the parameters, the table at the door, and asking the members."""

    n_features_in_: int
    classes_: NDArray[Any]
    members_: list[Any]
    _fitted: FittedEnsemble
    _columns: tuple[str, ...]

    def __init__(
        self,
        members: Members,
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
        """The parameters; with `deep` those of members too, by name: `knn__n_neighbors`."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, one in self._several().items():
                params[name] = one
                if hasattr(one, "get_params") and not isinstance(one, type):
                    params.update({f"{name}__{key}": value for key, value in one.get_params(deep=True).items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members and parameters of members; the dict or list of members is not written into."""
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
        """The members by name; none where one estimator is copied."""
        several = isinstance(self.members, Mapping | list | tuple) and self.members
        return named_members(self.members) if several else {}

    def _table(self, X: Any, reset: bool) -> Any:
        """The rows as members are given them: frames as they came, anything else as an array or a sparse matrix."""
        X = plain_table(X)
        if not is_frame(X):
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse=["csr", "csc"])
            if X.dtype == object:  # a member may never draw the row that holds it
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
            raise InputError("the weight of every row is zero.", "at least one row must count.")
        data = TrainingData(X, target, weights, n_rows, self.n_features_in_).observed()
        if isinstance(data.target, Labels):
            self.classes_ = data.target.classes
        self._fitted = fit_ensemble(config, data)
        self.members_ = [getattr(member, "model", member) for member in self._fitted.fitted.members]

    @property
    def fitted_members_(self) -> FittedMembers:
        """The fitted members with their specs (rows, columns, parameters) and weights."""
        check_is_fitted(self)
        return self._fitted.fitted

    @property
    def weights_(self) -> Floats:
        """The weight of each member, from training or from the size."""
        return self.fitted_members_.weights

    def predict_members(self, X: Any) -> MemberPredictions:
        """Predict rows with each member."""
        check_is_fitted(self)
        return self._predict_members(self._table(X, reset=False))

    def _predict_members(self, X: Any) -> MemberPredictions:
        return predict_members(self._fitted.fitted, X, self._n_classes(), self._fitted.proba, self.n_jobs)

    def _n_classes(self) -> int:
        return len(getattr(self, "classes_", ()))

    def _combined(self, X: Any) -> Floats:
        """The predictions of the ensemble; many members and rows in turns, so that memory stays bounded."""
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
    """A classifier composed from others by four choices.

    Parameters
    ----------
    members : estimator, or a list or dict of estimators
        One estimator is copied; several are members as they are, by name (`knn__n_neighbors` sets a parameter).
    diversity : None, "bootstrap", "pasting", "poisson", "row_parts", "column_parts", "subspaces", a Diversity, a list
        What makes members differ; a list of several applies them one after the other.
    dependency : "independent", "adaboost" or a Dependency
        Whether members depend on each other in training.
    size : int, EnsembleSize or None
        How many members. None: one for each of several, 10 copies of one.
    combiner : "mean", "log_mean", "median", "vote", "weighted", "best", "stacking", "decode", … or a Combiner
        How the predictions of members become one.
    n_jobs : int or None
        Workers that train and ask members; the result is the same at any number.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    classes_ : the classes, sorted
    members_ : the fitted estimators
    weights_ : their weights
    fitted_members_ : members with their specs: rows, columns, parameters

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
    A class that is absent from a member's rows has the probability 0 there. A tie goes to the first class.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members on rows X with labels y; weights are frequencies, for members that take them."""
        X = self._table(X, reset=True)
        target = encode_target(y, count_rows(X))
        self._fit(X, Labels(target.classes, target.codes), sample_weight)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class with the highest combined probability."""
        scores = self._combined(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each of `classes_`, as the combiner makes it from the members' predictions."""
        return self._combined(X)

    open_folds = ComposedEnsemble._open_folds  # not inherited: a subclass may predict differently


class EnsembleRegressor(RegressorMixin, ComposedEnsemble):  # type: ignore[misc]
    """A regressor composed from others by the four choices of `Ensemble`.

    Its combiners are "mean", "median", "weighted", "best", "stacking", and "sum" for dependency="residuals".

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
        """Train the members on rows X with values y."""
        X = self._table(X, reset=True)
        self._fit(X, TargetValues(number_target(y, count_rows(X))), sample_weight)
        return self

    def predict(self, X: Any) -> Floats:
        """Predict values: the combination of the members' values."""
        return self._combined(X)

    open_folds = ComposedEnsemble._open_folds
