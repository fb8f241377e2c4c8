"""The fold session of `NaiveBayes`: facts once per training set, every setting finished from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.bayes.assignment import FamilyBlock, wants_best, without_best
from foldwise.bayes.checks import check_classes, check_some_weight
from foldwise.bayes.facts import Facts
from foldwise.bayes.families.protocol import AnyView, Setting
from foldwise.bayes.grid import CodeTable, Grid, NumberTable, Settings
from foldwise.bayes.leave_one_out.scores import LeaveOneOutFacts, can_leave_out
from foldwise.bayes.parameters import CHECKS, by_name, check_columns, check_priors, check_setting
from foldwise.bayes.posterior import to_comparable, to_log_probabilities
from foldwise.data.arguments import check_jobs, column_index
from foldwise.data.cells import read_only
from foldwise.data.columns import check_comparable
from foldwise.data.encoded import EncodedView, encode_view, take_view
from foldwise.data.levels import are_text
from foldwise.data.target import Target, check_weights, encode_target
from foldwise.data.view import SparseView
from foldwise.errors import InputError
from foldwise.folds.protocol import NAMES, SHARES, Answer, Block, Failure, Labels, Need, Params, Rows, Turns
from foldwise.folds.rows import take_rows
from foldwise.folds.sums import PriorLogs
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share

MOST_CLASSES = 30_000  # labels of a grid are int16
BLOCK_CELLS = 1 << 18  # probabilities of a block: metrics read them while they are in a near cache
TURN_CELLS = 1 << 22  # scores of a block of leave-one-out, whose facts are had anew for every block
LAZY = frozenset({"families", "columns", "priors", "n_jobs", *CHECKS})


@dataclass(frozen=True)
class Opened:
    """The table encoded for one assignment of families; a grid where all columns are categorical or gaussian."""

    view: Any
    blocks: tuple[FamilyBlock, ...]
    template: Any  # an estimator that knows names and schema
    grid: Grid | None


@dataclass(frozen=True)
class Asked:
    """One setting that is valid so far, with all parameters of the model it stands for."""

    params: dict[str, Any]
    setting: Setting
    opened: Opened

    @property
    def chooses(self) -> bool:
        """Whether families are chosen anew from the rows of every training set."""
        return wants_best(self.params["families"]) and not isinstance(self.opened.view, SparseView)

    @property
    def at_once(self) -> bool:
        """Whether it can be finished together with others."""
        return self.opened.grid is not None and self.setting.missing == "ignore" and not self.chooses


@dataclass(frozen=True)
class Training:
    """What is known of some training rows before a family looks at them."""

    rows: Rows
    present: NDArray[np.intp]  # the classes that occur, as places among all
    share: Share  # labels, by the classes that occur, and weights
    totals: Floats  # (K,), the weight of each class

    @property
    def key(self) -> bytes:
        """What priors depend on."""
        return self.present.tobytes() + self.totals.tobytes()


@dataclass(frozen=True)
class Batch:
    """Settings of one grid that are finished together."""

    grid: Grid
    settings: Settings
    priors: tuple[Any, ...]  # the distinct ones
    prior: tuple[int, ...]  # of each setting, its place among them

    @classmethod
    def of(cls, asked: Sequence[Asked]) -> Batch:
        priors: dict[int, Any] = {id(one.params["priors"]): one.params["priors"] for one in asked}
        place = {key: i for i, key in enumerate(priors)}
        grid = asked[0].opened.grid
        assert grid is not None
        chosen = tuple(place[id(one.params["priors"])] for one in asked)
        return cls(grid, Settings.of([one.setting for one in asked]), tuple(priors.values()), chosen)

    @cached_property
    def prior_places(self) -> NDArray[np.intp]:
        return np.array(self.prior)

    @cached_property
    def logs(self) -> PriorLogs:
        return PriorLogs()

    def some(self, places: Sequence[int]) -> Batch:
        """Some of the settings, with their priors."""
        used = {k: at for at, k in enumerate(dict.fromkeys(self.prior[i] for i in places))}
        settings = Settings.of([self.settings.all[i] for i in places])
        return Batch(
            self.grid, settings, tuple(self.priors[k] for k in used), tuple(used[self.prior[i]] for i in places)
        )


@dataclass(frozen=True)
class Run:
    """Consecutive settings: a batch, or some that stand alone."""

    start: int
    asked: Sequence[Asked | Failure]
    batch: Batch | None


class NaiveBayesSession:
    """Settings that differ in smoothing, floors, priors or policies share their facts; families share the table."""

    shares = "summaries"
    threads = True
    order_free = True

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params
        self._template = clone(estimator)
        self.table: AnyView = self._template._view(X, reset=True)
        self._names = [column.name for column in self.table.columns]
        target = encode_target(y, self.table.n_rows)
        self.classes, self.codes = target.classes, target.codes
        self.target = Labels(target.classes, target.codes)
        weight = fit_params.get("sample_weight")
        if isinstance(weight, int | float | np.number):
            weight = np.full(self.table.n_rows, weight)
        self._weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        self._params = estimator.get_params(deep=False)
        self._base: Setting | None = None
        with suppress(TypeError, ValueError):
            self._base = check_setting({name: self._params[name] for name in CHECKS})
        self._opened: dict[str, Opened] = {}
        self._lock = Lock()
        self._asked: dict[int, tuple[Params, Asked | Failure]] = {}
        self._grouped: dict[tuple[Any, ...], list[Run]] = {}
        self._known: tuple[tuple[Params, ...], int | None, list[Run]] | None = None

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need  # there are no decision values
        training: Training | Failure
        try:
            training = self._training(train)
        except Exception as error:
            training = Failure(error)
        facts: dict[int, Any] = {}
        size = max(1, BLOCK_CELLS // max(1, len(test) * len(self.classes))) if need.has(SHARES) else None
        for run in self._runs(settings, size):
            if run.batch is not None and not isinstance(training, Failure):
                yield from self._at_once(run, run.batch, training, test, need)
            else:
                for i, one in enumerate(run.asked, run.start):
                    yield Block(i, i + 1, self._alone(one, training, test, need, facts))

    def takes_turns(self, setting: Params) -> bool:
        asked = self._ask(setting)
        if isinstance(asked, Failure):
            return True
        opened = asked.opened
        return not asked.chooses and can_leave_out(
            opened.view, opened.blocks, opened.template.schema_.columns, asked.setting
        )

    def answer_turns(self, settings: Sequence[Params], rows: Rows, places: Rows, need: Need) -> Iterator[Turns]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need
        everything = np.arange(len(places))
        nothing = everything[:0]
        try:
            training = self._training(rows)
        except Exception as error:  # and so says every training set of fewer rows
            yield Turns(0, len(settings), Failure(error), nothing)
            return
        size = max(1, TURN_CELLS // max(1, len(places) * len(self.classes)))
        asked = [self._ask(setting) for setting in settings]
        facts: dict[int, LeaveOneOutFacts | Failure] = {}
        start = 0
        for opened, group in groupby(asked, key=lambda one: None if isinstance(one, Failure) else id(one.opened)):
            members = list(group)
            for a in range(0, len(members), size):
                part: list[Any] = members[a : a + size]
                first, start = start, start + len(part)
                if opened is None:
                    yield from (Turns(first + i, first + i + 1, one, nothing) for i, one in enumerate(part))
                    continue
                if opened not in facts:
                    facts[opened] = self._leaving_out(part[0].opened, training)
                found = facts[opened]
                if isinstance(found, Failure):
                    yield Turns(first, start, found, nothing)
                    continue
                yield self._turns(first, part, found, training, places, need)

    def _leaving_out(self, opened: Opened, training: Training) -> LeaveOneOutFacts | Failure:
        """The facts of all rows; a cell that is refused is refused by each model, be it learned or asked about."""
        target = Target(self.classes[training.present], training.share.y)
        view = take_view(opened.view, training.rows)
        columns = opened.template.schema_.columns
        try:
            return LeaveOneOutFacts(view, target, training.share.weights, opened.blocks, columns)
        except InputError as error:
            return Failure(error)

    def _turns(
        self, start: int, asked: Sequence[Asked], facts: LeaveOneOutFacts, training: Training, places: Rows, need: Need
    ) -> Turns:
        """What settings of one table say of the rows at some places."""
        stop, n_classes = start + len(asked), len(self.classes)
        shape = (len(asked), len(places))
        labels = np.zeros(shape, dtype=np.int64) if need.has(NAMES) else None
        log_proba = np.full((*shape, n_classes), -np.log(n_classes)) if need.has(SHARES) else None
        try:
            scored = facts.score(places, [one.setting for one in asked], [one.params["priors"] for one in asked])
        except InputError:  # of some setting and some splits, perhaps: each is asked by itself
            return Turns(start, stop, Answer(labels, log_proba), np.arange(len(places)))
        labels = None if labels is None else scored.labels()
        log_proba = None if log_proba is None else scored.log_proba()
        answer = Answer(labels, log_proba).among(training.present, n_classes)
        return Turns(start, stop, answer, np.flatnonzero(scored.refit))

    def model(self, setting: Params, train: Rows) -> Any:
        asked = self._ask(setting)
        if isinstance(asked, Failure):
            raise asked.error
        return self._fitted(asked, self._training(train), {})

    def subsets(self) -> Any:
        """The session of subsets of columns (see `foldwise.folds.protocol`); None where a refit must answer."""
        from foldwise.bayes.subsets import COUPLED, SubsetsByFacts, SubsetsByTerms

        names = [column.name for column in self.table.columns]
        asked = self._ask({})
        if isinstance(asked, Failure) or asked.chooses or asked.params["columns"] is not None:
            return None
        if any(column_index("columns", j, names) != j for j in range(len(names))):
            return None  # columns are named by other numbers than their places
        coupled = any(block.family in COUPLED for block in asked.opened.blocks) or len(self.classes) > MOST_CLASSES
        by_facts = coupled or isinstance(self.table, SparseView)
        return (SubsetsByFacts if by_facts else SubsetsByTerms)(self, asked)

    def _runs(self, settings: Sequence[Params], size: int | None) -> list[Run]:
        """Settings as runs that are finished together; every split asks for the same ones again."""
        if self._known is not None and self._known[0] is settings and self._known[1] == size:
            return self._known[2]
        key = (size, *map(id, settings))
        if key not in self._grouped:
            asked = [self._ask(setting) for setting in settings]  # holds the settings, so that no id is used anew
            # probabilities finished together and alone differ in the last bit, and settings that are alike must tie
            alike = size is None or all(one.at_once for one in asked if isinstance(one, Asked))
            runs: list[Run] = []
            for together, group in groupby(range(len(asked)), key=lambda i: run_key(asked[i]) if alike else None):
                places = list(group)
                for start in range(0, len(places), size or len(places)):
                    part = places[start : start + (size or len(places))]
                    members = [asked[i] for i in part]
                    batch = None if together is None else Batch.of([m for m in members if isinstance(m, Asked)])
                    runs.append(Run(part[0], members, batch))
            self._grouped[key] = runs
        if isinstance(settings, tuple):
            self._known = (settings, size, self._grouped[key])
        return self._grouped[key]

    def _ask(self, setting: Params) -> Asked | Failure:
        """The setting as it was asked before: splits ask for the same ones again."""
        known = self._asked.get(id(setting))
        if known is None or known[0] is not setting:
            known = (setting, self._check(setting))
            self._asked[id(setting)] = known  # holds the setting, so that its id is not used anew
        return known[1]

    def _check(self, setting: Params) -> Asked | Failure:
        """The setting, checked as `fit` would; no estimator is made, because cloning costs more than answering."""
        try:
            params = {**self._params, **setting}
            if len(params) > len(self._params):
                clone(self.estimator).set_params(**setting)  # raises for the unknown name
            if self._base is None:  # what the estimator itself has is refused, unless a setting replaces it
                checked = check_setting({name: params[name] for name in CHECKS})
            else:
                given = {name: CHECKS[name](setting[name]) for name in setting if name in CHECKS}
                checked = Setting(**{**vars(self._base), **given})
            check_jobs(params["n_jobs"])
            checked = by_name(checked, self._names)
            if params["columns"] is not None:
                checked = replace(checked, columns=check_columns(params["columns"], self._names))
            return Asked(params, checked, self._open(without_best(params["families"])))
        except Exception as error:
            return Failure(error)

    def _open(self, families: Any) -> Opened:
        key = repr(families)
        if key in self._opened:
            return self._opened[key]
        with self._lock:  # threads come together, and one encodes the table
            return self._encode(key, families)

    def _encode(self, key: str, families: Any) -> Opened:
        if key not in self._opened:
            template = self._template
            if families is not self._params["families"]:
                template = clone(self.estimator).set_params(families=families)
                template._view(self.X, reset=True)
            blocks = template._assign(self.table, families)
            categorical = [j for block in blocks if block.family == "categorical" for j in block.columns]
            text = [j for block in blocks if block.family == "text" for j in block.columns]
            view = encode_view(self.table, categorical, text)
            for j in categorical:
                levels = template.schema_.columns[j].levels
                if levels and isinstance(view, EncodedView):
                    check_comparable(template.schema_.columns[j].name, levels, are_text(view.coded_columns[j].levels))
            self._opened[key] = Opened(
                view, blocks, template, open_grid(view, blocks, template.schema_, len(self.classes))
            )
        return self._opened[key]

    def _training(self, train: Rows) -> Training:
        """Labels and weights of the training rows, by the classes that occur in them."""
        codes = self.codes[train]
        count = np.bincount(codes, minlength=len(self.classes))
        present = np.flatnonzero(count)
        check_classes(self.classes[present])
        if len(present) < len(count):
            codes = np.searchsorted(present, codes)
        weights = check_weights(None if self._weights is None else self._weights[train], len(train))
        check_some_weight(weights)
        totals = count[present] if weights is None else np.bincount(codes, weights=weights, minlength=len(present))
        share = Share(read_only(codes.astype(np.int64, copy=False)), weights, len(present), 0, len(train))
        return Training(train, present, share, totals.astype(np.float64))

    def _at_once(self, run: Run, batch: Batch, training: Training, test: Rows, need: Need) -> Iterator[Block]:
        """Settings of one grid: those whose priors are refused fail alone, the others are finished together."""
        try:
            log_prior = batch.logs.of(training.key, lambda: self._log_prior(batch, training))
        except Exception:
            yield from self._with_some_priors(run, batch, training, test, need)
            return
        yield Block(run.start, run.start + len(batch.prior), self._grid_answer(batch, log_prior, training, test, need))

    def _with_some_priors(self, run: Run, batch: Batch, training: Training, test: Rows, need: Need) -> Iterator[Block]:
        """The same where some priors are refused: their settings fail, the others are finished together."""
        refused: dict[int, Failure] = {}
        for k, given in enumerate(batch.priors):
            try:
                check_priors(given, self.classes[training.present], training.totals)
            except Exception as error:
                refused[k] = Failure(error)
        good = [i for i, k in enumerate(batch.prior) if k not in refused]
        answer: Any = None
        if good:
            part = batch.some(good)
            answer = self._grid_answer(part, self._log_prior(part, training), training, test, need)
        place = {i: at for at, i in enumerate(good)}
        for i, k in enumerate(batch.prior):
            one: Any = refused.get(k, answer)
            if i in place and isinstance(answer, Answer):
                one = answer.cut(place[i], place[i] + 1)
            yield Block(run.start + i, run.start + i + 1, one)

    def _log_prior(self, batch: Batch, training: Training) -> Floats:  # (K, S)
        classes = self.classes[training.present]
        logs = np.array([check_priors(given, classes, training.totals) for given in batch.priors])
        return logs.T.take(batch.prior_places, axis=1)

    def _grid_answer(
        self, batch: Batch, log_prior: Floats, training: Training, test: Rows, need: Need
    ) -> Answer | Failure:
        try:
            return self._scored_grid(batch, log_prior, training, test, need)
        except Exception as error:
            return Failure(error)

    def _scored_grid(self, batch: Batch, log_prior: Floats, training: Training, test: Rows, need: Need) -> Answer:
        batch.grid.check_finite(test)
        scores = batch.grid.scores(training.share, training.rows, batch.settings, log_prior)
        labels = scores.labels(test).T if need.has(NAMES) else None
        log_proba = scores.log_proba(test).transpose(2, 0, 1) if need.has(SHARES) else None
        return Answer(labels, log_proba).among(training.present, len(self.classes))

    def _alone(
        self, asked: Asked | Failure, training: Training | Failure, test: Rows, need: Need, facts: dict[int, Any]
    ) -> Answer | Failure:
        """One setting finished by itself."""
        if isinstance(asked, Failure):
            return asked
        if isinstance(training, Failure):
            return training
        try:
            model = self._fitted(asked, training, facts)
            return self._scored(model, take_view(asked.opened.view, test), need)
        except Exception as error:
            return Failure(error)

    def _fitted(self, asked: Asked, training: Training, facts: dict[int, Any]) -> Any:
        """The estimator that `fit` on the training rows would give, from facts that are learned once."""
        opened = asked.opened
        if asked.chooses:
            model = clone(self.estimator).set_params(**{**asked.params, "n_jobs": 1})
            weights = training.share.weights
            model.fit(take_rows(self.X, training.rows), take_rows(self.y, training.rows), weights)
            return model.set_params(n_jobs=asked.params["n_jobs"])
        if id(opened) not in facts:
            target = Target(self.classes[training.present], training.share.y)
            view = take_view(opened.view, training.rows)
            facts[id(opened)] = Facts.learn(view, target, training.share.weights, opened.blocks, n_jobs=1)
        model = clone(self.estimator).set_params(**asked.params)
        model._adopt(opened.template)
        return model._finish(facts[id(opened)], asked.setting)

    def _scored(self, model: Any, view: AnyView, need: Need) -> Answer:
        wanted = need.has(SHARES)
        scores, _ = model._score(view, to_log_probabilities if wanted else to_comparable)
        place = {label: i for i, label in enumerate(self.classes.tolist())}
        places = np.array([place[label] for label in model.classes_.tolist()])
        labels = places[scores.argmax(axis=1)]
        if not wanted:
            return Answer(labels[None])
        log_proba = np.full((len(scores), len(self.classes)), -np.inf)
        log_proba[:, places] = scores
        return Answer(labels[None], log_proba[None])


def run_key(asked: Asked | Failure) -> int | None:
    """What settings that can be finished together have in common; None for one that stands alone."""
    return id(asked.opened) if isinstance(asked, Asked) and asked.at_once else None


def open_grid(view: Any, blocks: Sequence[FamilyBlock], schema: Any, n_classes: int) -> Grid | None:
    """The grid of an encoded table, where its families allow one."""
    families = {block.family for block in blocks}
    if not isinstance(view, EncodedView) or not families <= {"categorical", "gaussian"} or n_classes > MOST_CLASSES:
        return None
    categories, numbers = None, None
    for block in blocks:
        if block.family == "categorical":
            coded = [view.coded_columns[j].described(schema.columns[j]) for j in block.columns]
            categories = CodeTable.of(coded, block.columns)
        else:
            names = tuple(schema.columns[j].name for j in block.columns)
            numbers = NumberTable(np.ascontiguousarray(view.number_table), names, block.columns)
    return Grid(categories, numbers)
