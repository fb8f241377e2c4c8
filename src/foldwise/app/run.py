"""The run: from a table and a budget to a model, an honest estimate and the facts of a report.

The only place that orchestrates. It follows the course's own advice: look at the data; a baseline; tune every family;
score all on the same folds; combine, calibrate, decide by cost; and say what that is worth on rows nobody looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.app.blend import Blend
from foldwise.app.budget import Clock, seconds_of
from foldwise.app.choice import (
    MOST_MEMBERS,
    Candidate,
    Chosen,
    Honest,
    Slate,
    Stack,
    candidates,
    choose,
    crossed_choice,
)
from foldwise.app.ending import let_end
from foldwise.app.entries import Entry, Family, Keeper
from foldwise.app.learning import Learning, halving_jobs, learning_of
from foldwise.app.measures import Measure, measure_of
from foldwise.app.race import Race
from foldwise.app.result import Run
from foldwise.app.splitting import make_splits
from foldwise.app.task import Task, make_task
from foldwise.app.watching import Moment, Watch
from foldwise.app.workers.jobs import Answered, Bench, Failed, Importance, Refit
from foldwise.app.workers.pool import Pool, cores, open_pool
from foldwise.decisions.calibration import fit_calibrator
from foldwise.errors import InputError
from foldwise.folds.splits import Split
from foldwise.models.catalogue import models_for
from foldwise.models.spec import ModelSpec

REPORTING = 0.4  # seconds for facts, pictures and small files
A_BYTE = 4e-8  # seconds to write it of a model
FOREST = 1.2  # seconds to write its trees, few bytes or many
LATEST = 0.97  # of the budget: when everything should be done


def fit(
    table: Any,
    *,
    target: str | None = None,
    budget: float | str = 60.0,
    models: str | Iterable[str | ModelSpec] | None = None,
    metric: str | None = None,
    costs: Any = None,
    groups: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    positive: Any = None,
    test: Any = None,
    drop_unlabelled: bool = False,
    rows: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    watch: Watch | None = None,
    command: str | None = None,
    started: float | None = None,
    pool: Pool | None = None,
) -> Run:
    """Train, tune, combine and honestly evaluate classifiers of a table within a budget of time.

    The final model is a weighted mean of the best few settings, each fitted again on all rows. What it is worth is said
    by the same choice made without the rows of each fold, so by models of a few rows less.

    Parameters
    ----------
    table : path of a file, a frame, or a `Table`
    target : the column to predict
    budget : seconds from reading to report, or "60s", "5m", "1h"
    models : names of families in the catalogue, or dotted names of classifiers; by default all that can be trained
    metric : what settings are chosen by: log_loss (the default), brier, accuracy, balanced_accuracy, roc_auc, f1, or
        cost (the default where costs are given)
    costs : what actions cost under each truth: a `CostMatrix`, a frame, or the path of a CSV file
    groups : the column whose rows of one value stay together (persons, machines, …)
    time : the column that orders rows: models are tested on later rows than they learned from
    weights : the column that weighs rows
    positive : the class that curves are about
    test : a separate table, on which the final model is scored once
    drop_unlabelled : whether rows without a target are left out; by default they are refused
    rows : whether rows of data may appear in the report and the run's folder
    seed : of folds and settings
    n_jobs : how many workers; by default as many as there are cores
    watch : called with a `Moment` several times a second
    command : what to show as the way to repeat the run
    started : time.monotonic() when the clock began, if it began before this call
    pool : workers that were opened before, to load their libraries meanwhile; they are closed in the end

    >>> import foldwise
    >>> run = foldwise.fit("examples/weather.csv", target="play", budget=6, models=["naive_bayes", "decision_tree"])
    >>> run.model.predict(run.task.table.X[:2]).shape
    (2,)
    """
    n_workers = cores(n_jobs)
    pool = pool or open_pool(n_workers)  # loads its libraries while the table is read
    try:
        clock = Clock(seconds_of(budget)) if started is None else Clock(seconds_of(budget), started)
        clock.enter("reading")
        columns: dict[str, Any] = {"groups": groups, "time": time, "weights": weights}
        asked = {"costs": costs, "positive": positive, "test": test, "drop_unlabelled": drop_unlabelled}
        task = make_task(table, target, **columns, **asked)
        measure = measure_of(metric, task.costs, task.classes)
        session = Session(task, measure, clock, pool, seed, watch or (lambda moment: None), n_workers)
        session.prepare(models)
        session.race()
        with let_end(session.interrupted):
            found = session.decide()
            found, model = session.finish(found)
            given = {
                "target": target,
                "budget": budget,
                "models": models,
                "metric": metric,
                "costs": costs,
                "groups": groups,
            }
            given |= {
                "time": time,
                "weights": weights,
                "positive": positive,
                "test": test,
                "drop_unlabelled": drop_unlabelled or None,
                "seed": seed,
                "n_jobs": n_jobs,
            }
            return Run.of(session, found, model, rows=rows, command=command, asked=asked_of(table, given))
    finally:
        pool.close()


def is_forest(entry: Entry) -> bool:
    """Whether it makes many deep trees."""
    return entry.family.spec.name in ("random_forest", "extra_trees")


def asked_of(table: Any, given: Mapping[str, Any]) -> str:
    """The call that repeats a run, as Python writes it; what Python cannot write is called by its name."""

    def written(name: str, value: Any) -> str:
        if isinstance(value, os.PathLike):
            return repr(str(value))
        if isinstance(value, list | tuple):
            return f"[{', '.join(written(getattr(one, 'name', 'model'), one) for one in value)}]"
        return repr(value) if isinstance(value, str | int | float) else name

    said = [f"{name}={written(name, value)}" for name, value in given.items() if value is not None]
    return f"foldwise.fit({', '.join([written('table', table), *said])})"


@dataclass(frozen=True)
class Found:
    """What was chosen, and what the choice is worth."""

    slate: Slate
    kept: tuple[Candidate, ...]  # of the slate, those that the final choice was made among
    stack: Stack
    chosen: Chosen
    honest: Honest
    naive: NDArray[np.float64]  # probabilities of the rows of `honest` by the choice that saw them
    most: int  # members at most


class Session:
    """One run under way."""

    def __init__(
        self, task: Task, measure: Measure, clock: Clock, pool: Pool, seed: int, watch: Watch, n_workers: int
    ) -> None:
        self.task, self.measure, self.clock, self.pool, self.seed = task, measure, clock, pool, seed
        self.watch, self.n_workers = watch, n_workers
        self.interrupted = False
        self.splits: list[Split] = []
        self.splitter = ""
        self.skipped: list[tuple[ModelSpec, str]] = []
        self.side: dict[str, Any] = {}  # what was asked of workers beside the final members
        self.halves: dict[int, Answered] = {}  # by id of a candidate: what it says when it learned from half the rows
        self.learning: Learning | None = None  # what they say together
        self.members: dict[int, float] = {}  # weights of the candidates that are in the final model
        self.lost: list[str] = []  # families of members that were not fitted in time
        self.n_bytes = 0  # of the final members
        self.has_forest = False  # among them

    def prepare(self, models: str | Iterable[str | ModelSpec] | None) -> None:
        """The folds, the families, and the table for the workers."""
        self.clock.enter("looking at the data")
        self.tell()
        self.splits, self.splitter = make_splits(self.task, self.seed)
        self.keeper = Keeper(self.task, self.splits, self.measure)
        names = models.split(",") if isinstance(models, str) else models
        specs = models_for(self.task.outline, names)
        weighed = {}
        for spec in specs:
            weighed[spec.name] = self.task.weights is None or spec.takes_weights(self.task.outline)
            if not weighed[spec.name]:
                self.skipped.append((spec, "it takes no weights of rows"))
        specs = [spec for spec in specs if weighed[spec.name]]
        if not specs:
            raise InputError("none of the models takes weights of rows.", "choose others, or leave the weights out.")
        families = []
        used = [name for name in self.task.table.X.columns if name in self.task.outline.roles]
        for number, spec in enumerate(specs):
            pipeline = spec.pipeline(self.task.outline, self.seed)
            predicted = spec.seconds(self.task.outline) * (1 - 1 / len(self.splits))
            rng = np.random.default_rng([self.seed, number])
            families.append(Family(spec, pipeline, rng, predicted, spec.space(self.task.outline)))
        self.X: pl.DataFrame = self.task.table.X.select(used)
        pipelines = {f.spec.name: (f.pipeline, self.task.weights is not None) for f in families}
        self.pool.give(Bench(self.X, self.task.codes, self.splits, self.task.weights, pipelines))
        self.contest = Race(families, self.keeper, self.pool, self.clock.started)

    def race(self) -> None:
        """Try families and settings until the rest of the time is needed for the end; an interrupt ends it earlier."""
        self.clock.enter("trying models")
        Thread(target=import_module, args=("skops.io",), daemon=True).start()  # loaded before the model is written
        try:
            self.contest.run(self.end_of_race, self.tell)
        except KeyboardInterrupt:
            self.interrupted = True
            self.pool.stop()
        if not self.contest.finished:
            self.finish_one()

    def finish_one(self) -> None:
        """Where nothing is finished: the cheapest entry, however long it takes; a usable result goes before time."""
        race = self.contest
        looked = [e for e in race.entries if e.scores and not e.dead] or list(race.entries)[:3]
        looked = looked or [race.open(f) for f in sorted(race.families, key=lambda f: f.predicted)[:3]]
        for entry in sorted(looked, key=lambda e: e.family.seconds(1.0)):
            for split in range(len(self.splits)):
                if split not in entry.scores:
                    entry.dead = False
                    race.start(entry, split, time.monotonic() + 3600.0)
                    while self.pool.running:
                        for done in self.pool.collect(0.2):
                            race.take(done)
            if entry.complete(len(self.splits)) and entry.usable():
                return
        whys = "; ".join(f"{f.spec.title}: {f.why}" for f in race.families if f.why)
        raise InputError(f"no model could be fitted to this table. {whys}", "give more time, or look at the columns.")

    def end_of_race(self) -> float:
        """When the race must end, so that what follows fits into the budget."""
        return self.clock.started + LATEST * self.clock.budget - self.reserve()

    def reserve(self) -> float:
        """Seconds for the choice, the fits on all rows, and the report."""
        cells = self.task.n_rows * self.task.n_classes * 20
        choosing = 0.3 + 2.5e-8 * cells * (len(self.splits) + 1)
        if self.task.n_classes > 2:  # decision values are mapped class by class
            choosing += 4e-3 * self.task.n_classes * len(self.splits)
        best = sorted(self.contest.finished, key=lambda e: -float(np.nanmax(np.mean(list(e.scores.values()), axis=0))))
        times = [self.refit_seconds(entry) for entry in best[:4]]
        looking = times[0] + self.looking if times else 0.0  # for what columns are worth
        fitting = max([0.0, *times, (1.5 * sum(times) + looking) / self.n_workers])  # half of the rows once more
        return self.reporting + min(choosing, 0.2 * self.clock.budget) + min(1.2 * fitting, 0.3 * self.clock.budget)

    @property
    def reporting(self) -> float:
        """Seconds for the facts, worked examples, and files; forests are large ones."""
        best = sorted(self.contest.finished, key=lambda e: -e.first())[:4]
        forests = FOREST + 5e-5 * self.task.n_rows if any(map(is_forest, best)) else 0.0
        return 2 * self.telling + min(forests, 0.2 * self.clock.budget) + min(1.0, 0.04 * self.clock.budget)

    @property
    def telling(self) -> float:
        """Seconds for the facts and files alone; as much again for the leaderboard before them."""
        return REPORTING + 0.02 * (self.task.n_classes - 2) + 0.003 * self.X.width

    @property
    def spare(self) -> float:
        """Seconds that are left for worked examples, once the final model is there."""
        forests = FOREST if self.has_forest else 0.0
        return LATEST * self.clock.budget - self.clock.elapsed - self.telling - forests - A_BYTE * self.n_bytes

    @property
    def looking(self) -> float:
        """Seconds for shuffling columns."""
        return min(5.0, 0.04 * self.clock.budget)

    def refit_seconds(self, entry: Entry) -> float:
        """A fit on all rows, by fits on the folds; where settings share work, most of the time went into the others."""
        share = len(self.splits[0].train) / self.task.n_rows
        if entry.family.spec.shares:
            share *= len(entry.settings) ** 0.5
        return float(np.median(list(entry.seconds.values()))) / share

    def decide(self) -> Found:
        """The members, their weights, and what the choice is worth."""
        self.clock.enter("choosing")
        self.tell()
        finished = self.contest.finished
        raced = any(0 in e.scores and not e.complete(len(self.splits)) for e in self.contest.entries)
        stack = Stack.of(self.keeper, raced)
        left = max(0.5, LATEST * self.clock.budget - self.clock.elapsed - self.reporting)
        quick = [e for e in finished if 1.2 * self.refit_seconds(e) < left]
        if not quick:
            quick = [min(finished, key=self.refit_seconds)]
        slate = candidates(quick, self.keeper, stack)
        slowest = max(self.refit_seconds(one.entry) for one in slate.kept)
        most = int(np.clip(self.n_workers * left / max(1.3 * slowest, 1e-3), 1, MOST_MEMBERS))
        return self.found(slate, stack, most)

    def found(self, slate: Slate, stack: Stack, most: int) -> Found:
        """The choice among candidates, and the same without the rows of each fold."""
        every = np.stack([one.proba for one in slate.kept])[slate.final]
        chosen = choose(every, stack.codes, stack.weights, self.measure, most)
        honest = crossed_choice(stack, slate, self.measure, most)
        kept = tuple(slate.kept[i] for i in slate.final)
        return Found(slate, kept, stack, chosen, honest, chosen.proba(every)[honest.places], most)

    def finish(self, found: Found) -> tuple[Found, Blend]:
        """The members fitted on all rows, together; beside them what the report wants of workers.

        Where time was too short for some, the choice and its worth are of those that were fitted.
        """
        self.clock.enter("fitting the final model")
        self.tell()
        members = np.flatnonzero(found.chosen.weights)
        jobs: list[tuple[Any, Any]] = [
            (int(i), Refit(found.kept[i].family.spec.name, found.kept[i].params))
            for i in members[np.argsort(-found.chosen.weights[members])]
        ]
        jobs += [*self.side_jobs(found), *halving_jobs(self, found)]
        fitted = self.perform(jobs, set(members.tolist()))
        self.side = {key: value for key, value in fitted.items() if isinstance(key, str)}
        self.halves = {id(found.kept[key[1]]): value for key, value in fitted.items() if isinstance(key, tuple)}
        models = {key: value for key, value in fitted.items() if isinstance(key, int)}
        self.lost = [found.kept[i].family.spec.title for i in members if i not in models]
        if self.lost:
            places = list(models)
            slate = found.slate.only([int(found.slate.final[i]) for i in places])
            found = self.found(slate, found.stack, found.most)
            models = {at: models[i] for at, i in enumerate(places)}
        used = [i for i in models if found.chosen.weights[i] > 0]
        self.members = {i: float(found.chosen.weights[i]) for i in used}
        self.has_forest = any(is_forest(found.kept[i].entry) for i in used)
        maps = {i: self.map_of(found.kept[i]) for i in used}
        self.learning = learning_of(self, found, maps)
        return found, Blend(
            [models[i] for i in used],
            list(self.members.values()),
            list(maps.values()),
            found.chosen.map,
            self.keeper.prior.tolist(),
            self.keeper.doubt,
            self.task.classes.tolist(),
        )

    def map_of(self, one: Candidate) -> Any:
        """From a member's decision values to probabilities, learned from all folds."""
        if not one.family.decision:
            return None
        lesson = self.keeper.lesson(one.entry, one.setting, sorted(one.entry.answers))
        return fit_calibrator("sigmoid", lesson)[1]

    def side_jobs(self, found: Found) -> list[tuple[Any, Any]]:
        """What the report shows besides: naive Bayes on all rows, and what columns are worth to the best model."""
        jobs: list[tuple[Any, Any]] = []
        bayes = next((f for f in self.contest.families if f.spec.name == "naive_bayes"), None)
        if bayes is not None and bayes.measured:
            ours = [c for c in found.kept if c.family is bayes]
            jobs.append(("bayes", Refit("naive_bayes", ours[0].params if ours else bayes.entries[0].settings[0])))
        best = found.kept[int(np.argmax(found.chosen.weights))]
        time_left = LATEST * self.clock.budget - self.clock.elapsed - self.reporting
        room = min(self.looking, time_left - best.seconds)
        if room > 0.2:
            asked = (tuple(found.stack.scored), tuple(self.X.columns), self.task.n_classes, self.seed, room)
            jobs.append(("importance", Importance(best.family.spec.name, best.params, *asked)))
            self.side_best = best
        return jobs

    def perform(self, jobs: list[tuple[Any, Any]], needed: set[Any]) -> dict[Any, Any]:
        """Jobs by their keys, as far as there is time; of those needed at least one is waited for."""
        done: dict[Any, Any] = {}
        keys = {id(job): key for key, job in jobs}
        waiting = [job for _, job in jobs]
        deadline = self.clock.started + LATEST * self.clock.budget - 0.8 * self.reporting
        while waiting or self.pool.running:
            have_one = bool(needed & set(done))
            late = time.monotonic() > deadline
            if late and have_one:
                break
            while waiting and self.pool.idle:
                job = waiting.pop(0)
                if late and keys[id(job)] not in needed:
                    continue
                patient = keys[id(job)] in needed and not have_one
                self.pool.start(job, deadline + (3600.0 if patient else 0.0))
            for one in self.pool.collect(0.1):
                if one.result is not None and not isinstance(one.result, Failed):
                    done[keys[id(one.job)]] = one.result
                    self.n_bytes += one.size
            self.tell()
        self.pool.stop()
        if not needed & set(done):
            raise InputError("the final model could not be fitted on all rows.", "give more time.")
        return done

    def tell(self) -> None:
        """Let whoever watches know."""
        race: Race | None = getattr(self, "contest", None)
        entries = list(race.entries) if race else []
        n_settings = sum(len(e.settings) for e in entries if e.scores)
        n_models = sum(len(e.settings) * len(e.scores) for e in entries)
        firsts = [e for e in entries if np.isfinite(e.first())]
        best = ""
        if firsts:
            top = max(firsts, key=Entry.first)
            score = top.first() if self.measure.greater else -top.first()
            best = f"{top.family.spec.title}: {self.measure.title} {score:.3g}"
        doing = [getattr(job, "family", "") for job, _ in self.pool.running]
        if race and self.clock.phase == "trying models":
            doing += [f"compiling {f.spec.name} (once)" for f in race.compiling]
        clock = self.clock
        self.watch(Moment(clock.phase, clock.elapsed, clock.budget, n_models, n_settings, best, tuple(doing)))
