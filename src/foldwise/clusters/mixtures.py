"""`choose_mixture`: overlapping clusters as a mixture of Gaussians, chosen by BIC and by held-out likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import KFold
from sklearn.utils import check_array, check_random_state

from foldwise.data.arguments import whole_at_least
from foldwise.errors import InputError
from foldwise.evaluation.plotting import axes

SHAPES = ("spherical", "diag", "full")


@dataclass(frozen=True)
class MixtureScore:
    """How well a mixture with one number of components and one shape fits."""

    k: int
    shape: str
    bic: float
    held_out: float  # mean log likelihood of a held-out row
    error: float  # its standard error over folds


@dataclass(frozen=True)
class MixtureStudy:
    """Mixtures with different numbers and shapes of components.

    Attributes
    ----------
    scores : tuple of MixtureScore
        BIC and held-out log likelihood of every mixture.
    best : MixtureScore
        The mixture with the lowest BIC.
    best_held_out : MixtureScore
        The mixture with the highest held-out likelihood.
    model : GaussianMixture
        The mixture with the lowest BIC, fitted on all rows.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from foldwise.clusters import choose_mixture
    >>> X, _ = make_blobs(300, centers=[[0, 0], [6, 6]], random_state=0)
    >>> choose_mixture(X, ks=range(1, 4), random_state=0).best.k
    2
    """

    scores: tuple[MixtureScore, ...]
    best: MixtureScore
    best_held_out: MixtureScore
    model: GaussianMixture

    @property
    def reason(self) -> str:
        """Why this mixture was chosen, in words."""
        counted = "one component" if self.best.k == 1 else f"{self.best.k} components"
        other = "one" if self.best_held_out.k == 1 else str(self.best_held_out.k)
        agrees = self.best_held_out.k == self.best.k
        return f"BIC is lowest with {counted}" + (
            ". This number also fits held-out rows best." if agrees else f". Held-out rows are fitted best by {other}."
        )

    def to_frame(self) -> pl.DataFrame:
        """Return one row per mixture.

        Returns
        -------
        polars.DataFrame
            Number of components, shape, BIC, held-out log likelihood and its standard error.
        """
        return pl.DataFrame([vars(one) for one in self.scores])

    def plot(self, ax: Any = None) -> Any:
        """Draw BIC against the number of components, one line per shape.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is made.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the plot.
        """
        axis = axes(ax)
        for shape in dict.fromkeys(one.shape for one in self.scores):
            some = [one for one in self.scores if one.shape == shape]
            axis.plot([one.k for one in some], [one.bic for one in some], marker="o", label=shape)
        axis.set(xlabel="number of components", ylabel="BIC (lower is better)")
        axis.legend(title="shape")
        return axis


def choose_mixture(
    X: Any,
    ks: Iterable[int] = range(1, 11),
    *,
    shapes: Iterable[str] = SHAPES,
    folds: int = 3,
    random_state: Any = None,
) -> MixtureStudy:
    """Fit mixtures of Gaussians and choose one.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Numbers without missing values, on comparable scales.
    ks : iterable of int
        Numbers of components. If 1 is among them, "no clusters" is a possible answer.
    shapes : iterable of {"spherical", "diag", "full", "tied"}
        Shapes of the components, as scikit-learn's `covariance_type`.
    folds : int
        Number of folds for the held-out likelihood.
    random_state : int, RandomState or None
        Seed of the first centers and of the folds.

    Returns
    -------
    MixtureStudy
        All mixtures, and the best ones.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise.clusters import choose_mixture
    >>> noise = np.random.default_rng(0).normal(size=(200, 2))
    >>> choose_mixture(noise, ks=[1, 2, 3], random_state=0).reason
    'BIC is lowest with one component. This number also fits held-out rows best.'
    """
    X = check_array(X, dtype=np.float64, ensure_min_samples=2)
    wanted = sorted({whole_at_least("ks", k, 1) for k in ks})
    n_folds = min(whole_at_least("folds", folds, 2), len(X))
    able = [k for k in wanted if k <= len(X) - -(-len(X) // n_folds)]
    if not able:
        raise InputError(f"ks must contain a number of components below the number of rows, {len(X)}, got {wanted}.")
    seed = int(check_random_state(random_state).randint(2**31))
    splits = list(KFold(n_folds, shuffle=True, random_state=seed).split(X))
    scores, best, chosen = [], None, None
    for shape in shapes:
        for k in able:
            model = fitted(X, k, shape, seed)
            held_out = [fitted(X[train], k, shape, seed).score(X[test]) for train, test in splits]
            error = float(np.std(held_out, ddof=1) / np.sqrt(n_folds))
            scores.append(MixtureScore(k, shape, float(model.bic(X)), float(np.mean(held_out)), error))
            if best is None or scores[-1].bic < best.bic:
                best, chosen = scores[-1], model
    assert best is not None
    assert chosen is not None
    return MixtureStudy(tuple(scores), best, max(scores, key=lambda one: one.held_out), chosen)


def fitted(X: Any, k: int, shape: str, seed: int) -> GaussianMixture:
    """Fit a mixture. A floor on variances keeps components from shrinking to a single row."""
    floor = 1e-3 * float(np.mean(X.var(axis=0))) or 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a mixture that is not converged scores worse
        return GaussianMixture(k, covariance_type=shape, reg_covar=floor, random_state=seed).fit(X)
