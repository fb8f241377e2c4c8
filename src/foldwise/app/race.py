"""The race: families and settings on the same folds, a fold at a time, for as long as there is time.

Every family starts on the first fold, the cheap ones first. What does well there goes on to the other folds, and what
does best is what new settings are drawn for: a family's share of the time falls with its rank. The first fold decides
who goes on, so it has no say in how good the winners are (see `choice`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from foldwise.app.entries import Entry, Family, Keeper
from foldwise.app.workers.jobs import Answered, Ask, Failed
from foldwise.app.workers.pool import COMPILED, Done, Pool
from foldwise.folds.protocol import Params
from foldwise.tuning.strategies import Random, Strategy

COMPANIONS = 24  # settings that share one piece of work
STAGES = (1.0, 0.5, 0.25, 0.125)
MOST_ENTRIES = 60  # of a family: more settings find little
OPENING_SHARE = 0.6  # of the race: a family that takes longer on all folds waits until the others are done
AT_ONCE = 3  # families that are looked at before the best of them is finished
PATIENCE = 4.0  # times what was predicted, before a job is stopped
KEPT = 4  # settings of an entry whose answers are kept
MOST_CELLS = 1.2e7  # test rows × classes × columns of an entry's settings: nearly free is not free
REMEMBERED = 60  # entries that may still go on
STEP = 0.2  # seconds between looks at the clock


class Race:
    """The entries of all families, and what to do next."""

    def __init__(
        self, families: Sequence[Family], keeper: Keeper, pool: Pool, started: float, strategy: Strategy | None = None
    ) -> None:
        self.families = list(families)
        self.keeper, self.pool, self.started = keeper, pool, started
        self.strategy = strategy or Random(1)
        self.n_splits, self.n_workers = len(keeper.splits), pool.idle
        self.waiting: dict[tuple[int, int], Entry] = {}  # by id of the settings, and split
        self.stop = float("inf")  # when the last job that was started had to end
        self.speed = 1.0  # how this machine compares with what families say of themselves

    def run(self, end: Callable[[], float], tick: Callable[[], None]) -> None:
        """Race until there is nothing left to do, or the time `end()` has come."""
        while True:
            stop = end()
            if time.monotonic() >= stop:
                break
            while self.pool.idle:
                found = self.next(stop)
                if found is None:
                    break
                self.start(*found, stop)
            if not self.pool.running and not self.compiling:
                break
            if not self.pool.running:
                time.sleep(STEP)
            for done in self.pool.collect(min(STEP, max(0.0, stop - time.monotonic()))):
                self.take(done)
            tick()
        self.pool.stop()
        for family in self.compiling:
            family.why = "its code was still being compiled for this machine, which is done once"

    def start(self, entry: Entry, split: int, stop: float) -> None:
        family = entry.family
        entry.asked.add(split)
        predicted = family.seconds(self.speed)
        left = stop - time.monotonic()
        patience = max(3.0, PATIENCE * predicted if family.measured else 0.5 * left)
        if family.spec.name in COMPILED and len(family.measured) < 2:
            patience = left  # what no small table calls is compiled now
        job = Ask(family.spec.name, entry.settings, split, self.keeper.task.n_classes, family.decision)
        self.waiting[id(job.settings), split] = entry
        self.pool.start(job, time.monotonic() + min(left, patience))
        self.stop = stop

    def take(self, done: Done) -> None:
        """What came of a job."""
        assert isinstance(done.job, Ask)
        entry = self.waiting.pop((id(done.job.settings), done.job.split))
        family, split = entry.family, done.job.split
        family.spent += done.seconds
        result = done.result
        if isinstance(result, Answered) and result.scores is not None:
            entry.answers[split] = result.scores
            entry.seconds[split] = done.seconds
            entry.errors.update(dict(result.errors))
            entry.scores[split] = self.keeper.score(entry, split)
            ratios = [min(f.measured) / f.predicted for f in self.families if f.measured and not f.spec.shares]
            self.speed = float(np.clip(np.median(ratios or [1.0]), 0.3, 3.0))
            if entry.complete(self.n_splits):
                entry.forget(KEPT)
            if np.isnan(entry.scores[split]).all():
                self.bury(entry, next(iter(entry.errors.values()), "its score is not defined"), "failed")
        elif isinstance(result, Failed):
            self.bury(entry, result.error, "failed")
        elif time.monotonic() >= self.stop:
            self.bury(entry, "the time was over", "not finished")
        else:
            self.bury(entry, f"a fold took more than {done.seconds:.0f} s", "too slow")

    def bury(self, entry: Entry, why: str, status: str) -> None:
        """An entry that will not be finished; a family of which none will be is given up."""
        entry.dead = True
        family = entry.family
        if not any(one.complete(self.n_splits) or not one.dead for one in family.entries):
            family.status, family.why = status, why

    def next(self, stop: float) -> tuple[Entry, int] | None:
        """The entry and the split to do now."""
        left = stop - time.monotonic()
        opening = [f for f in self.families if not f.entries and self.pool.compiled(f.spec.name)]
        opening.sort(key=lambda f: f.seconds(self.speed))
        room = max(1.0, OPENING_SHARE * left) * self.n_workers
        affordable = [f for f in opening if f.seconds(self.speed) * self.n_splits < room]
        seen = sum(bool(f.entries) for f in self.families)
        if seen >= AT_ONCE:
            best = max((e for e in self.entries if 0 in e.scores and not e.dead), key=Entry.first, default=None)
            if best is not None and len(best.asked) < self.n_splits and self.rest(best) < 0.5 * left:
                return best, self.unasked(best)  # a stop at any moment leaves the best so far
        if affordable and (seen < AT_ONCE or self.finished or self.under_way):
            return self.open(affordable[0]), 0
        going_on = self.promoted(left)
        if going_on is not None:
            return going_on
        if affordable:
            return self.open(affordable[0]), 0
        found = self.explore(left)
        if found is not None:
            return found, 0
        later = [f for f in opening if f.seconds(self.speed) < 0.6 * left]
        return (self.open(later[0]), 0) if later else None

    @property
    def compiling(self) -> list[Family]:
        """Families that wait until their code is compiled."""
        return [f for f in self.families if not f.entries and not self.pool.compiled(f.spec.name)]

    @property
    def finished(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.complete(self.n_splits) and entry.usable()]

    @property
    def under_way(self) -> bool:
        """Whether some entry is being finished."""
        return any(entry.asked > {0} and not entry.dead for entry in self.entries)

    @property
    def entries(self) -> Iterator[Entry]:
        return (entry for family in self.families for entry in family.entries)

    def promoted(self, left: float) -> tuple[Entry, int] | None:
        """The next split of the best entry that goes on."""
        looked = sorted((e for e in self.entries if 0 in e.scores and not e.dead), key=Entry.first, reverse=True)
        for entry in looked[REMEMBERED:]:
            if entry.asked == {0}:
                entry.dead = True
                entry.answers.clear()
        looked = looked[:REMEMBERED]
        width = max(AT_ONCE, -(-len(looked) // 3))
        best_of = {id(max(f.entries, key=Entry.first)) for f in self.families if f.entries}
        started = {id(e.family) for e in looked if len(e.asked) > 1}
        # the best of every cheap family goes first: a table of families without naive Bayes would be a poor one
        cheap = [e for e in looked if id(e) in best_of and id(e.family) not in started and self.rest(e) < 0.08 * left]
        if cheap and started:
            return min(cheap, key=self.rest), 1
        begun = [e for e in looked if 1 < len(e.asked) < self.n_splits]
        worth_it = [e for e in looked[:width] if len(e.asked) == 1 and self.rest(e) < 1.5 * left]
        for entry in [*begun, *worth_it]:
            return entry, self.unasked(entry)
        return None

    def unasked(self, entry: Entry) -> int:
        """The first split that an entry was not asked about."""
        return next(k for k in range(self.n_splits) if k not in entry.asked)

    def rest(self, entry: Entry) -> float:
        """Seconds for the splits that an entry was not asked about."""
        return entry.family.seconds(self.speed) * (self.n_splits - len(entry.asked))

    def explore(self, left: float) -> Entry | None:
        """A new entry of the family that has had the least time for its rank."""
        tried = [f for f in self.families if f.space and any(0 in e.scores and not e.dead for e in f.entries)]
        tried.sort(key=lambda f: max(e.first() for e in f.entries), reverse=True)
        share = {id(f): f.spent * (1 + rank) ** 1.5 for rank, f in enumerate(tried)}
        for family in sorted(tried, key=lambda f: share[id(f)]):
            if len(family.entries) < MOST_ENTRIES and family.seconds(self.speed) < 0.4 * left:
                return self.open(family)
        return None

    def open(self, family: Family) -> Entry:
        """A new entry: the family's own setting first, then others as the strategy proposes."""
        space = family.space
        base = dict(self.strategy.propose(space, [], family.rng)[0]) if family.entries and space else {}
        if not self.pool.compiled("naive_bayes"):  # which selects columns
            base.pop("select", None)
        entry = Entry(family, tuple(self.companions(family, base)), time.monotonic() - self.started)
        family.entries.append(entry)
        return entry

    def companions(self, family: Family, base: Params) -> list[Params]:
        """Settings that are answered from the same work: shorter stages, or other values of what is shared."""
        spec, space = family.spec, family.space
        shared = {f"model__{name}": space[f"model__{name}"] for name in spec.shares if f"model__{name}" in space}
        if shared:
            task = self.keeper.task
            a_setting = len(self.keeper.splits[0].test) * task.n_classes * len(task.outline.roles)
            number = int(np.clip(MOST_CELLS / a_setting, 3, COMPANIONS))
            return [base, *({**base, **one} for one in Random(number).propose(shared, [], family.rng))]
        if spec.stages in space:
            assert spec.stages is not None
            longest = int(base.get(spec.stages, family.pipeline.get_params()[spec.stages]))
            steps = sorted({max(1, round(share * longest)) for share in STAGES}, reverse=True)
            return [{**base, spec.stages: n} for n in steps]
        return [base]
