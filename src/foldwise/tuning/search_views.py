"""What a fitted search shows of its trials: a table and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from foldwise.tuning.ask_tell import trials_of
from foldwise.tuning.strategies.manual import as_cell
from foldwise.tuning.strategies.protocol import Trial


class SearchViews:
    """The table and the pictures of a search."""

    @property
    def trials_(self) -> list[Trial]:
        """The settings that were scored, in order."""
        check_is_fitted(self, "cv_results_")
        return trials_of(self.cv_results_, self._mean_scores())  # type: ignore[attr-defined]

    def _mean_scores(self) -> Any:
        search: Any = self
        name = search.refit if search.multimetric_ and isinstance(search.refit, str) else "score"
        found = search.cv_results_
        named = [key for key in found if key.startswith("mean_test_")]
        return found.get(f"mean_test_{name}", found[named[0]])

    def to_frame(self) -> pl.DataFrame:
        """Return the trials as a table, which a person can edit for `Manual`.

        Returns
        -------
        polars.DataFrame
            One row per setting: its parameters, its mean score and the standard deviation over splits.
        """
        search: Any = self
        trials = self.trials_
        names = dict.fromkeys(name for one in trials for name in one.setting)
        deviations = search.cv_results_[next(key for key in search.cv_results_ if key.startswith("std_test_"))]
        rows = [
            {name: as_cell(one.setting.get(name)) for name in names}
            | {"score": one.score if np.isfinite(one.score) else None, "std": float(deviation)}
            for one, deviation in zip(trials, deviations, strict=True)
        ]
        return pl.DataFrame(rows, infer_schema_length=None, strict=False)

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
