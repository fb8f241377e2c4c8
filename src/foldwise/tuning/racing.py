"""Racing: settings that are clearly worse on a few folds, or with a part of the rows, are not scored on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.data.arguments import one_of
from foldwise.errors import InputError
from foldwise.evaluation.comparing.paired import corrected_t_test
from foldwise.folds.engine import Outcome
from foldwise.folds.protocol import Params
from foldwise.folds.splits import Split
from foldwise.tuning.dimensions import Space
from foldwise.tuning.row_race import Race, better_half
from foldwise.tuning.strategies import strategy_of
from foldwise.tuning.strategies.protocol import ForecastingStrategy, Strategy, Trial, finished


@dataclass(frozen=True)
class Racing(Strategy):
    """Drop settings that are worse on a few folds, or with a part of the rows, whatever strategy proposed them.

    Parameters
    ----------
    strategy : str or Strategy, default "random"
        The strategy that proposes settings.
    rule : {"test", "halving"}, default "test"
        With "test", a setting is dropped as soon as the corrected one-sided paired test says that it is worse than the
        best setting so far. With "halving", the better half of the settings goes on after 1, 2, 4, … folds, or with
        twice as many training rows.
    resource : {"folds", "rows"}, default "folds"
        What grows for the settings that stay in the race. "rows" is successive halving on all folds: settings are first
        scored with a part of the training rows, and the last ones with all rows. It needs rule="halving".
    min_folds : int, default 3
        With rule="test", the number of folds on which every setting is scored before it can be dropped.
    level : float, default 0.05
        Level of the test.
    batch : int, default 8
        Settings that race against each other and the best so far.
    stop_early : bool, default False
        Whether to stop when the strategy expects less improvement than the standard error of the best score. Only
        strategies that predict scores, such as "bayesian", know that.

    Notes
    -----
    `HalvingGridSearchCV` and `HalvingRandomSearchCV` also halve over rows. Their schedule is that of scikit-learn, to
    the letter: it draws test rows as well, and lets a factor and a first round be chosen. `resource="rows"` works with
    any strategy, and its scores are all computed on the same test rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Float, Racing
    >>> space = {"C": Float(0.001, 100, log=True), "gamma": Float(1e-4, 10, log=True)}
    >>> search = SearchCV(SVC(), space, strategy=Racing("random"), n_trials=16, cv=10, random_state=0)
    >>> search.fit(*load_iris(return_X_y=True)).models_scored_ < 160
    True
    """

    strategy: Any = "random"
    rule: Literal["test", "halving"] = "test"
    resource: Literal["folds", "rows"] = "folds"
    min_folds: int = 3
    level: float = 0.05
    batch: int = 8
    stop_early: bool = False

    def propose(self, space: Space, trials: Sequence[Trial], rng: np.random.Generator) -> Sequence[Params]:
        one_of("rule", self.rule, ("test", "halving"))
        one_of("resource", self.resource, ("folds", "rows"))
        if self.resource == "rows" and self.rule != "halving":
            raise InputError("resource='rows' needs rule='halving', got rule='test'.", "pass rule='halving'.")
        inner = strategy_of(self.strategy)
        done = finished(trials)
        if self.stop_early and isinstance(inner, ForecastingStrategy) and len(done) > self.batch:
            best = max(done, key=lambda one: one.score)
            if inner.expected_improvement(space, trials) < best.error:
                return []
        return inner.propose(space, trials, rng)

    def survivors(self, scores: Floats, best: Floats | None, test_share: float) -> NDArray[np.bool_]:
        """Decide which settings go on, given their scores on the folds so far.

        Parameters
        ----------
        scores : ndarray of shape (n_settings, n_folds)
            Scores of the settings in the race; higher is better.
        best : ndarray of shape (n_folds,), default None
            Scores of the best setting of earlier rounds on the same folds.
        test_share : float
            Test rows divided by training rows.

        Returns
        -------
        ndarray of bool
            True for settings that go on.
        """
        n_folds = scores.shape[1]
        means = np.nan_to_num(scores.mean(axis=1), nan=-np.inf)
        if self.rule == "halving":
            if n_folds & (n_folds - 1):  # not 1, 2, 4, …
                return np.ones(len(scores), dtype=bool)
            return better_half(scores)
        if n_folds < max(2, self.min_folds):
            return np.ones(len(scores), dtype=bool)
        leader = scores[int(np.argmax(means))]
        if best is not None and best.mean() >= means.max():
            leader = best
        return np.array([not clearly_worse(one, leader, self.level, test_share) for one in scores])


def proposing(strategy: Any) -> Any:
    """The strategy that proposes the settings: that of a race, or else the strategy itself."""
    return strategy_of(strategy.strategy) if isinstance(strategy, Racing) else strategy


def clearly_worse(scores: Floats, leader: Floats, level: float, test_share: float) -> bool:
    """Whether the one-sided corrected test says that scores on the same folds are lower than those of the leader."""
    if np.isnan(scores).any():
        return True  # a setting that failed on a fold cannot win
    gaps = leader - scores
    if gaps.mean() <= 0:
        return False
    return corrected_t_test(gaps, test_share).p / 2 < level


class FoldRace(Race):
    """A round of settings that are scored fold by fold, until all folds are done or no setting is left."""

    def __init__(
        self, racing: Racing, settings: Sequence[Params], splits: Sequence[Split], best: Floats | None, share: float
    ) -> None:
        super().__init__(settings, splits)
        self.racing, self.best, self.share = racing, best, share
        self.ran = np.zeros((len(settings), len(splits)), dtype=bool)
        self.shares = np.ones(len(settings))  # of the training rows

    @property
    def n_stages(self) -> int:
        return len(self.splits)

    @property
    def first_split(self) -> int:
        """The number of the first split of the next question."""
        return self.stage

    def next_splits(self) -> Sequence[Split]:
        return [self.splits[self.stage]]

    def tell(self, outcome: Outcome, chooser: str) -> None:
        """Record the scores on one fold, and drop settings."""
        here = np.flatnonzero(self.alive)
        self.ran[here, self.stage] = True
        self.outcome = outcome if self.outcome is None else self._joined(outcome, here)
        self.stage += 1
        known = self.outcome.scores
        scores = known[chooser] if chooser in known else next(iter(known.values()))
        best = None if self.best is None else self.best[: self.stage]
        if self.stage < len(self.splits):
            self.alive[here[~self.racing.survivors(scores[here], best, self.share)]] = False

    def _joined(self, new: Outcome, here: NDArray[np.intp]) -> Outcome:
        """What is known so far, with one more fold; NaN for settings that were dropped."""
        known, n = self.outcome, len(self.settings)
        assert known is not None

        def wider(old: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
            found = {}
            for name, values in old.items():
                column = np.full((n, 1), np.nan)
                column[here] = more[name]
                found[name] = np.hstack([values, column])
            return found

        def moved(errors: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple((int(here[one[0]]), self.stage, *one[2:]) for one in errors)

        seconds = np.zeros((n, 1))
        seconds[here] = new.seconds
        return replace(
            known,
            scores=wider(known.scores, new.scores),
            train_scores=wider(known.train_scores, new.train_scores),
            seconds=np.hstack([known.seconds, seconds]),
            failures=known.failures + moved(new.failures),
            unscored=known.unscored + moved(new.unscored),
            train_unscored=known.train_unscored + moved(new.train_unscored),
            fits=known.fits + new.fits,
        )

    def result(self) -> Outcome:
        """All scores; settings that were dropped have NaN on the folds that they missed."""
        assert self.outcome is not None
        missing = len(self.splits) - self.stage

        def filled(values: dict[str, Any]) -> dict[str, Any]:
            return {k: np.hstack([v, np.full((len(v), missing), np.nan)]) for k, v in values.items()}

        seconds = np.hstack([self.outcome.seconds, np.zeros((len(self.settings), missing))])
        scores, train = filled(self.outcome.scores), filled(self.outcome.train_scores)
        return replace(self.outcome, scores=scores, train_scores=train, seconds=seconds, ran=self.ran)
