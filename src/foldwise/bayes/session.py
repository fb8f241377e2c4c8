"""The fold session of `NaiveBayes`: facts are learned once per training set, and serve every setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.arrays import Floats
from foldwise.bayes.checks import CHECKS, check_classes, check_priors, check_some_weight
from foldwise.bayes.entry_params import entry_of
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families.protocol import AnyView
from foldwise.bayes.finished import FinishedModel, shift_to_max, to_log_probabilities
from foldwise.bayes.grid import GridBatch
from foldwise.bayes.leave_one_out.scores import LeaveOneOutFacts, can_leave_out
from foldwise.bayes.session_settings import (
    MOST_CLASSES,
    CheckedSetting,
    FamilyTable,
    SessionSettings,
    consecutive,
    table_of,
)
from foldwise.data.arguments import column_index
from foldwise.data.cells import read_only
from foldwise.data.encoded import take_view
from foldwise.data.target import Target, check_weights, encode_target
from foldwise.data.view import SparseView
from foldwise.errors import InputError
from foldwise.folds.fallback import attempt, raise_hidden, refitted_apart
from foldwise.folds.protocol import NAMES, SHARES, Answer, Block, Failure, Labels, LeaveOneOutBlock, Need, Params, Rows
from foldwise.folds.rows import take_rows
from foldwise.summaries.passes import ThreadShare

BLOCK_CELLS = 1 << 18  # probabilities per block of settings, so that metrics read them from the cache
LEAVE_ONE_OUT_CELLS = 1 << 22  # the same for leave-one-out, where each block recomputes facts
Result = TypeVar("Result")
LAZY = frozenset({"families", "columns", "priors", "n_jobs", *CHECKS})


@dataclass(frozen=True)
class TrainingSet:
    """Training rows with their labels and weights."""

    rows: Rows
    present: NDArray[np.intp]  # indices of the classes that occur
    classes: NDArray[Any]  # their labels
    share: ThreadShare  # codes among the classes that occur, and weights
    totals: Floats  # (K,), the weight of each class

    @property
    def key(self) -> bytes:
        """A key of everything that priors depend on."""
        return self.present.tobytes() + self.totals.tobytes()

    def learn(self, table: FamilyTable) -> NaiveBayesFacts:
        """Learn the facts of the training rows."""
        view, target = take_view(table.view, self.rows), Target(self.classes, self.share.y)
        return NaiveBayesFacts.learn(view, target, self.share.weights, table.blocks, n_jobs=1)


def result_or_failure(function: Callable[..., Result], *arguments: Any) -> Result | Failure:
    """Call a function; its exception becomes a `Failure`, which is the answer of the settings concerned."""
    try:
        return function(*arguments)
    except Exception as error:  # not hidden: the failure is the answer
        return Failure(error)


class NaiveBayesSession:
    """Settings with the same families share the facts of a training set; all settings share the table."""

    shares = "summaries"
    threads = True
    order_free = True

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        self.estimator, self.X, self.y, self.fit_params = estimator, X, y, fit_params
        template = clone(estimator)
        self.table: AnyView = template._view(X, reset=True)
        target = encode_target(y, self.table.n_rows)
        self.classes, self.codes = target.classes, target.codes
        self.target = Labels(target.classes, target.codes)
        weight = fit_params.get("sample_weight")
        if isinstance(weight, int | float | np.number):
            weight = np.full(self.table.n_rows, weight)
        self._weights = None if weight is None else np.asarray(weight, dtype=np.float64)
        self.settings = SessionSettings(estimator, X, template, self.table, len(self.classes))

    def lazy(self, params: Params) -> frozenset[str]:
        return LAZY | {name for name in params if entry_of(name) is not None}

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need  # decision values are probabilities
        training = result_or_failure(self.training_set, train)
        facts: dict[int, NaiveBayesFacts] = {}
        size = max(1, BLOCK_CELLS // max(1, len(test) * len(self.classes))) if need.has(SHARES) else None
        for run in self.settings.runs(settings, size):
            error = None
            if run.batch is not None and not isinstance(training, Failure):
                log_prior, error = attempt(partial(self._log_prior, run.batch, training))
                if log_prior is not None:
                    answer = result_or_failure(self._grid_answer, run.batch, log_prior, training, test, need)
                    yield Block(run.start, run.start + len(run.members), answer)
                    continue
            # if a prior is invalid, each setting is answered alone and raises its own error
            answers = (self._alone(one, training, test, need, facts) for one in run.members)
            for i, alone in enumerate(refitted_apart(answers, error), run.start):
                yield Block(i, i + 1, alone)

    def _alone(
        self,
        one: CheckedSetting | Failure,
        training: TrainingSet | Failure,
        test: Rows,
        need: Need,
        facts: dict[int, NaiveBayesFacts],
    ) -> Answer | Failure:
        """Answer one setting alone; errors of the setting are reported before those of the training rows."""
        if isinstance(one, Failure):
            return one
        if isinstance(training, Failure):
            return training
        return result_or_failure(self._single_answer, one, training, test, need, facts)

    def training_set(self, train: Rows) -> TrainingSet:
        """Collect labels and weights of the training rows, by the classes that occur in them."""
        codes = self.codes[train]
        count = np.bincount(codes, minlength=len(self.classes))
        present = np.flatnonzero(count)
        classes = self.classes[present]
        check_classes(classes)
        if len(present) < len(count):
            codes = np.searchsorted(present, codes)
        weights = check_weights(None if self._weights is None else self._weights[train], len(train))
        check_some_weight(weights)
        totals = count[present] if weights is None else np.bincount(codes, weights=weights, minlength=len(present))
        share = ThreadShare(read_only(codes.astype(np.int64, copy=False)), weights, len(present), 0, len(train))
        return TrainingSet(train, present, classes, share, totals.astype(np.float64))

    def _log_prior(self, batch: GridBatch, training: TrainingSet) -> Floats:  # (K, S)
        """Compute the priors of a batch; raise if any is invalid."""

        def make() -> Floats:
            distinct = {id(given): given for given in batch.priors}
            logs = {key: check_priors(given, training.classes, training.totals) for key, given in distinct.items()}
            return np.array([logs[id(given)] for given in batch.priors]).T

        return batch.prior_logs.get(training.key, make)

    def _grid_answer(
        self, batch: GridBatch, log_prior: Floats, training: TrainingSet, test: Rows, need: Need
    ) -> Answer:
        """Answer all settings of a batch at once."""
        batch.grid.check_finite(test)
        scores = batch.grid.scores(training.share, training.rows, batch, log_prior)
        labels = scores.labels(test).T if need.has(NAMES) else None
        log_proba = scores.log_proba(test).transpose(2, 0, 1) if need.has(SHARES) else None
        return Answer(labels, log_proba).among(training.present, len(self.classes))

    def _single_answer(
        self, checked: CheckedSetting, training: TrainingSet, test: Rows, need: Need, facts: dict[int, NaiveBayesFacts]
    ) -> Answer:
        """Answer one setting alone; `facts` are those of this training set, by table."""
        table = checked.table
        if checked.chooses:
            model = self._fitted(checked, training)._finished
        else:
            if id(table) not in facts:
                facts[id(table)] = training.learn(table)
            log_prior = check_priors(checked.params["priors"], training.classes, training.totals)
            model = FinishedModel.of(facts[id(table)], table.blocks, table.columns, checked.setting, log_prior)
        normalize = to_log_probabilities if need.has(SHARES) else shift_to_max
        scores, _ = model.score(take_view(table.view, test), checked.params["n_jobs"], normalize)
        log_proba = scores[None] if need.has(SHARES) else None
        return Answer(scores.argmax(axis=1)[None], log_proba).among(training.present, len(self.classes))

    def model(self, setting: Params, train: Rows) -> Any:
        checked = self.settings.check(setting)
        if isinstance(checked, Failure):
            raise checked.error
        return self._fitted(checked, self.training_set(train))

    def _fitted(self, checked: CheckedSetting, training: TrainingSet) -> Any:
        """Make the estimator that `fit` on the training rows would return."""
        model = clone(self.estimator).set_params(**checked.params)
        if not checked.chooses:
            model._adopt(checked.table.template)
            return model._finish(training.learn(checked.table), checked.setting)
        model.set_params(n_jobs=1)
        model.fit(take_rows(self.X, training.rows), take_rows(self.y, training.rows), training.share.weights)
        return model.set_params(n_jobs=checked.params["n_jobs"])

    def subsets(self) -> Any:
        """Open the session of column subsets (see `foldwise.folds.protocol`); None if refits must answer."""
        from foldwise.bayes.subsets import COUPLED, SubsetsByTerms

        checked, n_columns = self.settings.check({}), len(self.settings.names)
        if isinstance(checked, Failure) or checked.chooses or checked.params["columns"] is not None:
            return None
        if any(column_index("columns", j, self.settings.names) != j for j in range(n_columns)):
            return None  # column names are numbers that differ from the indices
        coupled = any(block.family in COUPLED for block in checked.table.blocks) or len(self.classes) > MOST_CLASSES
        by_facts = coupled or isinstance(self.table, SparseView)
        return self if by_facts else SubsetsByTerms(self, checked)

    def answers_leave_one_out(self, setting: Params) -> bool:
        checked = self.settings.check(setting)
        if isinstance(checked, Failure):
            return True
        table = checked.table
        return not checked.chooses and can_leave_out(table.view, table.blocks, table.columns, checked.setting)

    def answer_leave_one_out(
        self, settings: Sequence[Params], rows: Rows, indices: Rows, need: Need
    ) -> Iterator[LeaveOneOutBlock]:
        need = need | Need.PROBA if need.has(Need.DECISION) else need
        nothing = np.arange(0)
        training = result_or_failure(self.training_set, rows)
        if isinstance(training, Failure):  # training sets with fewer rows fail too
            yield LeaveOneOutBlock(0, len(settings), training, nothing)
            return
        size = max(1, LEAVE_ONE_OUT_CELLS // max(1, len(indices) * len(self.classes)))
        checked = [self.settings.check(setting) for setting in settings]
        facts: dict[int, LeaveOneOutFacts | Failure] = {}
        for start, table, run in consecutive(checked, table_of, size):
            members: list[Any] = run
            if table is None:
                yield from (LeaveOneOutBlock(i, i + 1, failure, nothing) for i, failure in enumerate(members, start))
                continue
            if table not in facts:
                facts[table] = self._leave_one_out_facts(members[0].table, training)
            found = facts[table]
            if isinstance(found, Failure):
                yield LeaveOneOutBlock(start, start + len(members), found, nothing)
            else:
                yield self._leave_one_out_block(start, members, found, training, indices, need)

    def _leave_one_out_facts(self, table: FamilyTable, training: TrainingSet) -> LeaveOneOutFacts | Failure:
        """Learn the facts of all rows. An invalid value fails in every split, in training or in test rows."""
        target = Target(training.classes, training.share.y)
        view = take_view(table.view, training.rows)
        try:
            return LeaveOneOutFacts(view, target, training.share.weights, table.blocks, table.columns)
        except InputError as error:
            return Failure(error)

    def _leave_one_out_block(
        self,
        start: int,
        members: Sequence[CheckedSetting],
        facts: LeaveOneOutFacts,
        training: TrainingSet,
        indices: Rows,
        need: Need,
    ) -> LeaveOneOutBlock:
        """Answer settings of one table for the rows at some indices."""
        stop, n_classes = start + len(members), len(self.classes)
        try:
            scored = facts.score(indices, [one.setting for one in members], [one.params["priors"] for one in members])
        except InputError as error:  # perhaps only one setting fails in some splits: refit them all
            raise_hidden(error, partial(self._first_failure, members, training.rows, indices, need))
            shape = (len(members), len(indices))
            labels = np.zeros(shape, dtype=np.int64) if need.has(NAMES) else None
            log_proba = np.full((*shape, n_classes), -np.log(n_classes)) if need.has(SHARES) else None
            return LeaveOneOutBlock(start, stop, Answer(labels, log_proba), np.arange(len(indices)))
        labels = scored.labels() if need.has(NAMES) else None
        log_proba = scored.log_proba() if need.has(SHARES) else None
        answer = Answer(labels, log_proba).among(training.present, n_classes)
        return LeaveOneOutBlock(start, stop, answer, np.flatnonzero(scored.refit))

    def _first_failure(
        self, members: Sequence[CheckedSetting], rows: Rows, indices: Rows, need: Need
    ) -> Failure | None:
        """Answer settings for one row after the other until one fails; None if none does."""
        for index in indices.tolist():
            training = result_or_failure(self.training_set, np.delete(rows, index))
            for one in members:
                answer = self._alone(one, training, rows[[index]], need, {})
                if isinstance(answer, Failure):
                    return answer
        return None
