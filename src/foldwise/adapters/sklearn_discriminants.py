"""Sessions of discriminant analyses: one decomposition per training set serves all priors and regularizations.

scikit-learn's own `fit` checks the rows and the setting. Only its solver is replaced, by one that keeps the parts which
do not depend on the setting. The last part of the solver is then run for every setting, with the same formulas in the
same order, and the model predicts by itself. Settings that cause an error or a warning are refitted.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn import discriminant_analysis, get_config
from sklearn.covariance import shrunk_covariance

from foldwise.adapters.support import SKLEARN, Support, is_number
from foldwise.arrays import Array
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.model_session import ModelSession, Refit
from foldwise.folds.protocol import Answer, Failure, Need, Params, Rows


class DecomposedSession(ModelSession):
    """A session that decomposes a training set once and computes the model of each setting from the parts."""

    shares = "decomposition"
    order_free = True
    neutral: ClassVar[Params] = {}  # values of the lazy parameters that are always valid

    def fit_group(self, settings: Sequence[Params], train: Rows) -> Iterator[Any]:
        lazy = self.lazy(settings[0])
        parts, error = None, None
        if lazy:
            neutral = {**settings[0], **{name: self.neutral[name] for name in lazy}}
            parts, error = attempt(lambda: self.decompose(self.unfitted(neutral), train))
        for setting in settings:
            model, wrong = None, error
            if parts is not None:
                values = {name: self.merged(setting)[name] for name in lazy}
                model, wrong = attempt(partial(self.finish, parts, values))
            yield refitted(self.fit_alone(setting, train), wrong) if model is None else model

    @abstractmethod
    def decompose(self, model: Any, train: Rows) -> Any:
        """The parts of the training rows, from a fit of the model; None for refits."""

    @abstractmethod
    def finish(self, parts: Any, values: Params) -> Any:
        """The fitted model with these values; None for a refit."""


@dataclass(frozen=True)
class Spectra:
    """A fitted quadratic analysis, with the variances of its classes along their axes before regularization."""

    model: Any
    variances: list[Array]  # of each class: (axes,)


class QuadraticSession(DecomposedSession):
    """A session that computes the axes of each class once; `reg_param` changes only the variances along them."""

    neutral: ClassVar[Params] = {"priors": None, "reg_param": 0.0}

    def lazy(self, params: Params) -> frozenset[str]:
        # a covariance estimator may be random, or may be changed by its fit
        return frozenset(self.neutral) if self.merged(params)["covariance_estimator"] is None else frozenset()

    def decompose(self, model: Any, train: Rows) -> Spectra:
        variances: list[Array] = []

        def solve(X: Array) -> tuple[Array, Array, Array | None]:
            found, axes, covariance = type(model)._solve_svd(model, X)
            variances.append(found)
            # reported as full rank, because `reg_param` may make it so; each setting is checked in `finish`
            return np.full(X.shape[1], np.inf), axes, covariance

        if model.solver == "svd":
            model._solve_svd = solve
            self.fit(model, train)
            del model._solve_svd
        else:
            self.fit(model, train)  # solver "eigen" ignores reg_param
        return Spectra(model, variances)

    def finish(self, parts: Spectra, values: Params) -> Any:
        reg_param, priors = values["reg_param"], values["priors"]
        if not is_number(reg_param, 1) or not is_list(priors):
            return None
        model = copy.copy(parts.model)
        model.reg_param, model.priors = reg_param, priors
        if priors is not None:
            model.priors_ = np.array(priors)
        if model.solver == "eigen":
            return model
        model.scalings_ = [((1 - reg_param) * variance) + reg_param for variance in parts.variances]
        if any(np.sum(scaling > model.tol) < model.n_features_in_ for scaling in model.scalings_):
            return None  # the refit raises, with a message that depends on the class
        if model.store_covariance:
            pairs = zip(model.scalings_, model.rotations_, strict=True)
            model.covariance_ = [scaling * axes @ axes.T for scaling, axes in pairs]
        return model

    def predict(self, model: Any, X_test: Any, need: Need, refit: Refit | None = None) -> Answer | Failure:
        shared, scores = copy.copy(model), cache(lambda: model._decision_function(X_test))
        shared._decision_function = lambda X: scores()  # used by labels, probabilities and decision values
        answer = super().predict(shared, X_test, need & ~Need.MODEL, refit)
        return replace(answer, models=(model,)) if need & Need.MODEL and isinstance(answer, Answer) else answer


@dataclass(frozen=True)
class Scatter:
    """The parts of a linear analysis that do not depend on the priors and the shrinkage."""

    model: Any
    rows: Array
    groups: list[Array]  # the rows of each class and, for solver "eigen", all rows
    whitening: Array | None  # (columns, rank): scales to unit variance within classes; for solver "svd"
    found: dict[Any, list[Array]] = field(default_factory=dict)  # covariances of the groups, by shrinkage

    def covariances_at(self, shrinkage: Any) -> list[Array]:
        """The covariance matrix of each group."""
        if shrinkage is None or isinstance(shrinkage, str):
            if shrinkage not in self.found:
                matrices = [discriminant_analysis._cov(rows, shrinkage) for rows in self.groups]
                self.found[shrinkage] = [np.atleast_2d(matrix) for matrix in matrices]
            return self.found[shrinkage]
        return [np.atleast_2d(shrunk_covariance(matrix, shrinkage)) for matrix in self.covariances_at(None)]


class LinearSession(DecomposedSession):
    """A session that computes the scatter within classes once, for all `priors` and, if supported, `shrinkage`."""

    neutral: ClassVar[Params] = {"priors": None, "shrinkage": None}

    def lazy(self, params: Params) -> frozenset[str]:
        merged = self.merged(params)
        if merged["covariance_estimator"] is not None:
            return frozenset()
        if merged["solver"] == "svd":  # which does not accept shrinkage
            return frozenset({"priors"}) if merged["shrinkage"] is None else frozenset()
        return frozenset(self.neutral)

    def decompose(self, model: Any, train: Rows) -> Scatter | None:
        parts: list[Scatter] = []
        solver = {"svd": "_solve_svd", "lsqr": "_solve_lstsq", "eigen": "_solve_eigen"}[model.solver]

        def solve(X: Array, y: Array, **_: Any) -> None:
            model.means_ = discriminant_analysis._class_means(X, y)
            groups = [X[y == group] for group in model.classes_]
            scaled = whitening(model, groups) if model.solver == "svd" else None
            parts.append(Scatter(model, X, [*groups, X] if model.solver == "eigen" else groups, scaled))
            # placeholders, which fit may subtract; `finish` replaces them
            model.coef_, model.intercept_ = np.zeros_like(model.means_), np.zeros_like(model.priors_)

        setattr(model, solver, solve)
        self.fit(model, train)
        delattr(model, solver)
        return parts[0] if SUPPORT["LinearDiscriminantAnalysis"].has_fitted(model) else None

    def finish(self, parts: Scatter, values: Params) -> Any:
        shrinkage, priors = values.get("shrinkage"), values["priors"]
        if not (shrinkage is None or shrinkage == "auto" or is_number(shrinkage, 1)) or not is_list(priors):
            return None
        model = copy.copy(parts.model)
        model.shrinkage, model.priors = shrinkage, priors
        if priors is not None:
            model.priors_ = np.asarray(priors, dtype=parts.rows.dtype)
            if not (model.priors_ >= 0).all() or not abs(np.sum(model.priors_) - 1.0) <= 1e-5:
                return None  # the refit raises, or warns and normalizes them
        {"svd": solve_svd, "lsqr": solve_lsqr, "eigen": solve_eigen}[model.solver](model, parts)
        if len(model.classes_) == 2:
            dtype = parts.rows.dtype
            model.coef_ = np.asarray(model.coef_[1, :] - model.coef_[0, :], dtype=dtype).reshape(1, -1)
            model.intercept_ = np.asarray(model.intercept_[1] - model.intercept_[0], dtype=dtype).reshape(1)
        return model


def whitening(model: Any, groups: Sequence[Array]) -> Array:  # (columns, rank)
    """The first of the two decompositions of scikit-learn's solver "svd", which does not depend on the priors."""
    centered = np.concatenate([rows - mean for rows, mean in zip(groups, model.means_, strict=True)], axis=0)
    std = np.std(centered, axis=0)
    std[std == 0] = 1.0
    share = np.asarray(1.0 / len(centered), dtype=centered.dtype)
    _, S, Vt = scipy.linalg.svd(np.sqrt(share) * (centered / std), full_matrices=False)
    rank = np.sum(model.tol < S)
    scaled: Array = (Vt[:rank, :] / std).T / S[:rank]
    return scaled


def solve_svd(model: Any, parts: Scatter) -> None:
    """The second decomposition, of the class means, and the coefficients."""
    n_classes, priors, means = len(model.classes_), model.priors_, model.means_
    if model.store_covariance:
        model.covariance_ = weighted(parts.covariances_at(None), priors)
    model.xbar_ = priors @ means
    share = 1.0 if n_classes == 1 else 1.0 / (n_classes - 1)
    spread = ((np.sqrt((len(parts.rows) * priors) * share)) * (means - model.xbar_).T).T @ parts.whitening
    _, S, Vt = scipy.linalg.svd(spread, full_matrices=False)
    kept = model._max_components
    model.explained_variance_ratio_ = (S**2 / np.sum(S**2))[:kept] if kept else np.empty((0,), dtype=S.dtype)
    rank = np.sum(model.tol * S[0] < S)
    model.scalings_ = parts.whitening @ Vt.T[:, :rank]
    coef = (means - model.xbar_) @ model.scalings_
    model.intercept_ = -0.5 * np.sum(coef**2, axis=1) + np.log(priors)
    model.coef_ = coef @ model.scalings_.T
    model.intercept_ -= model.xbar_ @ model.coef_.T


def solve_lsqr(model: Any, parts: Scatter) -> None:
    """The coefficients by least squares."""
    model.covariance_ = weighted(parts.covariances_at(model.shrinkage), model.priors_)
    model.coef_ = scipy.linalg.lstsq(model.covariance_, model.means_.T)[0].T
    model.intercept_ = intercepts(model)


def solve_eigen(model: Any, parts: Scatter) -> None:
    """The coefficients by generalized eigenvectors of the scatter between and within classes."""
    covariances = parts.covariances_at(model.shrinkage)
    model.covariance_ = weighted(covariances[:-1], model.priors_)
    evals, evecs = scipy.linalg.eigh(covariances[-1] - model.covariance_, model.covariance_)
    model.explained_variance_ratio_ = np.sort(evals / np.sum(evals))[::-1][: model._max_components]
    model.scalings_ = evecs[:, np.argsort(evals)[::-1]]
    model.coef_ = np.dot(model.means_, model.scalings_).dot(model.scalings_.T)
    model.intercept_ = intercepts(model)


def intercepts(model: Any) -> Array:
    found: Array = -0.5 * np.diag(np.dot(model.means_, model.coef_.T)) + np.log(model.priors_)
    return found


def weighted(covariances: Sequence[Array], priors: Array) -> Array:
    """The covariance within classes."""
    total = np.zeros(covariances[0].shape)
    for i, matrix in enumerate(covariances):
        total += priors[i] * matrix
    return total


def is_list(priors: Any) -> bool:
    """Whether a value is None or a list; other priors are left to a refit."""
    return priors is None or isinstance(priors, list | tuple | np.ndarray)


SUPPORT = {
    "QuadraticDiscriminantAnalysis": Support(
        SKLEARN, ("_solve_svd", "_decision_function"), ("sklearn.discriminant_analysis._cov",)
    ),
    "LinearDiscriminantAnalysis": Support(
        SKLEARN,
        ("_solve_svd", "_solve_lstsq", "_solve_eigen"),
        ("sklearn.discriminant_analysis._class_means", "sklearn.discriminant_analysis._cov"),
        fitted=("_max_components",),
    ),
}


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> DecomposedSession | None:
    """A session for a discriminant analysis."""
    if get_config()["array_api_dispatch"] or not (hasattr(X, "shape") or isinstance(X, list)):
        return None
    kind = LinearSession if type(estimator).__name__ == "LinearDiscriminantAnalysis" else QuadraticSession
    return kind.with_target(estimator, X, y, fit_params)
