"""`TransformedTarget`: fit a regressor to a transformed target, and predict the mean or the median of the target.

A model of log(y) predicts the mean of log(y). Its exponential is the median of y if errors are symmetric, which is
usually below the mean. Duan's smearing estimate corrects this: it adds each residual to the prediction, applies the
inverse transformation, and takes the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.preprocessing import PowerTransformer, QuantileTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of
from foldwise.data.target import number_target
from foldwise.errors import InputError
from foldwise.folds.rows import count_rows, take_rows

Transform = Literal["none", "scale", "log", "yeo-johnson", "quantiles"]
TRANSFORMS: tuple[Transform, ...] = get_args(Transform)
GRID = 1024  # points of the way back; between them it is a line
HELD_OUT = 5  # every fifth row
LEAST_ROWS = 20  # with fewer, residuals are those of the training rows
MOST_RESIDUALS = 400


@dataclass(frozen=True)
class LearnedTransform:
    """A transformation, learned from training values, with mean 0 and variance 1 after it."""

    values: Floats  # the transformed training values
    inverse: Callable[[Floats], Floats]

    def curve(self, residuals: Floats | None, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Return what predictions mean in units of the target, at points over the range of the training values.

        With residuals it is the mean of the target (Duan's smearing estimate), otherwise the median.
        """
        grid = np.linspace(self.values.min(), self.values.max(), GRID)
        if residuals is None:
            return grid, self.inverse(grid)
        total, kept = np.zeros(GRID), np.ones(len(residuals)) if weights is None else weights
        for one, weight in zip(residuals.tolist(), kept.tolist(), strict=True):
            total += weight * self.inverse(grid + one)
        return grid, total / kept.sum()


def learn_transform(transform: Transform, y: Floats) -> LearnedTransform:
    """Learn a transformation other than "none" and "scale" from training values."""
    if transform == "log":
        return standardized(*logarithm(y))
    if transform == "yeo-johnson":
        unit = float(np.median(np.abs(y[y != 0]))) if (y != 0).any() else 1.0  # its bend at 1 should not have a unit
        power = PowerTransformer(method="yeo-johnson", standardize=False).fit(y[:, None] / unit)
        return standardized(column(power.transform, y / unit), lambda z: unit * column(power.inverse_transform, z), y)
    few = min(1000, len(y))
    ranks = QuantileTransformer(n_quantiles=few, output_distribution="normal", subsample=None).fit(y[:, None])
    return standardized(column(ranks.transform, y), lambda z: column(ranks.inverse_transform, z), y)


def logarithm(y: Floats) -> tuple[Floats, Callable[[Floats], Floats], None]:
    """Return log(y), or log(y + s) if there are zeros, where s is half the smallest positive value."""
    if (y < 0).any():
        raise InputError(
            f"the logarithm of a target needs values of at least 0, but the target contains {y.min():g}.",
            "use transform='yeo-johnson'.",
        )
    shift = 0.5 * float(y[y > 0].min(initial=np.inf)) if (y == 0).any() else 0.0
    shift = shift if np.isfinite(shift) else 1.0  # all values are 0
    return np.log(y + shift), lambda z: np.exp(z) - shift, None


def standardized(values: Floats, inverse: Callable[[Floats], Floats], ends: Floats | None) -> LearnedTransform:
    """Standardize transformed values. With `ends`, the inverse stays within the range of the training values."""
    center, scale = float(values.mean()), float(values.std())
    scale = scale if scale > 1e-12 * max(1.0, abs(center)) else 1.0
    low, high = float(values.min()), float(values.max())

    def back(z: Floats) -> Floats:
        raw = center + scale * z
        return inverse(raw if ends is None else np.clip(raw, low, high))

    return LearnedTransform((values - center) / scale, back)


def column(transform: Callable[[Any], Any], values: Floats) -> Floats:
    """Apply the method of a scikit-learn transformer to one column."""
    return np.asarray(transform(values[:, None]), dtype=np.float64)[:, 0]


def held_out(n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows that a second model is fitted on, and those whose residuals it gives."""
    rows = np.arange(n_rows)
    if n_rows < LEAST_ROWS:
        return rows, rows
    return rows[rows % HELD_OUT != 0], rows[rows % HELD_OUT == 0]


def spread_out(residuals: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Return at most 400 of the residuals, evenly spaced among the sorted ones if there are more."""
    if len(residuals) <= MOST_RESIDUALS:
        return residuals, weights
    order = np.argsort(residuals, kind="stable")
    some = order[np.linspace(0, len(order) - 1, MOST_RESIDUALS).round().astype(np.intp)]
    return residuals[some], None if weights is None else weights[some]


class TransformedTarget(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit a regressor to a transformed target, and predict the target itself.

    Parameters
    ----------
    regressor : regressor
        The regressor to wrap. Its parameters have the prefix `regressor__`.
    transform : {"none", "scale", "log", "yeo-johnson", "quantiles"}, default="none"
        The transformation of the target. "scale" only standardizes it, for regressors whose parameters are in
        the units of the target. "log" needs values of at least 0. All except "none" standardize the result.
    predicts : {"mean", "median"}, default="mean"
        Whether to predict means of the target, which takes a correction, or medians.

    Attributes
    ----------
    regressor_ : regressor
        The regressor, fitted to the transformed target.

    Notes
    -----
    The mean is Duan's smearing estimate: the average of g⁻¹(f(x) + r) over residuals r, where g is the transformation.
    The residuals come from a fifth of the training rows, predicted by a second fit on the other rows, because residuals
    of the rows that a flexible model was fitted to are too small. If the mean of these predictions still differs from
    the observed mean by more than its standard error, for example because the model is noisy, predictions are
    multiplied by a constant. Predictions stay within the range of the transformed training values.

    References
    ----------
    Duan (1983), Smearing estimate: a nonparametric retransformation method.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from foldwise.models import TransformedTarget
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 1))
    >>> y = np.exp(X[:, 0] + rng.normal(size=2000))
    >>> mean = TransformedTarget(LinearRegression(), transform="log").fit(X, y)
    >>> median = TransformedTarget(LinearRegression(), transform="log", predicts="median").fit(X, y)
    >>> (mean.predict([[0.0]]) / median.predict([[0.0]])).round(1)  # e^0.5 is 1.65
    array([1.7])
    """

    def __init__(self, regressor: Any, *, transform: str = "none", predicts: str = "mean") -> None:
        self.regressor = regressor
        self.transform = transform
        self.predicts = predicts

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the transformation, and fit the regressor to the transformed target.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            The training rows, as the regressor accepts them.
        y : array of shape (n_rows,)
            The target.
        sample_weight : array of shape (n_rows,), optional
            Weights, for regressors that accept them.

        Returns
        -------
        TransformedTarget
            The fitted estimator itself.
        """
        check_names(self.transform, self.predicts)
        values = number_target(y, count_rows(X))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_features_in_ = X.shape[1] if hasattr(X, "shape") else len(X[0])
        target = FoldTarget.of(self.transform, values)  # type: ignore[arg-type]
        self.regressor_ = fitted(self.regressor, X, target.values, weights)
        if target.learned is not None and self.predicts == "mean":
            kept, left = held_out(len(values))
            some, beside = (None, None) if weights is None else (weights[kept], weights[left])
            second = fitted(self.regressor, take_rows(X, kept), target.values[kept], some)
            predicted = np.asarray(second.predict(take_rows(X, left)), dtype=np.float64)
            self.back_ = target.to_mean(values[left], left, predicted, beside)
        else:
            self.back_ = target.to_median()
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the mean, or the median, of the target for each row.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_columns)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predictions.
        """
        check_is_fitted(self)
        return to_target(self.back_, np.asarray(self.regressor_.predict(X), dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.regressor).input_tags
        return tags

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open a fold session that shares what the session of the regressor shares.

        Parameters
        ----------
        X : frame or array
            The rows of all folds.
        y : array
            Their target.
        fit_params : dict
            Parameters of `fit`.

        Returns
        -------
        TransformedSession or None
            The session; None if there are fit parameters other than `sample_weight`.
        """
        from foldwise.models.transformed_session import TransformedSession

        return None if set(fit_params) - {"sample_weight"} else TransformedSession(self, X, y, fit_params)

    def smooth_names(self) -> frozenset[str]:
        """Name the parameters that the out-of-fold squared error is a smooth function of, for searches by gradients.

        Returns
        -------
        frozenset of str
            Those of the regressor, if the target is only scaled; else none.
        """
        from foldwise.tuning.smooth_losses import smooth_names

        if self.transform not in ("none", "scale"):
            return frozenset()
        return frozenset(f"regressor__{name}" for name in smooth_names(self.regressor))

    def open_smooth_loss(self, folds: Any, names: Sequence[str]) -> Any:
        """Open the out-of-fold squared error, in units of the target that the regressor is fitted to.

        Parameters
        ----------
        folds : sequence of FoldTables
            Training and test rows of each split.
        names : sequence of str
            The parameters that vary.

        Returns
        -------
        PrefixedLoss
            The loss and its gradient.
        """
        from foldwise.tuning.smooth_losses import PrefixedLoss, open_smooth_loss

        own = [name.removeprefix("regressor__") for name in names]
        made = [replace(fold, **self._smooth_targets(fold)) for fold in folds]
        return PrefixedLoss(open_smooth_loss(self.regressor, made, own), "regressor__")

    def _smooth_targets(self, fold: Any) -> dict[str, Floats]:
        train, test = (np.asarray(part, dtype=np.float64) for part in (fold.y_train, fold.y_test))
        scale = FoldTarget.of(self.transform, train).scale or (0.0, 1.0)  # type: ignore[arg-type]
        return {"y_train": (train - scale[0]) / scale[1], "y_test": (test - scale[0]) / scale[1]}


@dataclass(frozen=True)
class FoldTarget:
    """The target that a regressor is fitted to, and how its predictions are converted back."""

    values: Floats
    learned: LearnedTransform | None = None
    scale: tuple[float, float] | None = None  # mean and standard deviation

    @classmethod
    def of(cls, transform: Transform, y: Floats) -> FoldTarget:
        """Transform the target of some training rows."""
        if transform == "none":
            return cls(y)
        if transform == "scale":
            center, scale = float(y.mean()), float(y.std()) or 1.0
            return cls((y - center) / scale, scale=(center, scale))
        learned = learn_transform(transform, y)
        return cls(learned.values, learned)

    def to_median(self) -> Floats:  # (2, points)
        """Return points of the curve back to the target: one pair for a line, none for the target itself."""
        if self.scale is not None:
            return np.array([[self.scale[0]], [self.scale[1]]])
        return np.empty((2, 0)) if self.learned is None else np.stack(self.learned.curve(None))

    def to_mean(
        self, truth: Floats, left: NDArray[np.intp], predicted: Floats, weights: Floats | None
    ) -> Floats:  # (2, points)
        """Return points of the curve back to the mean, from predictions of rows that the model was not fitted to."""
        assert self.learned is not None
        grid, curve = self.learned.curve(*spread_out(self.values[left] - predicted, weights))
        return np.stack([grid, recentered(curve, truth, np.interp(predicted, grid, curve), weights)])


def recentered(curve: Floats, truth: Floats, predicted: Floats, weights: Floats | None) -> Floats:
    """Scale or shift a curve by the error of its mean, shrunk by the part that may be chance (James and Stein)."""
    share = np.full(len(truth), 1 / len(truth)) if weights is None else weights / weights.sum()
    errors = truth - predicted
    missed, mean = float(share @ errors), float(share @ predicted)
    chance = float((share**2) @ (errors - missed) ** 2)
    if len(truth) < LEAST_ROWS // HELD_OUT or missed**2 <= chance:
        return curve
    missed *= 1 - chance / missed**2
    return curve * (1 + missed / mean) if curve.min() >= 0 and mean > abs(missed) else curve + missed


def to_target(back: Floats, predicted: Floats) -> Floats:
    """Convert predictions of the transformed target to the target, by the points of `FoldTarget.back`."""
    n_points = back.shape[1]
    if not n_points:
        return predicted
    if n_points == 1:
        return np.asarray(back[0, 0] + back[1, 0] * predicted)
    return np.asarray(np.interp(predicted, back[0], back[1]))


def fitted(regressor: Any, X: Any, y: Floats, weights: Floats | None) -> Any:
    """Fit a copy of a regressor."""
    model = clone(regressor)
    return model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)


def check_names(transform: Any, predicts: Any) -> None:
    """Raise for a transformation or a kind of prediction that does not exist."""
    one_of("transform", transform, TRANSFORMS)
    one_of("predicts", predicts, ("mean", "median"))


def transforms_for(lowest: float, skewness: float) -> Sequence[Transform]:
    """Return the transformations that are worth a search, for a target with this smallest value and skewness."""
    if abs(skewness) < 0.5:
        return ("none",)
    logs: tuple[Transform, ...] = ("log",) if lowest >= 0 and skewness > 0 else ()
    return ("none", *logs, "yeo-johnson", "quantiles")
