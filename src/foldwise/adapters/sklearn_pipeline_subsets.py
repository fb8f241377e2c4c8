"""Subsets of columns for pipelines in which scalers, imputers or encoders stand in front of a linear model.

Steps that treat each column by itself learn the same from a subset as from the whole table. So they are fitted once per
split, and the linear model is solved for the columns that come from the subset. All other pipelines are refitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge, RidgeClassifier
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from foldwise.adapters.linear_session import GramSession, with_predictions
from foldwise.adapters.linear_subsets import LinearSubsets, SolvedSubsets
from foldwise.adapters.sklearn_lasso import equal_params
from foldwise.adapters.sklearn_pipelines import PipelineSession, SplitRequest, passes
from foldwise.folds.caches import ByteBudget, KeyedCache
from foldwise.folds.fallback import attempt, raise_hidden, refitted
from foldwise.folds.model_session import IndexedAnswer, in_order
from foldwise.folds.protocol import Answer, Block, Failure, Need, Params, Rows

KEPT_BYTES = 1 << 28  # of transformed rows
EXACT = {nw.Float64, nw.Int64, nw.Int32, nw.Int16, nw.Int8, nw.UInt64, nw.UInt32, nw.UInt16, nw.UInt8, nw.Boolean}


def codes_alone(step: Any) -> bool:
    """Whether an encoder finds the categories of each column itself, and returns double precision."""
    return isinstance(step.categories, str) and bool(step.dtype == np.float64)


LINEAR = (LinearRegression, Ridge, RidgeClassifier, Lasso, ElasticNet)
ENCODERS = (OneHotEncoder, OrdinalEncoder)

# each says whether a step of exactly this type, with its parameters, treats every column by itself
BY_COLUMN: dict[type, Callable[[Any], bool]] = {
    StandardScaler: lambda step: True,
    MinMaxScaler: lambda step: True,
    MaxAbsScaler: lambda step: True,
    RobustScaler: lambda step: True,
    SimpleImputer: lambda step: not step.add_indicator,
    OrdinalEncoder: codes_alone,
    OneHotEncoder: lambda step: (
        codes_alone(step) and not step.sparse_output and (step.drop is None or isinstance(step.drop, str))
    ),
}


@dataclass(frozen=True)
class SplitSubsets:
    """The linear session of the transformed rows of one split; None if the split is refitted."""

    session: LinearSubsets | None
    owners: NDArray[np.intp]  # for each transformed column, the column that it comes from
    train: Rows  # of the transformed rows
    test: Rows
    keys: tuple[Rows, Rows]  # held, so that their ids are not reused

    def columns(self, setting: Params) -> dict[str, Any]:
        """The transformed columns of a subset, in the order in which the refit has them."""
        blocks = [np.flatnonzero(self.owners == j) for j in setting["columns"]]
        return {"columns": np.concatenate(blocks)}


class PipelineSubsets(SolvedSubsets):
    """Subsets for a pipeline that ends in a linear model."""

    shares = "pipeline"

    def __init__(self, pipeline: PipelineSession) -> None:
        super().__init__(pipeline.estimator, pipeline.X, pipeline.y, pipeline.fit_params)
        self._pipeline = pipeline
        self._budget = ByteBudget(KEPT_BYTES)
        self._splits: KeyedCache[SplitSubsets] = KeyedCache()

    def equal_settings(self, setting: Params) -> list[dict[str, Any]]:
        """The same subset with parameters of the last step that lead to the same solution."""
        last = self._pipeline.last
        found = equal_params(self._pipeline.bases[last].get_params(deep=False))
        return [{**setting, **{f"{last}__{name}": value for name, value in one.items()}} for one in found]

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from in_order(self._pieces(settings, train, test, need))

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        split = self._split(train, test)
        if split.session is None:
            for i in range(len(settings)):
                yield [i], self.answer_by_refit(settings[i], train, test, need)
            return
        # a scorer that needs more than predictions asks for the model itself
        asked = Need(with_predictions(need) & ~Need.MODEL)
        columns = [split.columns(setting) for setting in settings]
        for block in split.session.answer(columns, split.train, split.test, asked):
            indices, answer = range(block.start, block.stop), block.answer
            if isinstance(answer, Answer) and answer.models is None:
                yield indices, self._pipeline.among_all(answer, split.session)
            else:  # a fit of the last step raised, or its model could not predict
                error = answer.error if isinstance(answer, Failure) else None
                for i in indices:
                    yield [i], refitted(self.answer_by_refit(settings[i], train, test, need), error)

    def _split(self, train: Rows, test: Rows) -> SplitSubsets:
        """The transformed rows of a split; kept while there is room, because a selection asks for them many times."""
        key = (id(train), id(test))
        known = self._splits.find(key)
        if known is not None:
            return known
        made, error = None, None
        if len(train) and len(test):
            made, error = attempt(partial(self._prepared, train, test))
            # only subsets with the column at fault fail, so the error is compared with that of all columns
            need = Need.LABELS | Need.VALUES
            raise_hidden(error, partial(self.answer_by_refit, self._every_column(), train, test, need))
        session, owners = (None, np.empty(0, dtype=np.intp)) if made is None else made
        own = np.arange(len(train) + len(test))
        found = SplitSubsets(session, owners, own[: len(train)], own[len(train) :], (train, test))
        n_bytes = 16 * len(owners) * len(own)
        return self._splits.keep(key, found) if self._budget.take(n_bytes) else found

    def _every_column(self) -> dict[str, Any]:
        assert self._pipeline.n_columns is not None
        return {"columns": tuple(range(self._pipeline.n_columns))}

    def _prepared(self, train: Rows, test: Rows) -> tuple[LinearSubsets, NDArray[np.intp]] | None:
        """Fit the steps on all columns, and open a session of what they return; None if the split is refitted."""
        pipeline, request = self._pipeline, SplitRequest([{}], [{}], train, test, Need.VALUES)
        assert pipeline.n_columns is not None
        rows, owners = pipeline.rows_of(request), np.arange(pipeline.n_columns)
        for name in pipeline.earlier:
            rows = pipeline.prepare(name, {}, rows, request)
            owners = owners_after(rows.steps[-1][1], owners)
            if rows.train.shape[1] != len(owners):  # an empty column was dropped
                return None
        session = pipeline.open_last(clone(pipeline.bases[pipeline.last]), rows, request)
        subsets = session.subsets() if isinstance(session, GramSession) else None
        return None if subsets is None else (subsets, owners)


def owners_after(step: Any, owners: NDArray[np.intp]) -> NDArray[np.intp]:
    """The columns that those returned by a fitted step come from."""
    if not isinstance(step, OneHotEncoder):
        return owners
    grouped = step.min_frequency is not None or step.max_categories is not None
    rare = step.infrequent_categories_ if grouped else [None] * len(owners)
    dropped = [None] * len(owners) if step.drop_idx_ is None else step.drop_idx_
    sizes = [
        len(categories) - (0 if merged is None else len(merged) - 1) - (drop is not None)
        for categories, merged, drop in zip(step.categories_, rare, dropped, strict=True)
    ]
    return np.repeat(owners, sizes)


def open_pipeline_subsets(session: PipelineSession) -> PipelineSubsets | None:
    """A session of subsets of columns; None if a step mixes columns, or could read a subset in another precision."""
    if type(session.bases[session.last]) not in LINEAR or session.n_columns is None:
        return None
    steps = [step for step in (session.bases[name] for name in session.earlier) if not passes(step)]
    if not steps or not all(type(step) in BY_COLUMN and BY_COLUMN[type(step)](step) for step in steps):
        return None
    return PipelineSubsets(session) if isinstance(steps[0], ENCODERS) or has_exact_numbers(session.X) else None


def has_exact_numbers(X: Any) -> bool:
    """Whether all columns are numbers that scikit-learn reads in double precision, whichever of them it gets."""
    if nw.dependencies.is_into_dataframe(X):
        return all(dtype in EXACT for dtype in nw.from_native(X, eager_only=True).schema.values())
    return type(X) is np.ndarray and X.ndim == 2 and (X.dtype == np.float64 or X.dtype.kind in "iub")
