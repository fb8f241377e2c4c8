"""Two strategies of Optuna, as an extra: the tree-structured Parzen estimator (TPE) and CMA-ES.

The trials are replayed into a new study before each proposal, so the strategies keep no state.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from foldwise.errors import FoldwiseError, InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Choice, Float, Int, SampledDimension, Space
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Strategy, Trial, is_tried, search_generator, untried

ATTEMPTS = 20  # to find a setting that was not tried
BRANCH = "branch"


class StrategyError(FoldwiseError, ImportError):
    """A strategy needs a library that is not installed."""


@dataclass(frozen=True)
class OptunaStrategy(Strategy, ABC):
    """What both strategies share: the replay of the trials, and the next setting of a study."""

    @abstractmethod
    def _sampler(self, optuna: Any, rng: np.random.Generator) -> Any:
        """The sampler of a study."""

    @abstractmethod
    def _replay(self, study: OptunaStudy, trials: Sequence[Trial]) -> None:
        """Tell a new study about the trials."""

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        optuna, known = load_optuna(type(self).__name__), SearchSpace.of(space)
        with quiet(optuna):
            study = OptunaStudy(
                optuna,
                optuna.create_study(direction="maximize", sampler=self._sampler(optuna, rng)),
                known,
            )
            self._replay(study, [one for one in trials if known.contains(one.setting)])
            for _ in range(ATTEMPTS):
                setting = study.ask()
                if not is_tried(setting, trials):
                    return [setting]
        return untried(trials, lambda: known.sample(rng), attempts=1_000)


@dataclass(frozen=True)
class TPE(OptunaStrategy):
    """Compare the densities of good and bad settings (tree-structured Parzen estimator), with Optuna.

    Needs the extra `search` (`pip install 'foldwise[search]'`).

    Parameters
    ----------
    n_initial : int, default 10
        Number of random settings at the start.
    n_candidates : int, default 24
        Number of draws of which the best becomes the proposal.
    multivariate : bool, default False
        Whether to model parameters jointly.
    batch : int, default 1
        Settings that are proposed before their scores are needed.

    Notes
    -----
    Bergstra et al., Algorithms for hyper-parameter optimization, NeurIPS 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Float, TPE
    >>> space = {"C": Float(0.03, 30_000, log=True), "gamma": Float(3e-5, 8, log=True)}
    >>> search = SearchCV(SVC(), space, strategy=TPE(), n_trials=15, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.95)
    True
    """

    n_initial: int = 10
    n_candidates: int = 24
    multivariate: bool = False
    batch: int = 1

    def __post_init__(self) -> None:
        check_counts(self, "n_initial", "n_candidates", "batch")

    def _sampler(self, optuna: Any, rng: np.random.Generator) -> Any:
        return optuna.samplers.TPESampler(
            n_startup_trials=self.n_initial,
            n_ei_candidates=self.n_candidates,
            multivariate=self.multivariate,
            constant_liar=True,  # running trials count as bad ones, so that a batch is spread out
            seed=int(rng.integers(2**31)),
        )

    def _replay(self, study: OptunaStudy, trials: Sequence[Trial]) -> None:
        for one in trials:
            study.add(one)


@dataclass(frozen=True)
class CMAES(OptunaStrategy):
    """Adapt the mean and covariance of a normal distribution to the best settings (CMA-ES), with Optuna.

    Made for numbers that interact. Unordered choices and parameters with conditions are drawn at random. Needs the
    extra `search` (`pip install 'foldwise[search]'`).

    Parameters
    ----------
    population : int, default None
        Settings per generation. None stands for 4 + 3 log(number of parameters).
    step : float, default None
        Standard deviation of the first generation, as a share of the range. None stands for a sixth.
    batch : int, default 1
        Settings that are proposed before their scores are needed.

    Notes
    -----
    Hansen and Ostermeier, Completely derandomized self-adaptation in evolution strategies, Evolutionary Computation
    2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import CMAES, Float
    >>> space = {"C": Float(0.03, 30_000, log=True), "gamma": Float(3e-5, 8, log=True)}
    >>> search = SearchCV(SVC(), space, strategy=CMAES(), n_trials=15, random_state=0)
    >>> bool(search.fit(*load_iris(return_X_y=True)).best_score_ > 0.95)
    True
    """

    population: int | None = None
    step: float | None = None
    batch: int = 1

    def __post_init__(self) -> None:
        check_counts(self, "batch")
        if self.population is not None and self.population < 3:
            raise InputError(f"population must be at least 3, got {self.population!r}.")
        if self.step is not None and not self.step > 0:
            raise InputError(f"step must be positive, got {self.step!r}.")

    def generation_size(self, space: Any) -> int:
        """Settings per generation: `population`, or what the library derives from the number of numeric parameters.

        Parameters
        ----------
        space : mapping, list of mappings or SearchSpace
            The search space.

        Returns
        -------
        int
            The size of a generation.
        """
        n = sum(one.dimension.ordered and one.dimension.n_values > 1 for one in SearchSpace.of(space).columns)
        return 4 + int(3 * math.log(max(1, n))) if self.population is None else self.population

    def _sampler(self, optuna: Any, rng: np.random.Generator) -> Any:
        # the state of the evolution follows from the trials and from one seed for the whole search
        seed = int(search_generator(rng).integers(2**31))
        return optuna.samplers.CmaEsSampler(
            popsize=self.population,
            sigma0=self.step,
            seed=seed,
            independent_sampler=optuna.samplers.RandomSampler(seed=int(rng.integers(2**31))),
            warn_independent_sampling=False,
        )

    def _replay(self, study: OptunaStudy, trials: Sequence[Trial]) -> None:
        for one in trials:
            study.ask_and_tell(one)


@dataclass(frozen=True)
class OptunaStudy:
    """A study whose parameters are those of a space: numbers as they are, choices by their index."""

    optuna: Any
    study: Any
    space: SearchSpace

    def ask(self) -> dict[str, Any]:
        """The next setting. Its trial counts as failed, in case it was tried before."""
        trial = self.study.ask()
        setting = self._suggest(trial)
        self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        return setting

    def add(self, trial: Trial) -> None:
        """Add a trial."""
        codes, distributions = self._coded(trial.setting)
        finished = trial.state == "finished" and np.isfinite(trial.score)
        states = self.optuna.trial.TrialState
        state = states.COMPLETE if finished else states.RUNNING if trial.state == "running" else states.FAIL
        made = self.optuna.trial.create_trial(
            state=state, value=float(trial.score) if finished else None, params=codes, distributions=distributions
        )
        self.study.add_trial(made)

    def ask_and_tell(self, trial: Trial) -> None:
        """Let the sampler propose, but try the setting of a trial; for samplers that note what they proposed."""
        self.study.enqueue_trial(self._coded(trial.setting)[0])
        asked = self.study.ask()
        _ = asked.relative_params  # the sampler proposes only when it is asked for something
        self._suggest(asked)
        if trial.state == "finished" and np.isfinite(trial.score):
            self.study.tell(asked, float(trial.score))
        elif trial.state != "running":
            self.study.tell(asked, state=self.optuna.trial.TrialState.FAIL)

    def _suggest(self, trial: Any) -> dict[str, Any]:
        n_branches = len(self.space.branches)
        branch = trial.suggest_categorical(BRANCH, range(n_branches)) if n_branches > 1 else 0
        setting: dict[str, Any] = {}
        for name, dimension in self.space.active(branch, setting):
            setting[name] = decoded(dimension, suggested(trial, self._name(branch, name), dimension))
        return setting

    def _coded(self, setting: Params) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values and distributions of a setting by Optuna's names."""
        branch, n_branches = self.space.branch_of(setting), len(self.space.branches)
        codes: dict[str, Any] = {}
        distributions: dict[str, Any] = {}
        if n_branches > 1:
            codes[BRANCH] = branch
            distributions[BRANCH] = self.optuna.distributions.CategoricalDistribution(range(n_branches))
        for name, dimension in self.space.active(branch, setting):
            own = self._name(branch, name)
            codes[own] = coded(dimension, setting[name])
            distributions[own] = self._distribution(dimension)
        return codes, distributions

    def _name(self, branch: int, name: str) -> str:
        """A name of a column, unique also where branches have different values for a parameter."""
        at = next(i for i, one in enumerate(self.space.columns) if one.name == name and branch in one.branches)
        return f"{at}:{name}"

    def _distribution(self, dimension: Any) -> Any:
        kinds = self.optuna.distributions
        if isinstance(dimension, Float):
            return kinds.FloatDistribution(dimension.low, dimension.high, log=dimension.log)
        if isinstance(dimension, Int):
            return kinds.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
        if isinstance(dimension, Choice):
            n = dimension.n_values
            return kinds.IntDistribution(0, n - 1) if dimension.ordered else kinds.CategoricalDistribution(range(n))
        return kinds.FloatDistribution(0.0, 1.0)


def suggested(trial: Any, name: str, dimension: Any) -> Any:
    """What the sampler proposes for one parameter."""
    if isinstance(dimension, Float):
        return trial.suggest_float(name, dimension.low, dimension.high, log=dimension.log)
    if isinstance(dimension, Int):
        return trial.suggest_int(name, int(dimension.low), int(dimension.high), log=dimension.log)
    if isinstance(dimension, Choice):
        last = dimension.n_values - 1
        return (
            trial.suggest_int(name, 0, last) if dimension.ordered else trial.suggest_categorical(name, range(last + 1))
        )
    return trial.suggest_float(name, 0.0, 1.0)


def coded(dimension: Any, value: Any) -> Any:
    """What stands for a value in a study."""
    if isinstance(dimension, Float):
        return float(value)
    if isinstance(dimension, Int):
        return int(value)
    return dimension.index(value) if isinstance(dimension, Choice) else dimension.to_unit(value)


def decoded(dimension: Any, code: Any) -> Any:
    """The value that something in a study stands for."""
    if isinstance(dimension, Float | Int):
        return code
    if isinstance(dimension, SampledDimension):
        dimension.quantiles()  # an error for a distribution that can only be drawn from
    return dimension.values[code] if isinstance(dimension, Choice) else dimension.from_unit(code)


def check_counts(strategy: Any, *names: str) -> None:
    for name in names:
        if getattr(strategy, name) < 1:
            raise InputError(f"{name} must be at least 1, got {getattr(strategy, name)!r}.")


def load_optuna(needed_by: str) -> Any:
    """Return the library, or raise an error that names the extra."""
    try:
        import_module("cmaes")
        return import_module("optuna")
    except ImportError as error:
        raise StrategyError(
            f"{needed_by} needs the libraries optuna and cmaes, which are not installed.",
            "run pip install 'foldwise[search]', or use strategy='bayesian'.",
        ) from error


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's messages and warnings; afterwards they are as they were."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(level)
