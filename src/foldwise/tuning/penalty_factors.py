"""Penalties of groups of columns: a transformer that makes one penalty of a linear model act differently on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from foldwise.data.arguments import column_index
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError

PREFIX = "factors__"


class PenaltyFactors(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Multiply the L2 penalty of groups of columns, for the linear model that comes next in a pipeline.

    The columns of a group are divided by the square root of its factor. A ridge or logistic regression on them has the
    penalty strength · factor · (sum of squared coefficients) for this group, in terms of the original columns. With an
    RBF kernel, the group gets its own gamma, which is divided by the factor.

    Each factor is a parameter of its own, `factors__` and the name of the group, so a search can vary it.

    Parameters
    ----------
    groups : mapping, default None
        Names or indices of the columns of each group, by the name of the group. Columns in no group have the factor 1.
    factors : mapping, default None
        Positive factors by the name of the group; 1 for groups that it does not name.

    Attributes
    ----------
    group_of_ : ndarray of shape (n_columns,)
        Index of the group of each column; -1 for none.
    factor_of_ : ndarray of shape (n_columns,)
        Factor of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import Pipeline
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Float, PenaltyFactors
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> X = np.hstack([X / X.std(axis=0), np.random.default_rng(0).normal(size=(len(X), 30))])
    >>> groups = {"measured": range(10), "noise": range(10, 40)}
    >>> model = Pipeline([("penalties", PenaltyFactors(groups)), ("ridge", Ridge())])
    >>> space = {f"penalties__factors__{name}": Float(0.01, 1e5, log=True) for name in groups}
    >>> search = SearchCV(model, space, strategy="gradient", scoring="neg_mean_squared_error", random_state=0)
    >>> factors = search.fit(X, y).best_params_
    >>> factors["penalties__factors__noise"] > 100 * factors["penalties__factors__measured"]
    True
    """

    def __init__(
        self, groups: Mapping[str, Sequence[Any]] | None = None, factors: Mapping[str, float] | None = None
    ) -> None:
        self.groups = groups
        self.factors = factors

    def _by_group(self) -> dict[str, Any]:
        """The factor of each group. Invalid parameters are left to `fit`, which raises."""
        groups = self.groups if isinstance(self.groups, Mapping) else {}
        factors = self.factors if isinstance(self.factors, Mapping) else {}
        return {name: factors.get(name, 1.0) for name in groups}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with `deep=True` also each factor.

        Parameters
        ----------
        deep : bool, default True
            Whether to return each factor as a parameter of its own.

        Returns
        -------
        dict
            Values by name.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            params |= {f"{PREFIX}{name}": value for name, value in self._by_group().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also single factors.

        Parameters
        ----------
        **params : dict
            Values by name.

        Returns
        -------
        PenaltyFactors
            The transformer itself.
        """
        single = {name.removeprefix(PREFIX): value for name, value in params.items() if name.startswith(PREFIX)}
        super().set_params(**{name: value for name, value in params.items() if not name.startswith(PREFIX)})
        known = self._by_group()
        if unknown := single.keys() - known.keys():
            raise InputError(
                f"there is no group {min(unknown)!r} to set the factor of.", f"the groups are {listing(known)}."
            )
        if single:
            self.factors = {**(self.factors or {}), **single}
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns of each group.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            The table; only its columns matter.
        y : None
            Not used.

        Returns
        -------
        PenaltyFactors
            The transformer itself.
        """
        validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
        for name in ("groups", "factors"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise FoldwiseTypeError(f"{name} must be a mapping or None, got {value!r}.", "pass a dict.")
        names = getattr(self, "feature_names_in_", None)
        known = [f"x{j}" for j in range(self.n_features_in_)] if names is None else names.tolist()
        self.group_of_ = np.full(self.n_features_in_, -1)
        for number, (name, columns) in enumerate((self.groups or {}).items()):
            for column in columns:
                j = column_index("groups", column, known)
                if self.group_of_[j] >= 0:
                    raise InputError(f"groups must not share columns, but column {column!r} of {name!r} is in two.")
                self.group_of_[j] = number
        factors = self._by_group()
        if strange := (self.factors or {}).keys() - factors.keys():
            raise InputError(f"factors names {min(strange)!r}, which is not a group.", "add it to groups.")
        for name, factor in factors.items():
            if not (isinstance(factor, int | float | np.number) and 0 < factor < np.inf):
                raise InputError(f"the factor of {name!r} must be a positive number, got {factor!r}.")
        self.factor_of_ = np.array([*factors.values(), 1.0])[self.group_of_]
        return self

    def transform(self, X: Any) -> Any:
        """Divide each column by the square root of its factor.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            The table.

        Returns
        -------
        ndarray or sparse matrix of shape (n_rows, n_columns)
            The scaled columns.
        """
        check_is_fitted(self)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        table: Any = validate_data(self, X, reset=False, **options)
        scale = 1 / np.sqrt(self.factor_of_)
        is_sparse: bool = sp.issparse(table)
        return table.multiply(scale).tocsr() if is_sparse else table * scale

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
