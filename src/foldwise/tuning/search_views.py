"""What a fitted search shows of its trials: a table and pictures."""

from __future__ import annotations

from typing import Any

import polars as pl
from sklearn.utils.validation import check_is_fitted

from foldwise.tuning.space import SearchSpace
from foldwise.tuning.strategies.protocol import Trial
from foldwise.tuning.trial_table import trials_to_frame


class SearchViews:
    """The table and the pictures of a search."""

    @property
    def trials_(self) -> list[Trial]:
        """The settings that were scored, in order."""
        check_is_fitted(self, "cv_results_")
        search: Any = self
        settings, scores = search.cv_results_["params"], self._of_metric("mean")
        pairs = zip(settings, scores, strict=True)
        return [Trial(one, float(score), "finished" if score == score else "failed") for one, score in pairs]

    def _of_metric(self, what: str) -> Any:
        """The mean or the standard deviation of the metric that selects."""
        search: Any = self
        found = search.cv_results_
        name = search.refit if search.multimetric_ and isinstance(search.refit, str) else "score"
        first = next(key for key in found if key.startswith(f"{what}_test_"))
        return found.get(f"{what}_test_{name}", found[first])

    def to_frame(self) -> pl.DataFrame:
        """Return the trials as a table, which a person can edit for `Manual`.

        Returns
        -------
        polars.DataFrame
            One row per setting: its parameters, its mean score and the standard deviation over splits.
        """
        return trials_to_frame(self.trials_, std=self._of_metric("std"))

    def plot_kinds(self) -> list[str]:
        """Return the kinds of pictures that suit the search, that of its strategy among them.

        Returns
        -------
        list of str
            Kinds for `plot`.
        """
        from foldwise.tuning.pictures.choosing import suitable_kinds

        search: Any = self
        space, strategy, _ = search._space()
        return suitable_kinds(SearchSpace.of(space), self.trials_, getattr(search, "strategy_", strategy))

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """Draw the trials of the search.

        Parameters
        ----------
        kind : str, default None
            The kind of picture; see `foldwise.tuning.plot_search`.
        ax : matplotlib axes, default None
            The axes to draw on.

        Returns
        -------
        matplotlib axes
            The axes.
        """
        from foldwise.tuning.pictures import plot_search

        search: Any = self
        space, strategy, _ = search._space()
        return plot_search(space, self.trials_, kind, ax=ax, strategy=getattr(search, "strategy_", strategy))
