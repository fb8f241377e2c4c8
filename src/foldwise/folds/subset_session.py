"""Subsets of columns as settings, for every estimator: each is fitted on each split, on its columns alone.

The settings of such a session are `{"columns": places}`. A session that can answer them cheaper offers its own by a
method `subsets()` (see `foldwise.folds.protocol`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from foldwise.folds.columns import take_columns
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import Block, Failure, Need, Params, Rows
from foldwise.folds.rows import take_params, take_rows


class SubsetRefitSession(ModelSession):
    """clone → fit → predict on the columns of each setting, as scikit-learn would."""

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        for i, setting in enumerate(settings):
            X = self.table_of(setting)
            model = self.fit_alone(setting, train)
            found = model if isinstance(model, Failure) else self.predict(model, take_rows(X, test), need)
            yield Block(i, i + 1, found)

    def table_of(self, setting: Params) -> Any:
        """The table as the model of a setting sees it: scorers that ask the model ask it about these rows."""
        return take_columns(self.X, setting["columns"])

    def refit(self, setting: Params, train: Rows) -> Any:
        X = take_rows(self.table_of(setting), train)
        model, params = self.unfitted({}), take_params(self.fit_params, train, self.n_rows)
        return model.fit(X, **params) if self.y is None else model.fit(X, take_rows(self.y, train), **params)
