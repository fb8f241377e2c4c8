"""Ask and tell: a search whose settings are scored by someone else, by a program or by a person."""

from __future__ import annotations

from typing import Any

import polars as pl

from foldwise.errors import InputError
from foldwise.folds.protocol import Params
from foldwise.tuning.dimensions import Space
from foldwise.tuning.seeds import seed_of
from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies import strategy_of
from foldwise.tuning.strategies.protocol import Strategy, Trial, finished, is_tried, trial_generator
from foldwise.tuning.trial_table import as_frame, read_settings, trials_to_frame


class AskTell:
    """Search with any strategy, and score the settings yourself.

    Parameters
    ----------
    space : mapping or list of mappings
        The search space; see `SearchCV`.
    strategy : str or Strategy, default "random"
        The strategy that proposes settings.
    random_state : int, Generator, RandomState or None, default None
        Seed of the strategy.

    Attributes
    ----------
    trials : list of Trial
        All settings that were asked for or told.

    Examples
    --------
    >>> from foldwise.tuning import AskTell, Float
    >>> search = AskTell({"x": Float(0, 1)}, strategy="evolutionary", random_state=0)
    >>> for _ in range(40):
    ...     setting = search.ask()
    ...     search.tell(setting, -((setting["x"] - 0.8) ** 2))
    >>> round(search.best.setting["x"], 1)
    0.8
    >>> search.to_frame().columns
    ['x', 'score', 'state']
    """

    def __init__(self, space: Space, strategy: Any = "random", *, random_state: Any = None) -> None:
        self.space = space
        self.strategy: Strategy = strategy_of(strategy)
        self.seed = seed_of(random_state)
        self.trials: list[Trial] = []

    def ask(self) -> dict[str, Any]:
        """Propose a setting. It counts as running until its score is told.

        Returns
        -------
        dict
            The setting.
        """
        proposed = self.strategy.propose(self.space, self.trials, trial_generator(self.seed, len(self.trials)))
        if not proposed:
            raise InputError("the strategy has no more settings to propose.", "stop here, or use another strategy.")
        self.trials.append(Trial(proposed[0], float("nan"), "running"))
        return dict(proposed[0])

    def tell(self, setting: Params, score: float | None) -> None:
        """Record the score of a setting, whether it was asked for or not.

        Parameters
        ----------
        setting : dict
            The setting.
        score : float or None
            Its score, higher is better. None or NaN means that it failed.
        """
        value = float("nan") if score is None else float(score)
        trial = Trial(dict(setting), value, "finished" if value == value else "failed")
        for i, one in enumerate(self.trials):
            if is_tried(setting, [one]) and one.state == "running":
                self.trials[i] = trial
                return
        self.trials.append(trial)

    @property
    def best(self) -> Trial:
        """The finished trial with the highest score."""
        known = finished(self.trials)
        if not known:
            raise InputError("no setting has a score yet.", "call tell(setting, score) first.")
        return max(known, key=lambda one: one.score)

    def to_frame(self) -> pl.DataFrame:
        """Return the trials as a table that can be edited and read again.

        Returns
        -------
        polars.DataFrame
            One row per trial: its parameters, its score and its state.
        """
        names = [name for branch in SearchSpace.of(self.space).branches for name in branch]
        return trials_to_frame(self.trials, names, state=[one.state for one in self.trials])

    def read_frame(self, table: Any) -> None:
        """Read a table that a person has edited: new rows are added, and scores are recorded.

        Parameters
        ----------
        table : frame, list of dict or path of a CSV
            Rows as in `to_frame`. A row without a score becomes a running trial. Trials whose rows were deleted are
            forgotten.
        """
        frame = as_frame(table)
        settings = read_settings(frame, SearchSpace.of(self.space))
        scores = frame["score"].to_list() if "score" in frame.columns else [None] * frame.height
        states = frame["state"].to_list() if "state" in frame.columns else [None] * frame.height
        self.trials = []
        for setting, score, state in zip(settings, scores, states, strict=True):
            if score is not None or state == "failed":
                self.tell(setting, score)
            else:
                self.trials.append(Trial(setting, float("nan"), "running"))

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """Draw what is known so far; see `foldwise.tuning.plot_search`.

        Parameters
        ----------
        kind : str, default None
            The kind of picture; chosen by the number of parameters if None.
        ax : matplotlib axes, default None
            The axes to draw on.

        Returns
        -------
        matplotlib axes
            The axes.
        """
        from foldwise.tuning.pictures import plot_search

        return plot_search(self.space, self.trials, kind, ax=ax, strategy=self.strategy)

    def __repr__(self) -> str:
        known = finished(self.trials)
        best = f", best score {self.best.score:.4g}" if known else ""
        return f"AskTell({len(self.trials)} trials{best})"
