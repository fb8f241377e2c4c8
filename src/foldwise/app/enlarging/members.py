"""Train the members of the final model on more rows than the sample has, where their models and the time allow it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import Pipeline

from foldwise.addresses import masked
from foldwise.app.engine_tables import LargeTable
from foldwise.app.enlarging.bayes import bayes_from_facts, valued_columns
from foldwise.app.enlarging.boosters import LIBRARIES, booster_of, booster_on_more_rows, library_of
from foldwise.app.enlarging.linear import linear_from_sums
from foldwise.app.enlarging.training_rows import CannotLearnError, TrainingRows
from foldwise.app.final_model import CHANGED, FinalModel, TrainedMember
from foldwise.app.setup import RunSetup
from foldwise.app.task import FitTask
from foldwise.app.timing import Clock
from foldwise.app.workers.jobs import error_line
from foldwise.bayes import NaiveBayes
from foldwise.errors import EngineError, FoldwiseError

OTHERS = "it needs its rows in memory"
SUMS = {NaiveBayes: bayes_from_facts, LinearRegression: linear_from_sums, Ridge: linear_from_sums}


def train_on_more_rows(setup: RunSetup, final: FinalModel, clock: Clock, *, interrupted: bool) -> FinalModel:
    """Return the final model with members that were trained on more rows, and say on how many each was trained."""
    task = setup.task
    assert task.large is not None
    end = setup.time.end - setup.time.reporting(final.large_files)
    models = [member[-1] for member in final.model.members if isinstance(member[-1], NaiveBayes)]
    valued = tuple(sorted({name for model in models for name in valued_columns(model)}))
    end -= task.large.state.seconds  # in which the table is looked at again
    rows = TrainingRows(task.large, task, time.monotonic() + end - clock.elapsed, valued)
    work = [
        MemberWork.of(setup, final, i, member) for i, member in zip(final.weights, final.model.members, strict=True)
    ]
    order = sorted(range(len(work)), key=lambda k: (work[k].is_booster, -final.weights[work[k].index]))
    done: dict[int, tuple[Any, TrainedMember]] = {}
    reason = "the run was stopped early" if interrupted else refusal(task)
    obstacle = CannotLearnError(reason) if reason else change_of(task.large)
    for k in order:
        waiting = sum(work[j].is_booster for j in order if j not in done)
        done[k] = work[k].train(rows, 1 / max(1, waiting), setup.time.n_workers, obstacle)
    if any(not trained.reason for _, trained in done.values()) and (change := change_of(task.large)):
        done = {k: work[k].as_it_is(change.message, failed=isinstance(change, EngineError)) for k in order}
    members = [done[k][0] for k in range(len(work))]
    params = {**final.model.get_params(deep=False), "members": members}
    return replace(final, model=type(final.model)(**params), trained=tuple(done[k][1] for k in range(len(work))))


def refusal(task: FitTask) -> str:
    """Say why no member can be trained on more rows; empty if some can."""
    if task.weights is not None:
        return "rows have weights"
    if task.aside is not None or (task.test is not None and task.test.share is not None):
        return "rows of the sample were set aside"
    return ""


def change_of(large: LargeTable) -> FoldwiseError | None:
    """Return an error if the table changed since the sample was drawn, so that facts of all rows do not fit it."""
    try:
        return CannotLearnError(CHANGED) if large.state.has_changed(large.table) else None
    except EngineError as error:
        return error


@dataclass(frozen=True)
class MemberWork:
    """One member of the final model, and what is known about its training."""

    index: int  # of its candidate
    title: str
    member: Pipeline
    n_now: int  # rows that it was trained on
    seconds: float  # that this took, roughly

    @classmethod
    def of(cls, setup: RunSetup, final: FinalModel, index: int, member: Pipeline) -> MemberWork:
        """Look up how a member was trained."""
        one = final.selection.candidates[index]
        used = setup.samples.refit(one.batch.rung)
        n_now = setup.task.n_rows if used is None else len(used)
        return cls(index, setup.specs[one.model].title, member, n_now, setup.refit_seconds(one.batch))

    @property
    def is_booster(self) -> bool:
        """Whether the library of the member has a reader of rows outside of memory."""
        return library_of(self.member[-1]) in LIBRARIES

    def train(
        self, rows: TrainingRows, share: float, n_threads: int, obstacle: FoldwiseError | None
    ) -> tuple[Pipeline, TrainedMember]:
        """Train the member on more rows, or return it as it is, with the reason."""
        try:
            if obstacle is not None:
                raise obstacle
            member, n_rows = self.trained(rows, share, n_threads)
        except EngineError as error:
            if rows.left <= 0:  # then the statement was interrupted
                return self.as_it_is("there was not enough time")
            return self.as_it_is(error.message, failed=True)
        except FoldwiseError as error:
            return self.as_it_is(error.message)
        except Exception as error:  # not hidden: the report says that this member stays as it is, and why
            return self.as_it_is(error_line(error), failed=True)
        return member, TrainedMember(self.title, n_rows, "")

    def as_it_is(self, why: str, *, failed: bool = False) -> tuple[Pipeline, TrainedMember]:
        """Keep the member that was trained on the sample."""
        return self.member, TrainedMember(self.title, self.n_now, masked(why.rstrip(".")), failed)

    def trained(self, rows: TrainingRows, share: float, n_threads: int) -> tuple[Pipeline, int]:
        """Train the member on more rows."""
        model = booster_of(self.member[-1])
        if self.is_booster:
            return booster_on_more_rows(self.member, rows, self.n_now, self.seconds, share, n_threads)
        train = SUMS.get(type(model))
        if train is None:
            raise CannotLearnError(OTHERS)
        return train(self.member, rows)
