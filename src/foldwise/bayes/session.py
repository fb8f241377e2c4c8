"""The fold session of `NaiveBayes`: facts once per training set, every setting finished from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone

from foldwise.bayes.assignment import Block as FamilyBlock
from foldwise.bayes.checks import check_classes, check_some_weight
from foldwise.bayes.facts import Facts
from foldwise.bayes.families.protocol import AnyView, Setting
from foldwise.bayes.grid import CodeTable, Grid, NumberTable
from foldwise.bayes.parameters import check_jobs, check_priors, check_setting
from foldwise.bayes.posterior import to_comparable, to_log_probabilities
from foldwise.data.cells import read_only
from foldwise.data.columns import ObjectColumn, check_comparable
from foldwise.data.encoded import EncodedView, encode_view, take_view
from foldwise.data.levels import are_text
from foldwise.data.target import Target, check_weights, encode_target
from foldwise.data.view import View
from foldwise.folds.protocol import Answer, Block, Failure, Labels, Need, Params, Rows
from foldwise.summaries.number_kernels import Floats
from foldwise.summaries.passes import Share, windows

MOST_CLASSES = 30_000  # labels of a grid are int16
LAZY = frozenset({"families", "alpha", "var_floor", "ddof", "priors", "missing", "unseen", "n_jobs"})


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
    def at_once(self) -> bool:
        """Whether it can be finished together with others."""
        return self.opened.grid is not None and self.setting.missing == "ignore"


class NaiveBayesSession:
    """Settings that differ in smoothing, floors, priors or policies share their facts; families share the table."""

    shares = "summaries"
    threads = True
    order_free = True

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params
        self.table: AnyView = clone(estimator)._view(X, reset=True)
        target = encode_target(y, self.table.n_rows)
        self.classes, self.codes = target.classes, target.codes
        self.target = Labels(target.classes, target.codes)
        weight = fit_params.get("sample_weight")
        self._weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        self._params = estimator.get_params(deep=False)
        self._opened: dict[str, Opened] = {}
        self._asked: dict[int, tuple[Params, Asked | Failure]] = {}

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        training: Share | Failure
        try:
            training = self._training(train)
        except Exception as error:
            training = Failure(error)
        asked = [self._ask(setting) for setting in settings]
        facts: dict[int, Any] = {}
        start = 0
        for key, run in groupby(asked, key=run_key):
            group = list(run)
            together = [one for one in group if isinstance(one, Asked)]
            if key is not None and not isinstance(training, Failure):
                yield from self._at_once(together, start, training, train, test, need)
            else:
                for i, one in enumerate(group, start):
                    yield Block(i, i + 1, self._alone(one, training, train, test, need, facts))
            start += len(group)

    def model(self, setting: Params, train: Rows) -> Any:
        asked = self._ask(setting)
        if isinstance(asked, Failure):
            raise asked.error
        return self._fitted(asked, self._training(train), train, {})

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
            checked = check_setting(*(params[name] for name in ("alpha", "var_floor", "ddof", "missing", "unseen")))
            check_jobs(params["n_jobs"])
            return Asked(params, checked, self._open(params["families"]))
        except Exception as error:
            return Failure(error)

    def _open(self, families: Any) -> Opened:
        key = repr(families)
        if key not in self._opened:
            template = clone(self.estimator).set_params(families=families)
            template._view(self.X, reset=True)
            blocks = template._assign(self.table)
            categorical = [j for block in blocks if block.family == "categorical" for j in block.columns]
            view = encode_view(self.table, categorical)
            for j in categorical:
                levels = template.schema_.columns[j].levels
                if levels and isinstance(view, EncodedView):
                    check_comparable(template.schema_.columns[j].name, levels, are_text(view.coded_columns[j].levels))
            self._opened[key] = Opened(
                view, blocks, template, open_grid(view, blocks, template.schema_, len(self.classes))
            )
        return self._opened[key]

    def _training(self, train: Rows) -> Share:
        """Labels and weights of the training rows, by the classes that occur in them."""
        present, codes = np.unique(self.codes[train], return_inverse=True)
        check_classes(self.classes[present])
        weights = check_weights(None if self._weights is None else self._weights[train], len(train))
        check_some_weight(weights)
        return Share(read_only(codes.astype(np.int64)), weights, len(present), 0, len(train))

    def _at_once(
        self, group: Sequence[Asked], start: int, training: Share, train: Rows, test: Rows, need: Need
    ) -> Iterator[Block]:
        """Settings of one grid: those whose priors are refused fail alone, the others are finished together."""
        present = np.unique(self.codes[train])
        totals = np.bincount(training.y, weights=training.weights, minlength=training.n_classes).astype(np.float64)
        found_priors: dict[int, Floats | Failure] = {}
        for one in group:
            given = one.params["priors"]
            if id(given) not in found_priors:  # most settings share one object
                try:
                    found_priors[id(given)] = check_priors(given, self.classes[present], totals)
                except Exception as error:
                    found_priors[id(given)] = Failure(error)
        priors = [found_priors[id(one.params["priors"])] for one in group]
        good = [i for i, prior in enumerate(priors) if not isinstance(prior, Failure)]
        found: Answer | Failure | None = None
        if good:
            log_prior = np.stack([prior for prior in priors if not isinstance(prior, Failure)], axis=1)
            try:
                found = self._grid_answer([group[i] for i in good], log_prior, training, train, test, need, present)
            except Exception as error:
                found = Failure(error)
        place = {i: k for k, i in enumerate(good)}
        for is_good, run in groupby(range(len(group)), key=lambda i: i in place):
            members = list(run)
            first, last = members[0], members[-1] + 1
            if not is_good:
                for i in members:
                    failed = priors[i]
                    assert isinstance(failed, Failure)
                    yield Block(start + i, start + i + 1, failed)
            elif isinstance(found, Answer):
                rows = slice(place[first], place[last - 1] + 1)
                log_proba = None if found.log_proba is None else found.log_proba[rows]
                labels = None if found.labels is None else found.labels[rows]
                yield Block(start + first, start + last, Answer(labels, log_proba))
            elif found is not None:
                yield Block(start + first, start + last, found)

    def _grid_answer(
        self,
        group: Sequence[Asked],
        log_prior: Floats,
        training: Share,
        train: Rows,
        test: Rows,
        need: Need,
        present: Any,
    ) -> Answer:
        grid = group[0].opened.grid
        assert grid is not None
        grid_scores = grid.scores(training, train, test, [one.setting for one in group])
        labels = grid_scores.labels(np.ascontiguousarray(log_prior)).T
        if len(present) < len(self.classes):
            labels = present.astype(np.int16)[labels]
        if not need & (Need.PROBA | Need.MODEL):
            return Answer(labels)
        log_proba = np.full((len(group), len(test), len(self.classes)), -np.inf)
        for a, b in windows(0, len(test), grid_scores.chunk_rows):
            scores = grid_scores.rows(a, b) + log_prior
            for s in range(len(group)):
                one = np.ascontiguousarray(scores[:, :, s])
                to_log_probabilities(one, np.ascontiguousarray(log_prior[:, s]))
                log_proba[s, a:b][:, present] = one
        return Answer(labels, log_proba)

    def _alone(
        self,
        asked: Asked | Failure,
        training: Share | Failure,
        train: Rows,
        test: Rows,
        need: Need,
        facts: dict[int, Any],
    ) -> Answer | Failure:
        """One setting finished by itself."""
        if isinstance(asked, Failure):
            return asked
        if isinstance(training, Failure):
            return training
        try:
            model = self._fitted(asked, training, train, facts)
            return self._scored(model, take_view(asked.opened.view, test), need)
        except Exception as error:
            return Failure(error)

    def _fitted(self, asked: Asked, training: Share, train: Rows, facts: dict[int, Any]) -> Any:
        """The estimator that `fit` on the training rows would give, from facts that are learned once."""
        opened = asked.opened
        if id(opened) not in facts:
            target = Target(self.classes[np.unique(self.codes[train])], training.y)
            view = take_view(opened.view, train)
            facts[id(opened)] = Facts.learn(view, target, training.weights, opened.blocks, n_jobs=1)
        model = clone(self.estimator).set_params(**asked.params)
        model._adopt(opened.template)
        return model._finish(facts[id(opened)], asked.setting)

    def _scored(self, model: Any, view: AnyView, need: Need) -> Answer:
        wanted = bool(need & (Need.PROBA | Need.MODEL))
        scores, _ = model._score(view, to_log_probabilities if wanted else to_comparable)
        place = {label: i for i, label in enumerate(self.classes.tolist())}
        places = np.array([place[label] for label in model.classes_.tolist()])
        labels = places[scores.argmax(axis=1)]
        if not wanted:
            return Answer(labels[None])
        log_proba = np.full((len(scores), len(self.classes)), -np.inf)
        log_proba[:, places] = scores
        return Answer(labels[None], log_proba[None])


def mixes_text_and_numbers(table: AnyView) -> bool:
    """Whether an object column holds both."""
    if not isinstance(table, View):
        return False
    objects = [source for source in table.sources if isinstance(source, ObjectColumn)]
    found = [source.distinct(0, table.n_rows) for source in objects]
    return any(levels and are_text(levels) is None for levels in found)


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
            categories = CodeTable.of(coded)
        else:
            names = tuple(schema.columns[j].name for j in block.columns)
            numbers = NumberTable(np.ascontiguousarray(view.number_table), names)
    return Grid(categories, numbers)
