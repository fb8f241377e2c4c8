"""The base of sessions of linear models: settings, folds and subsets of columns share one Gram matrix per training set.

A subclass says which settings it supports and how it solves them. Settings that it leaves open are refitted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import validate_data

from foldwise.adapters.linear_facts import LinearTable, TrainingFacts
from foldwise.arrays import Floats
from foldwise.folds.caches import ByteBudget, IdentityCache, KeyedCache
from foldwise.folds.fallback import attempt, raise_hidden
from foldwise.folds.groups import group_by, value_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession, in_order
from foldwise.folds.protocol import Answer, Block, Labels, Need, Params, Rows
from foldwise.folds.rows import take_rows
from foldwise.folds.splits import LeaveOneOutSplits, Split
from foldwise.summaries.gram import Gram

KEPT_BYTES = 1 << 28  # of facts about training sets
FAR = 1e4  # Σ|mean·coefficient| / standard deviation of the target, above which the intercept loses too many digits


class HasWeighting(Protocol):
    """The part of a setting that decides the weights of rows."""

    @property
    def class_weight(self) -> Any:
        """None, "balanced" or a dict, as in scikit-learn."""


LinearSetting = TypeVar("LinearSetting", bound=HasWeighting)


@dataclass(frozen=True)
class Solution:
    """The coefficients of several settings, and which of them are to be used; the others are refitted."""

    coef: Floats  # (settings, m, d)
    intercept: Floats  # (settings, m)
    usable: NDArray[np.bool_]  # (settings,)

    @classmethod
    def of(cls, coef: Floats, intercepts: NDArray[np.bool_], facts: TrainingFacts, usable: Any) -> Solution:
        """Add the intercepts where they are fitted; refuse coefficients in which large means cancel."""
        with np.errstate(invalid="ignore", over="ignore"):
            far = np.abs(coef) @ np.abs(facts.x_mean)  # (settings, m)
            scale = np.maximum(np.sqrt(facts.spread / facts.weight), np.abs(facts.y_mean))
            usable = usable & (np.isfinite(far) & (far <= FAR * scale)).all(axis=1)
            intercept = np.where(intercepts[:, None], facts.y_mean - coef @ facts.x_mean, 0.0)
        return cls(coef, intercept, usable)

    def predict(self, X: Floats, at: slice) -> Floats:  # (settings, m, rows)
        """Predict some rows with some of the settings."""
        coef = self.coef[at]
        found = coef.reshape(-1, coef.shape[2]) @ X.T
        found += self.intercept[at].reshape(-1, 1)
        return found.reshape(*coef.shape[:2], len(X))


class GramSession(ModelSession, Generic[LinearSetting]):
    """A session in which settings, and subsets of columns, share the Gram matrix of the training rows."""

    shares = "gram"
    threads = True
    order_free = True
    small_products = True
    LAZY: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.table: LinearTable | None = None
        self._read = IdentityCache(self._plain)
        self._tested: KeyedCache[tuple[Rows, Floats]] = KeyedCache()
        self._budget = ByteBudget(KEPT_BYTES // 4)
        self._unions: KeyedCache[tuple[Rows, list[Rows]]] = KeyedCache(1 << 12)
        self._grams: KeyedCache[tuple[Rows, Gram]] = KeyedCache(64)
        self._facts: KeyedCache[tuple[Rows, TrainingFacts | None]] = KeyedCache(64)

    @abstractmethod
    def plain(self, params: dict[str, Any]) -> LinearSetting | None:
        """The setting, if it can be solved from the facts; None if it may be invalid, or is not supported."""

    @abstractmethod
    def solve(self, settings: Sequence[LinearSetting], facts: TrainingFacts) -> Solution:
        """The coefficients of settings with the same weights of rows."""

    def solve_subsets(self, setting: LinearSetting, facts: TrainingFacts, columns: NDArray[np.intp]) -> Solution:
        """The coefficients of one setting for subsets of the same size, (subsets, size)."""
        return stacked([self.solve([setting], part_of(facts, some)) for some in columns])

    def _plain(self, setting: Params) -> LinearSetting | None:
        return self.plain(self.merged(setting)) if setting.keys() <= self.own_params.keys() else None

    def lazy(self, params: Params) -> frozenset[str]:
        return self.LAZY if self._read.of(params) is not None else frozenset()

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from in_order(self._pieces(settings, train, test, with_predictions(need)))

    def _pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        shared = len(train) > 0 and len(test) > 0
        known = {i: plain for i, one in enumerate(settings) if shared and (plain := self._read.of(one)) is not None}
        alone = [i for i in range(len(settings)) if i not in known]
        for group in group_by(known, lambda i: value_key(known[i].class_weight)):
            facts = self.facts(train, known[group[0]].class_weight)
            if facts is None:
                alone += group
                continue
            solution = self.solve([known[i] for i in group], facts)
            solved = [i for i, good in zip(group, solution.usable.tolist(), strict=True) if good]
            alone += [i for i, good in zip(group, solution.usable.tolist(), strict=True) if not good]
            if solved:
                for at, answer in self.answers(kept(solution), facts, test, need):
                    yield solved[at], answer
        if alone:
            X_test = self.test_table(settings[alone[0]], train, test)
            for i in sorted(alone):
                yield [i], self.answer_alone(settings[i], train, X_test, need)

    def facts(self, train: Rows, class_weight: Any = None) -> TrainingFacts | None:
        """The facts about training rows; None if the models of these rows are refitted."""
        table = self.table
        assert table is not None

        def made() -> tuple[Rows, TrainingFacts | None]:
            factors, error = None, None
            if class_weight:
                y = take_rows(self.y, train)
                factors, error = attempt(lambda: compute_sample_weight(class_weight, y))
                raise_hidden(error, partial(self.refit, {"class_weight": class_weight}, train))
            parts = () if class_weight else self._parts_of(train)
            return train, None if error is not None else table.facts(train, factors, parts)

        key: Hashable = (id(train), value_key(class_weight))
        known = self._facts.find(key)
        if known is not None:
            return known[1]
        found = made()  # holds the rows, so that their id is not reused
        large = found[1] is not None and found[1].n_bytes * 64 > KEPT_BYTES
        return found[1] if large else self._facts.get(key, lambda: found)[1]

    def expect(self, splits: Sequence[Split]) -> None:
        """Note which training sets are unions of the test rows of the other splits: their summaries are merged."""
        if (
            len(splits) < 3
            or isinstance(splits, LeaveOneOutSplits)
            or self._unions.find(id(splits[0].train)) is not None
        ):
            return
        for k, union in enumerate(unions_of_tests(splits, self.n_rows)):
            self._unions.keep(id(splits[k].train), (splits[k].train, union))  # holds the rows, so that ids stay unique

    def _parts_of(self, train: Rows) -> list[Gram]:
        """The summaries of the parts of which training rows are known to consist."""
        table, union = self.table, self._unions.find(id(train))
        assert table is not None
        if union is None or table.X.shape[1] > len(train):
            return []

        def part(rows: Rows) -> Gram:
            found = self._grams.get(id(rows), lambda: (rows, table.gram(rows, table.weights_of(rows, None))))
            return found[1]

        return [part(rows) for rows in union[1]]

    def test_rows(self, test: Rows) -> Floats:
        """The test rows; kept as long as there is room, because many subsets of columns are tested on the same rows."""
        assert self.table is not None
        known = self._tested.find(id(test))
        if known is not None:
            return known[1]
        found = self.table.X[test]
        return self._tested.keep(id(test), (test, found))[1] if self._budget.take(found.nbytes) else found

    def answers(
        self, solution: Solution, facts: TrainingFacts, test: Rows, need: Need
    ) -> Iterator[tuple[slice, Answer]]:
        """The predictions of all settings of a solution, in blocks."""
        X, size = self.test_rows(test), self.block_size(len(test))
        for start in range(0, len(solution.coef), size):
            at = slice(start, start + size)
            yield at, read_scores(solution.predict(X, at), facts, need)

    def subsets(self) -> Any:
        """A session whose settings are subsets of columns."""
        from foldwise.adapters.linear_subsets import LinearSubsets  # it imports this file

        plain = self._read.of({})
        return None if plain is None else LinearSubsets(self, plain)


def part_of(facts: TrainingFacts, columns: NDArray[np.intp]) -> TrainingFacts:
    """The facts about some of the columns."""
    assert facts.products is not None
    targets = range(facts.n_columns, len(facts.products.high))
    products = facts.products.select([*columns.tolist(), *targets])
    return replace(facts, x_mean=facts.x_mean[columns], products=products)


def stacked(solutions: Sequence[Solution]) -> Solution:
    """Solutions of one setting each, as one."""
    coef, intercept = (np.concatenate([getattr(one, name) for one in solutions]) for name in ("coef", "intercept"))
    return Solution(coef, intercept, np.concatenate([one.usable for one in solutions]))


def unions_of_tests(splits: Sequence[Split], n_rows: int) -> list[list[Rows]]:
    """For each split the test rows of all others, if together they are its training rows; empty otherwise."""
    fold = np.full(n_rows, -1)
    tests = [split.test for split in splits]
    total = sum(map(len, tests))
    for k, test in enumerate(tests):
        fold[test] = k
    if np.count_nonzero(fold >= 0) != total:  # a row is tested twice
        return []
    for k, split in enumerate(splits):
        own, once = fold[split.train], np.zeros(n_rows, dtype=bool)
        once[split.train] = True
        n_train = len(split.train)
        inside = bool((own >= 0).all() and (own != k).all())
        if not inside or n_train != total - len(tests[k]) or np.count_nonzero(once) != n_train:
            return []
    return [tests[:k] + tests[k + 1 :] for k in range(len(tests))]


def with_predictions(need: Need) -> Need:
    """All kinds of predictions instead of a model: a scorer that needs more than these asks for the model itself."""
    return need | Need.VALUES | Need.LABELS | Need.DECISION if need.has(Need.MODEL) else need


def kept(solution: Solution) -> Solution:
    """The usable part of a solution."""
    good = solution.usable
    return solution if good.all() else Solution(solution.coef[good], solution.intercept[good], good[good])


def read_scores(scores: Floats, facts: TrainingFacts, need: Need) -> Answer:  # scores (settings, m, rows)
    """The needed predictions: values, or decision values and the labels that follow from them."""
    if facts.present is None:
        return Answer(values=scores[:, 0] if need & Need.VALUES else None)
    if len(facts.present) == 2:
        decision, codes = scores[:, 0], (scores[:, 0] > 0).astype(np.intp)
    else:
        decision, codes = np.ascontiguousarray(scores.transpose(0, 2, 1)), np.argmax(scores, axis=1)
    return Answer(
        labels=facts.present[codes] if need & Need.LABELS else None,
        decision=decision if need & Need.DECISION else None,
    )


def opened(session: GramSession[Any]) -> GramSession[Any] | None:
    """The session with its table; None if scikit-learn would read the table in another way, or refuse it."""
    if (
        get_config()["array_api_dispatch"]
        or session.target is None
        or not session.fit_params.keys() <= {"sample_weight"}
    ):
        return None
    X, weights = numbers_of(session), weights_of(session.fit_params.get("sample_weight"), session.n_rows)
    if X is None or weights is False:
        return None
    if not isinstance(session.target, Labels) and not np.isfinite(session.target.numbers).all():
        return None
    session.table = LinearTable(X, session.target, weights)
    return session


def numbers_of(session: GramSession[Any]) -> Floats | None:
    """The table as scikit-learn reads it; None if it is sparse, in single precision, or invalid."""
    X = session.X
    if nw.dependencies.is_into_dataframe(X):
        schema = nw.from_native(X, eager_only=True).schema
        if not all(dtype.is_numeric() or dtype == nw.Boolean for dtype in schema.values()):
            return None
    elif type(X) is not np.ndarray or X.dtype.kind not in "fiub" or X.ndim != 2:
        return None
    found, error = attempt(lambda: validate_data(clone(session.estimator), X))
    raise_hidden(error, partial(session.refit, {}, np.arange(session.n_rows)))
    if found is None or (found.dtype.kind == "f" and found.dtype != np.float64) or found.shape[1] == 0:
        return None
    return np.ascontiguousarray(found, dtype=np.float64)


def weights_of(given: Any, n_rows: int) -> Any:
    """The sample weights in double precision; None without any, False if they are left to a refit."""
    if given is None:
        return None
    weights = np.asarray(given)
    if weights.shape != (n_rows,) or weights.dtype.kind not in "fiub":
        return False
    weights = weights.astype(np.float64)
    return weights if np.isfinite(weights).all() and (weights >= 0).all() else False
