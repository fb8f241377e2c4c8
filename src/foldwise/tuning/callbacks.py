"""scikit-learn's callbacks (`search.set_callbacks(...)`): the search, each of its fits and the final fit are tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from foldwise.folds.model_session import RefitSession
from foldwise.folds.protocol import Failure, Params, Rows
from foldwise.folds.rows import take_params, take_rows
from foldwise.folds.splits import Split


def has_callbacks(search: Any) -> bool:
    """Whether callbacks are attached to a search."""
    return bool(getattr(search, "_skl_callbacks", None))


class SearchTasks:
    """The tasks of one call of `fit` that are not fits of settings: the call itself, and the final fit."""

    def __init__(self, search: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.given = {"estimator": search, "X": X, "y": y, "metadata": metadata_of(fit_params)}
        root = search._init_callback_context(max_subtasks=1 + (search.refit is not False))
        self.root = root.call_on_fit_task_begin(**self.given)

    @contextmanager
    def final_fit(self, search: Any) -> Iterator[None]:
        """Run the fit of the best setting on all rows as a task."""
        if not has_callbacks(search):
            yield
            return
        context = self.root.subcontext(task_name="refit-with-best-params")
        with context.propagate_callback_context(search.best_estimator_):
            context.call_on_fit_task_begin(**self.given)
            yield
        context.call_on_fit_task_end(**self.given)

    def end(self) -> None:
        """End the task of `fit`."""
        self.root.call_on_fit_task_end(**self.given)


class ObservedSession(RefitSession):
    """A session that fits each setting on each split as a task of the search, which callbacks see."""

    def __init__(self, search: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        super().__init__(search.estimator, X, y, fit_params)
        self.search = search
        self.tasks: list[tuple[Params, Rows, Any]] = []
        self._context, self._n_tasks = None, 0  # the parent of the last tasks, and how many it has

    def create_tasks(self, context: Any, settings: Sequence[Params], splits: Sequence[Split]) -> None:
        """Create the tasks of the next settings and splits, before any of them is sent to another process."""
        first = self._n_tasks if context is self._context else 0
        pairs = enumerate(product(settings, splits), first)
        name = "candidate-split-evaluation"
        self.tasks = [
            (setting, split.train, context.subcontext(task_name=name, task_id=i)) for i, (setting, split) in pairs
        ]
        self._context, self._n_tasks = context, first + len(self.tasks)

    def fit_alone(self, setting: Params, train: Rows) -> Any:
        found = (context for one, rows, context in self.tasks if one is setting and np.array_equal(rows, train))
        context = next(found, None)
        if context is None:  # of a subclass that passes no context on
            return super().fit_alone(setting, train)
        model = self.unfitted(setting)
        given = {
            "estimator": self.search,
            "X": self.train_table(model, train),
            "y": None if self.y is None else take_rows(self.y, train),
            "metadata": metadata_of(take_params(self.fit_params, train, self.n_rows)),
        }
        try:
            with context.propagate_callback_context(model):
                context.call_on_fit_task_begin(**given)
                return self.fit(model, train)
        except Exception as error:  # the error of the fit is the answer
            return Failure(error)
        finally:
            context.call_on_fit_task_end(**given)


def metadata_of(fit_params: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments of `fit` that callbacks are given."""
    weights = fit_params.get("sample_weight")
    return None if weights is None else {"sample_weight": weights}
