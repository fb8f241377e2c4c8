"""The final model: select its members and fit them on all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.fold_model import FoldModel, fold_jobs, fold_model
from foldwise.app.learning_gain import LearningGain, half_rows, learning_gain
from foldwise.app.predictions import FoldPredictions
from foldwise.app.search_state import SearchState
from foldwise.app.selection import MOST_MEMBERS, Candidate, MemberSelection, OutOfFoldRows, candidates, select
from foldwise.app.setup import RunSetup
from foldwise.app.timing import (
    FINAL_TICK,
    LEAST_FITTING,
    LEAST_IMPORTANCE,
    MARGIN,
    MEMBER_ROOM,
    NO_TIME_AT_ALL,
    REPORTING_LEAST,
    RESCUE_SECONDS,
    Clock,
)
from foldwise.app.workers.executors import Executor
from foldwise.app.workers.jobs import Job, JobFailure, ShuffleColumns
from foldwise.errors import InputError
from foldwise.models.linear_sums import LinearSums, sums_of

CHANGED = "the table changed during the run"


@dataclass(frozen=True)
class FinalJobKey:
    """What a job of the last phase is for; `index` is of a candidate."""

    kind: Literal["member", "half", "bayes", "importance", "fold"]
    index: int = 0


@dataclass(frozen=True)
class TrainedMember:
    """On how many rows of a table that is larger than memory a member was trained."""

    title: str
    n_rows: int
    reason: str  # why they are not more than those of the sample; empty if they are
    failed: bool = False  # whether the reason is an error


@dataclass(frozen=True)
class FinalModel:
    """The model, and what workers found beside it."""

    selection: MemberSelection  # among the members that were fitted
    model: Blend | ValueBlend
    weights: Mapping[int, float]  # by index in `selection.candidates`
    missing: tuple[str, ...]  # titles of members that were not fitted in time
    gain: LearningGain | None
    bayes: Any  # naive Bayes fitted on all rows, for its nomogram
    importance: Mapping[str, list[float]] | None  # by column: rises of the loss when it is shuffled
    importance_model: str
    n_bytes: int
    large_files: float
    fold_model: FoldModel | None  # the model of one fold, if there was time to fit it again
    trained: tuple[TrainedMember, ...] = ()  # in the order of the members, if the table is larger than memory


def select_members(setup: RunSetup, state: SearchState, predictions: FoldPredictions, clock: Clock) -> MemberSelection:
    """Select members that can be fitted in the time left."""
    finished, plan = state.finished, setup.time
    tested = OutOfFoldRows.of(predictions, state.eliminated)
    left = max(LEAST_FITTING, plan.latest - clock.elapsed - plan.reporting(setup.large_files(state.leaders)))
    quick = [one for one in finished if MARGIN * setup.refit_seconds(one) < left]
    among = candidates(quick or [min(finished, key=setup.refit_seconds)], predictions, tested)
    slowest = max(setup.refit_seconds(one.batch) for one in among.every)
    most = int(np.clip(plan.n_workers * left / max(MEMBER_ROOM * slowest, NO_TIME_AT_ALL), 1, MOST_MEMBERS))
    return select(among, tested, setup.metric, most)


def fit_members(
    setup: RunSetup,
    state: SearchState,
    predictions: FoldPredictions,
    selection: MemberSelection,
    executor: Executor,
    clock: Clock,
    tell: Callable[[], None],
) -> FinalModel:
    """Fit the members on all rows, together.

    Where time was too short for some, the selection and its estimate are of those that were fitted.
    """
    latest, reporting = setup.time.latest, setup.time.reporting(setup.large_files(state.leaders))
    best = selection.candidates[selection.members[0]]
    jobs = final_jobs(setup, state, selection, best, latest - reporting - clock.elapsed - best.seconds)
    again = fold_jobs(setup, selection)
    jobs |= {FinalJobKey("fold", i): job for i, job in enumerate(again.values())}
    results, n_bytes = run_jobs(jobs, executor, clock, latest - REPORTING_LEAST * reporting, tell)

    def of_kind(kind: str) -> dict[int, Any]:
        return {key.index: value for key, value in results.items() if key.kind == kind}

    models, halves = of_kind("member"), of_kind("half")
    again_fitted = {key: of_kind("fold")[i] for i, key in enumerate(again) if i in of_kind("fold")}
    titles = [setup.specs[selection.candidates[i].model].title for i in selection.members if i not in models]
    if titles:
        fitted = list(models)
        among = selection.among.only([int(selection.among.final[i]) for i in fitted])
        selection = select(among, selection.tested, setup.metric, selection.most)
        models = {new: models[old] for new, old in enumerate(fitted)}
        halves = {new: halves[old] for new, old in enumerate(fitted) if old in halves}
    used = [i for i in models if selection.chosen.weights[i] > 0]
    members = {i: selection.candidates[i] for i in used}
    weights = {i: float(selection.chosen.weights[i]) for i in used}
    maps = {i: predictions.calibration(one.batch, one.setting) for i, one in members.items()}
    fitted_members, calibration = [models[i] for i in used], selection.chosen.calibration
    model = predictions.blend(fitted_members, list(weights.values()), list(maps.values()), calibration)
    if isinstance(model, ValueBlend) and setup.config.rows:
        model.sums = sums_of_all(setup, fitted_members, list(members.values()))
    return FinalModel(
        selection,
        model,
        weights,
        tuple(titles),
        learning_gain(setup, selection, predictions, halves, maps),
        of_kind("bayes").get(0),
        of_kind("importance").get(0),
        best.model,
        n_bytes,
        setup.large_files([one.batch for one in members.values()]),
        fold_model(selection, predictions, again_fitted),
    )


def sums_of_all(setup: RunSetup, models: Sequence[Any], members: Sequence[Candidate]) -> LinearSums | None:
    """The sums with which linear members learn from further rows; None if they were not fitted on all rows."""
    if setup.task.large is not None:  # members may be trained on more rows than are here
        return None
    if any(setup.samples.refit(one.batch.rung) is not None for one in members):
        return None
    return sums_of(models, setup.X, setup.task.y, setup.task.weights)


def final_jobs(
    setup: RunSetup, state: SearchState, selection: MemberSelection, best: Candidate, left: float
) -> dict[FinalJobKey, Job]:
    """The members, the greatest weight first; then naive Bayes, column importance, and members on half the rows."""

    chosen = {i: selection.candidates[i] for i in selection.members}
    jobs: dict[FinalJobKey, Job] = {
        FinalJobKey("member", i): setup.refit_job(one.batch, one.setting) for i, one in chosen.items()
    }
    bayes = [one for one in state.of_model("naive_bayes") if one.seconds]
    if bayes:
        ours = [one for one in selection.candidates if one.model == "naive_bayes"]
        batch, setting = (ours[0].batch, ours[0].setting) if ours else (bayes[0], 0)
        jobs[FinalJobKey("bayes")] = setup.refit_job(batch, setting)
    folds = selection.tested.scored
    seconds = min(setup.time.importance, max(LEAST_IMPORTANCE, left))  # stopped if there is no time even for the least
    given = (tuple(folds), tuple(setup.X.columns), setup.task.n_classes, setup.config.seed, seconds)
    params = setup.params(best.batch, best.setting)
    rows = tuple(setup.samples.train(fold, best.batch.rung) for fold in folds)
    jobs[FinalJobKey("importance")] = ShuffleColumns(best.model, params, *given, rows)
    half = half_rows(setup, folds[-1])
    if half is not None:
        for i in selection.members:
            one = selection.candidates[i]
            jobs[FinalJobKey("half", i)] = setup.predict_job(one.batch, [one.setting], folds[-1], half)
    return jobs


def run_jobs(
    jobs: Mapping[FinalJobKey, Job], executor: Executor, clock: Clock, deadline: float, tell: Callable[[], None]
) -> tuple[dict[FinalJobKey, Any], int]:
    """Run jobs until the deadline, but wait for at least one member. Return results and the size of members."""
    results: dict[FinalJobKey, Any] = {}
    n_bytes = 0
    waiting = list(jobs.items())
    while waiting or executor.running:
        has_member = any(key.kind == "member" for key in results)
        late = clock.elapsed > deadline
        if late and has_member:
            break
        while waiting and executor.idle:
            key, job = waiting.pop(0)
            if late and key.kind != "member":
                continue
            patient = key.kind == "member" and not has_member
            executor.start(key, job, deadline - clock.elapsed + (RESCUE_SECONDS if patient else 0.0))
        for done in executor.collect(FINAL_TICK):
            assert isinstance(done.key, FinalJobKey)
            if done.value is not None and not isinstance(done.value, JobFailure):
                results[done.key] = done.value
                n_bytes += done.n_bytes * (done.key.kind == "member")
        tell()
    executor.stop()
    if not any(key.kind == "member" for key in results):
        raise InputError("the final model could not be fitted on all rows in time.", "increase budget=.")
    return results, n_bytes
