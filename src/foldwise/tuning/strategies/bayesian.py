"""Bayesian optimization: a Gaussian process of the score decides which setting is worth the next trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from foldwise.arrays import Bools, Floats
from foldwise.errors import InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.acquisition_search import AcquisitionSearch, SearchEffort, candidate_rows
from foldwise.tuning.strategies.acquisitions import (
    BY_NAME,
    Acquisition,
    MaxValueEntropy,
    UpperConfidenceBound,
    sample_maxima,
)
from foldwise.tuning.strategies.gaussian_process import (
    Hyperparameters,
    ProcessPosterior,
    cholesky,
    fit_process,
    subset,
)
from foldwise.tuning.strategies.grid import design
from foldwise.tuning.strategies.protocol import (
    Strategy,
    Trial,
    finished,
    is_tried,
    search_generator,
    trial_generator,
    untried,
)
from foldwise.tuning.strategies.unit_encoding import UnitEncoding
from foldwise.tuning.strategies.warping import ScoreWarping

ACQUISITIONS = ("logei", "ei", "pi", "ucb", "entropy", "thompson")
MOST_FITTED = 250  # trials that hyperparameters are found from
APART = 0.1  # in one column at least, of rows that are not close
PI_MARGIN = 0.1  # the default of xi for "pi"
N_MAXIMA = 16  # sampled for "entropy"


@dataclass(frozen=True)
class Bayesian(Strategy):
    """Model the score of all settings by a Gaussian process, and try the setting that looks most promising.

    The first settings fill the space evenly. Then a Gaussian process is fitted to all trials before each proposal, and
    the setting with the highest acquisition is proposed. Trials that are still running count with their expected
    score, and failed trials with the worst score so far.

    Parameters
    ----------
    acquisition : {"logei", "ei", "pi", "ucb", "entropy", "thompson"}, default "logei"
        What makes a setting worth a trial: the expected improvement (as a logarithm, or as it is), the probability of
        an improvement, the upper confidence bound, the information about the highest score, or a random draw of the
        score.
    n_initial : int, default None
        Number of trials before the first model, among them the settings supplied by the user. None stands for three
        more than there are parameters, but at most ten.
    batch : int, default 1
        Settings that are proposed before their scores are needed, so that they can be scored in parallel.
    kappa : float, default 2.0
        Standard deviations that are added to the mean in "ucb".
    xi : float, default None
        The smallest improvement that counts in "logei", "ei" and "pi", in standard deviations of the scores. None
        stands for 0.1 in "pi", which would otherwise stay close to the first good setting, and for 0 in the others.
    input_warping : bool, default True
        Whether to bend the scales of numeric parameters so that the score changes evenly along them.
    output_warping : {"power", "copula", "none"}, default "power"
        How scores are transformed before they are modeled: by a power transformation, by their ranks, or not at all.

    Notes
    -----
    The process has a Matérn-5/2 kernel with one length scale per parameter, and estimates the noise of the scores.
    Improvement is measured from the best posterior mean, because the best of several noisy scores is too high. The
    priors of the length scales follow Hvarfner et al. (2024), the logarithm of the expected improvement Ament et al.
    (2023), the information about the highest score Wang and Jegelka (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Bayesian, Float
    >>> space = {"C": Float(0.03, 30_000, log=True), "gamma": Float(3e-5, 8, log=True)}
    >>> search = SearchCV(SVC(), space, strategy=Bayesian(), n_trials=12, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.97)
    True
    """

    acquisition: Literal["logei", "ei", "pi", "ucb", "entropy", "thompson"] = "logei"
    n_initial: int | None = None
    batch: int = 1
    kappa: float = 2.0
    xi: float | None = None
    input_warping: bool = True
    output_warping: Literal["power", "copula", "none"] = "power"

    def __post_init__(self) -> None:
        if self.acquisition not in ACQUISITIONS:
            raise InputError(
                f"acquisition must be one of {', '.join(map(repr, ACQUISITIONS))}, got {self.acquisition!r}."
            )
        if self.output_warping not in ("power", "copula", "none"):
            raise InputError(f"output_warping must be 'power', 'copula' or 'none', got {self.output_warping!r}.")
        for name, least in (("n_initial", 1), ("batch", 1), ("kappa", 0), ("xi", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{name} must be at least {least}, got {value!r}.")

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        known = SearchSpace.of(space)
        n_initial = self.n_initial or min(10, len(known.columns) + 3)
        if len(trials) < n_initial:
            for one in design(known, n_initial, search_generator(rng)):
                if not is_tried(one, trials):
                    return [one]
        elif (model := ScoreModel.of(known, trials, rng, self)) is not None:
            for row in model.ranked_rows(self, rng):
                setting = model.encoding.to_setting(row)
                if not is_tried(setting, trials):
                    return [setting]
        return untried(trials, lambda: known.sample(rng), attempts=1_000)

    def expected_improvement(self, space: Space, trials: Sequence[Trial]) -> float:
        """Return how much the best untried setting is expected to improve on the best one.

        Parameters
        ----------
        space : mapping or list of mappings
            The search space.
        trials : sequence of Trial
            All settings proposed so far.

        Returns
        -------
        float
            The expected improvement of the score; infinite as long as there is no model.
        """
        rng = trial_generator(0, len(trials))
        model = ScoreModel.of(SearchSpace.of(space), trials, rng, self)
        if model is None:
            return np.inf
        posterior = model.posterior
        best = float(posterior.predict(posterior.rows, posterior.active)[0].max())
        row = model.ranked_rows(replace(self, acquisition="ei"), rng)[:1]
        gain = BY_NAME["ei"](best)(*posterior.predict(row, model.encoding.active(row)))[0][0]
        now, later = model.warping.back(np.array([best, best + gain]))
        return float(later - now)


@dataclass(frozen=True)
class ScoreModel:
    """The process of the warped scores after some trials."""

    posterior: ProcessPosterior
    warping: ScoreWarping
    n_scored: int  # rows of the posterior that were scored; the others are still running

    @property
    def encoding(self) -> UnitEncoding:
        return self.posterior.encoding

    @classmethod
    def of(
        cls, space: SearchSpace, trials: Sequence[Trial], rng: np.random.Generator, strategy: Bayesian
    ) -> ScoreModel | None:
        """The model of the trials in the space; None if fewer than two of them have a score."""
        encoding = UnitEncoding(space)
        rows, inside = encoding.to_rows([one.setting for one in trials])
        active = encoding.active(rows)
        good = finished(trials)
        if not len(encoding.columns) or len(good) < 2:
            return None
        worst = min(one.score for one in good)
        scores = np.array([one.score if np.isfinite(one.score) else worst for one in trials])
        running = np.array([one.state == "running" for one in trials])
        scored, waiting = inside & ~running, inside & running
        if scored.sum() < 2:
            return None
        spread = apart(np.where(active, rows, -1.0)[scored])
        warping = ScoreWarping.of(scores[scored][spread], strategy.output_warping)
        warped = warping.forward(scores[scored])
        found = fitted(encoding, rows[scored], active[scored], warped, rng, strategy.input_warping)
        posterior = ProcessPosterior(encoding, found, rows[scored], active[scored], warped)
        if waiting.any():
            posterior = posterior.with_believed(rows[waiting], active[waiting])
        return cls(posterior, warping, int(scored.sum()))

    def ranked_rows(self, strategy: Bayesian, rng: np.random.Generator) -> Floats:
        """Rows by their acquisition, the best first."""
        posterior, effort = self.posterior, SearchEffort()
        means, _ = posterior.predict(posterior.rows, posterior.active)
        order = np.argsort(-means, kind="stable")
        candidates = candidate_rows(self.encoding, posterior.rows[order[:5]], effort, rng)
        if strategy.acquisition == "thompson":
            return candidates[np.argsort(-self.draw(candidates, rng), kind="stable")]
        acquisition = self.acquisition(strategy, candidates, float(means.max()), rng)
        return AcquisitionSearch(posterior, acquisition, effort).best_rows(candidates)

    def acquisition(self, strategy: Bayesian, candidates: Floats, best: float, rng: np.random.Generator) -> Acquisition:
        """The acquisition function of a strategy."""
        if strategy.acquisition == "ucb":
            return UpperConfidenceBound(strategy.kappa)
        if strategy.acquisition == "entropy":
            mean, deviation = self.posterior.predict(candidates, self.encoding.active(candidates))
            return MaxValueEntropy(sample_maxima(mean, deviation, best, N_MAXIMA, rng))
        margin = PI_MARGIN if strategy.acquisition == "pi" else 0.0
        return BY_NAME[strategy.acquisition](best + (margin if strategy.xi is None else strategy.xi))

    def draw(self, rows: Floats, rng: np.random.Generator) -> Floats:
        """A random draw of the scores of rows."""
        mean, covariance = self.posterior.covariance(rows, self.encoding.active(rows))
        factor = cholesky(covariance, 1e-6 * self.posterior.signal)
        return np.asarray(mean + factor @ rng.normal(size=len(rows)))


def apart(rows: Floats) -> Bools:
    """Which rows are not close to an earlier one.

    A search returns to its best region again and again. The scores there say little about the scale of all scores.
    """
    found = np.zeros(len(rows), dtype=bool)
    for i, row in enumerate(rows):
        found[i] = not (np.abs(rows[found] - row).max(axis=1) < APART).any()
    return found


def fitted(
    encoding: UnitEncoding,
    rows: Floats,
    active: np.ndarray,
    scores: Floats,
    rng: np.random.Generator,
    warp: bool,
) -> Hyperparameters:
    """The hyperparameters of a process, found from some of its rows if there are many."""
    some = subset(len(rows), scores, MOST_FITTED, rng)
    return fit_process(encoding, rows[some], active[some], scores[some], warp=warp)
