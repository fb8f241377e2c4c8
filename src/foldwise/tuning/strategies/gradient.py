"""Gradient descent of the out-of-fold loss, for parameters in which it is smooth."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.stats import qmc
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.descent import Box, descend
from foldwise.tuning.dimensions import Space, same
from foldwise.tuning.smooth_losses import (
    FoldTables,
    SearchData,
    SmoothLoss,
    open_smooth_loss,
    smooth_catalog,
    smooth_names,
)
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.gradient_starts import is_continuous, starts
from foldwise.tuning.strategies.protocol import Trial, is_tried, search_generator

Path = list[tuple[dict[str, Any], float]]  # settings and losses

CLOSE = 0.05  # end points whose parameters differ by less than about 5% count as one
SPARE_POWER = 3  # of 2: the number of points to try in place of starts where the loss is flat
LOWEST_SHARE = 1e-6  # of the upper bound: the lower bound in place of 0, which has no logarithm


@dataclass(frozen=True)
class Gradient:
    """Follow the gradient of the out-of-fold loss downhill, from several starts.

    The loss is the log loss of classifiers and the squared error of regressors and `RidgeClassifier`, averaged over
    the splits of the search. Its derivatives with respect to the logarithms of the parameters are exact: they
    follow from the fitted models by implicit differentiation. The search then scores the end points and the starts with
    its own metric.

    Parameters that are smooth: C of `LogisticRegression`, alpha of `Ridge` and `RidgeClassifier`, alpha and gamma of
    `KernelRidge`, alpha, var_floor, temperature, column weights and priors of `NaiveBayes`. A pipeline may end in one
    of these estimators. The factors of `PenaltyFactors` right before it are smooth, too. The dimensions of these
    parameters must be continuous, such as `Float(0.001, 1000, log=True)`.

    All other parameters of the space keep the value of the start. If they have at most 32 combinations of values, each
    combination has its own starts; otherwise 32 combinations are drawn.

    Parameters
    ----------
    n_starts : int, default 5
        Starts per combination of the other parameters: the estimator's own values, two or more points that fill the
        space evenly, then the upper and the lower ends of all ranges. Settings that the user supplied are starts, too.
        If the loss is flat at a start, further points are tried instead, at most eight in a search.
    max_steps : int, default 20
        Maximum number of evaluations of loss and gradient per start. Each fits the model once per split.
    tol : float, default 1e-5
        A descent ends when its next step is expected to lower the loss by less than this share.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Float, Gradient
    >>> space = {"alpha": Float(1e-4, 1e4, log=True)}
    >>> search = SearchCV(Ridge(), space, strategy=Gradient(n_starts=2), scoring="neg_mean_squared_error")
    >>> search.fit(*load_diabetes(return_X_y=True)).best_params_["alpha"] < 0.1
    True
    >>> [(setting, loss), *_] = search.strategy_.paths[0]  # from the first start downhill
    >>> setting
    {'alpha': 1.0}

    Notes
    -----
    With w(λ) at the minimum of the training loss T, d loss/dλ = ∂loss/∂λ - ∂loss/∂w · (∇²_ww T)⁻¹ · ∇²_wλ T. Steps are
    those of a quasi-Newton method with a trust region. Leave-one-out is replaced by ten folds along the descents. If
    the search has a timeout, descents use at most half of it.
    """

    n_starts: int = 5
    max_steps: int = 20
    tol: float = 1e-5

    def __post_init__(self) -> None:
        for name, least in (("n_starts", 1), ("max_steps", 1), ("tol", 0)):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and value >= least):
                raise InputError(f"{name} must be a number of at least {least}, got {value!r}.")

    def bind(self, data: SearchData) -> BoundGradient:
        """Return the strategy for the rows of one search.

        Parameters
        ----------
        data : SearchData
            The estimator, the table and the splits of the search.

        Returns
        -------
        BoundGradient
            A strategy that can propose settings.
        """
        return BoundGradient(self, data)

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Raise an error, because gradients need data.

        Parameters
        ----------
        space : mapping or list of mappings
            Not used.
        trials : sequence of Trial
            Not used.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        sequence of dict
            Never.
        """
        raise InputError(
            "gradient search needs the estimator and its data, but this strategy was used without a search.",
            "pass it to a search: SearchCV(estimator, space, strategy='gradient').",
        )


@dataclass(frozen=True)
class Descent:
    """A descent: its path, the last point of which is the best, and the parameters that varied."""

    path: Path
    names: frozenset[str]
    from_end: bool = False  # whether it started at the ends of all ranges, which are not worth a trial of their own

    @property
    def start(self) -> dict[str, Any]:
        return self.path[0][0]

    @property
    def end(self) -> dict[str, Any]:
        return self.path[-1][0]

    @property
    def loss(self) -> float:
        return self.path[-1][1]

    def ends_like(self, other: Descent) -> bool:
        """Whether two descents found the same minimum."""
        if self.end.keys() != other.end.keys() or self.names != other.names:
            return False
        near = all(abs(math.log(self.end[name] / other.end[name])) < CLOSE for name in self.names)
        return near and all(same(self.end[name], other.end[name]) for name in self.end.keys() - self.names)


@dataclass
class BoundGradient:
    """The descents on the rows of one search. They are computed when the first settings are proposed."""

    options: Gradient
    data: SearchData
    evaluations: int = 0  # of loss and gradient
    _found: dict[int, list[Descent]] = field(default_factory=dict)  # by seed
    _folds: list[FoldTables] = field(default_factory=list)
    _losses: list[tuple[Params, SmoothLoss]] = field(default_factory=list)

    def __post_init__(self) -> None:
        timeout = self.data.timeout
        self._end = None if timeout is None else time.monotonic() + timeout / 2

    @property
    def paths(self) -> list[Path]:
        """The path of each descent: settings and their out-of-fold losses, from the start to the end point."""
        return [one.path for found in self._found.values() for one in found]

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        """Propose the end points, those with the lowest loss first, then the starts."""
        own = search_generator(rng)
        seed = int(own.integers(2**62))
        if seed not in self._found:
            self._found[seed] = self._descend_all(SearchSpace.of(space), own)
        ranked = sorted(self._found[seed], key=lambda one: one.loss if math.isfinite(one.loss) else math.inf)
        distinct: list[Descent] = []
        for one in ranked:
            if not any(one.ends_like(other) for other in distinct):
                distinct.append(one)
        found: list[Params] = []
        begun = [one.start for one in self._found[seed] if not one.from_end]
        for setting in [*(one.end for one in distinct), *begun]:
            if not is_tried(setting, [*trials, *(Trial(other, math.nan, "running") for other in found)]):
                found.append(setting)
        return found

    def _descend_all(self, space: SearchSpace, rng: np.random.Generator) -> list[Descent]:
        settings = [dict(one) for one in self.data.initial if space.contains(one)]
        even, ends = starts(space, self.data.estimator, self.options.n_starts, rng)
        settings += even + ends
        varied = [self._smooth(space, one) for one in settings]
        if not any(varied):
            raise InputError(
                "gradient search needs a parameter with bounds, such as Float(0.001, 1000, log=True), in which the "
                f"loss of {kind_of(self.data.estimator)} is smooth, but the space has "
                f"{f'only {listing([one.name for one in space.columns])}' if space.columns else 'no parameters'}.",
                f"gradients are known for {smooth_catalog()}. strategy='bayesian', 'evolutionary' or 'random' works "
                "with any estimator.",
            )
        spare = list(qmc.Sobol(max(map(len, varied)), rng=rng).random_base2(SPARE_POWER))
        found: list[Descent] = []
        # small products gain little from threads, and lose much where other processes compute, too
        with threadpool_limits(effective_n_jobs(self.data.n_jobs)):
            for i, (setting, names) in enumerate(zip(settings, varied, strict=True)):
                if found and self._is_over():
                    break
                descent = self._descend(space, setting, names)
                found.append(replace(descent, from_end=i >= len(settings) - len(ends)))
                others: list[Descent] = []
                while names and len((others or found)[-1].path) == 1 and spare and not self._is_over():
                    moved = between_bounds(dict(space.active(space.branch_of(setting), setting)), names, spare.pop())
                    others.append(self._descend(space, {**setting, **moved}, names))
                found += sorted(others, key=lambda one: one.loss)[:1]
        return found

    def _smooth(self, space: SearchSpace, setting: Params) -> dict[str, tuple[float, float]]:
        """The smooth parameters of a setting, with the logarithms of their bounds."""
        known = smooth_names(with_params(self.data.estimator, setting))
        active = dict(space.active(space.branch_of(setting), setting))
        return {name: log_bounds(active[name]) for name in active if name in known and is_continuous(active[name])}

    def _descend(
        self, space: SearchSpace, setting: dict[str, Any], varied: Mapping[str, tuple[float, float]]
    ) -> Descent:
        names = list(varied)
        if not names:
            return Descent([(setting, math.nan)], frozenset())
        active = dict(space.active(space.branch_of(setting), setting))
        loss = self._loss({name: value for name, value in setting.items() if name not in varied}, names)
        bounds = np.array(list(varied.values()))

        def values_at(x: NDArray[np.float64]) -> dict[str, float]:
            return {name: within(active[name], math.exp(one)) for name, one in zip(names, x, strict=True)}

        def evaluate(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            self.evaluations += 1
            try:
                value, gradient = loss.loss_and_gradient(values_at(x))
            except np.linalg.LinAlgError:  # a penalty too small for the rounding errors of the training rows
                return math.inf, np.zeros(len(names))
            slopes = np.array([gradient[name] for name in names])
            return (value, slopes) if np.isfinite(slopes).all() else (math.inf, np.zeros(len(names)))

        start = np.array([math.log(max(setting[name], math.exp(low))) for name, (low, _) in varied.items()])
        path = descend(
            evaluate,
            start,
            Box(bounds[:, 0], bounds[:, 1]),
            max_steps=int(self.options.max_steps),
            tol=self.options.tol,
            is_over=self._is_over,
        )
        points: Path = [({**setting, **values_at(x)}, value) for x, value in path]
        if all(setting[name] > 0 for name in names):
            points[0] = (setting, points[0][1])  # without the rounding errors of logarithms
        return Descent(points, frozenset(names))

    def _loss(self, fixed: Params, names: Sequence[str]) -> SmoothLoss:
        """The loss with some parameters fixed; descents that fix the same values share it."""
        for known, loss in self._losses:
            if known.keys() == fixed.keys() and all(same(known[name], fixed[name]) for name in fixed):
                return loss
        if not self._folds:
            self._folds = self.data.folds()
        opened = open_smooth_loss(with_params(self.data.estimator, fixed), self._folds, names)
        self._losses = [*self._losses, (fixed, opened)][-1:]  # one at a time: each holds tables of its own
        return opened

    def _is_over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def log_bounds(dimension: Any) -> tuple[float, float]:
    """The logarithms of the bounds of a parameter that must be positive."""
    low, high = float(dimension.from_unit(0.0)), float(dimension.from_unit(1.0))
    if high <= 0:
        raise InputError(f"gradient search needs positive values, got an upper bound of {high!r}.", "raise it.")
    return math.log(low if low > 0 else LOWEST_SHARE * high), math.log(high)


def between_bounds(
    active: Mapping[str, Any], varied: Mapping[str, tuple[float, float]], units: NDArray[np.float64]
) -> dict[str, float]:
    """Values of smooth parameters between their bounds, on the logarithmic scale."""
    pairs = zip(varied.items(), units, strict=False)
    return {name: within(active[name], math.exp(low + u * (high - low))) for (name, (low, high)), u in pairs}


def within(dimension: Any, value: float) -> float:
    """The value, kept inside the bounds in spite of rounding errors."""
    return float(min(max(value, dimension.from_unit(0.0)), dimension.from_unit(1.0)))


def kind_of(estimator: Any) -> str:
    """The type of an estimator for a message, of a pipeline with that of its last step."""
    steps = getattr(estimator, "steps", None)
    return type(estimator).__name__ + (f" with {type(steps[-1][1]).__name__}" if steps else "")


def with_params(estimator: Any, params: Params) -> Any:
    """A copy of the estimator with other parameters."""
    return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in params.items()})
