"""The fold session of an ensemble: its members' sessions answer, and every combination is made of what they said.

Settings that differ in combiners, sizes, or parameters that a member's session varies for free share all their work.
Where members are drawn at random, depend on each other, or are combined by something that looks at the rows
themselves or is moved by last bits (stacking, grading, arbiters), the ensemble is refitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.building import Some, is_plain, joined, partition
from foldwise.ensembles.combiners.averages import Mean
from foldwise.ensembles.combiners.votes import Vote
from foldwise.ensembles.members import takes_weights, unfitted
from foldwise.ensembles.plan import Plan, draw_lessons, plan_of
from foldwise.ensembles.protocol import Floats, Learning, Lesson, Panel, Task
from foldwise.ensembles.sizes import Fixed
from foldwise.ensembles.stored import MemberError, Said, Stored, needed, panel_of
from foldwise.ensembles.variants import Variants
from foldwise.folds.groups import value_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession, in_order
from foldwise.folds.protocol import Answer, Block, Failure, Labels, Need, Params, Rows
from foldwise.folds.randomness import TableSize, is_repeatable
from foldwise.folds.rows import take_rows

Key = tuple[Any, ...]

# combiners that take each row by itself, to the last bit the same among however many: no subclass is known to
BY_ROWS = frozenset({Vote, Mean})
PANEL_CELLS = 1 << 18  # of settings that are combined together: a near cache holds what members say


def open_ensemble(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> EnsembleSession | None:
    """A session, or None where nothing can be shared: then a refit says what there is to say."""
    if not fit_params.keys() <= {"sample_weight"} or len(getattr(X, "shape", ())) != 2:
        return None
    session = EnsembleSession(estimator, X, y, fit_params)
    asked = session.asked({}) if session.target is not None else None
    if asked is None:
        return None
    if fit_params.get("sample_weight") is not None and not all(takes_weights(one) for one in asked.plan.estimators):
        return None
    for lesson in asked.lessons:
        session.stored.place(lesson)
    return session


@dataclass(frozen=True)
class Asked:
    """A setting that can be answered from what members say."""

    plan: Plan
    lessons: tuple[Lesson, ...]
    setting: Params  # held, so that ids of its values stay their own
    stored: Stored

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """What stands for each member; members that answer alike have the same."""
        places = (self.stored.place(lesson) for lesson in self.lessons)
        return tuple((id(session), key) for session, _, key in places)

    @cached_property
    def wants_proba(self) -> bool:
        return self.plan.wants_proba()

    @cached_property
    def kind(self) -> Key | None:
        """The same for settings whose answers one call of a combiner makes; None where each has a call of its own."""
        if self.plan.size.chooses or type(self.plan.combiner) not in BY_ROWS:
            return None
        return type(self.plan.combiner), len(self.lessons), self.wants_proba

    @property
    def folds(self) -> list[Any]:
        """The inner splitters that its blocks learn from."""
        learning = [block for block in (self.plan.size,) if block.chooses]
        learning += [block for block in (self.plan.combiner,) if block.learns and hasattr(block, "cv")]
        return [getattr(block, "cv", 5) for block in learning]


class EnsembleSession(ModelSession):
    """Settings share what their members share."""

    shares = "members"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        super().__init__(estimator, X, y, fit_params)
        self._names = frozenset(estimator.get_params(deep=True))
        weights = fit_params.get("sample_weight")
        self._weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self._n_classes = len(self.target.classes) if isinstance(self.target, Labels) else 0
        labels = y if not isinstance(self.target, Labels) else self.target.classes[self.target.codes]
        self.stored = Stored(X, labels, self._weights, self._n_classes)
        self._asked: dict[Key, Asked | None] = {}
        self._known: tuple[tuple[Params, ...], dict[int, Asked]] | None = None
        self._variants: Variants | None = None
        self._steady: dict[int, tuple[Any, bool]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is known by ids, which mean other things in another process."""
        return {**vars(self), "_asked": {}, "_known": None, "_variants": None, "_steady": {}}

    @property
    def threads(self) -> bool:  # type: ignore[override]
        return all(session.threads for session in self.stored.sessions)

    @property
    def order_free(self) -> bool:  # type: ignore[override]
        return all(session.order_free for session in self.stored.sessions)

    def lazy(self, params: Params) -> frozenset[str]:
        return self._names.union(params) if self.asked(params) is not None else frozenset()

    def asked(self, setting: Params) -> Asked | None:
        """The setting, if it can be answered from what members say."""
        key = tuple(sorted((name, value_key(value)) for name, value in setting.items()))
        if key not in self._asked:
            self._asked[key] = self._ask(setting)
        return self._asked[key]

    def _ask(self, setting: Params) -> Asked | None:
        try:
            if self._variants is None:
                self._variants = Variants(self.estimator)
            model = self._variants.of(setting)
            if model is None:
                model = self.unfitted(setting)
            plan = plan_of(model, regression=self._n_classes == 0)
            if not plan.plain or not (isinstance(plan.size, Fixed) or plan.size.chooses) or not plan.combiner.exact:
                return None
            assert self.target is not None
            task = Task(self.X, self.target, self._weights, self.n_rows, self.X.shape[1])
            lessons = tuple(draw_lessons(plan, task))
        except Exception:  # the refit says what is wrong
            return None
        if not lessons or not is_plain(lessons) or plan.combiner.decodes:
            return None
        seeded = any(name.endswith("random_state") for lesson in lessons for name in lesson.params)
        if seeded and not isinstance(model.random_state, Integral):
            return None  # drawn anew at each fit
        asked = Asked(plan, lessons, setting, self.stored)
        if any(hasattr(cv, "__next__") for cv in asked.folds):
            return None
        blocks = (is_repeatable(part, TableSize(self.n_rows)) for part in (plan.combiner, plan.size))
        return asked if all(blocks) and all(map(self._is_steady, lessons)) else None

    def _is_steady(self, lesson: Lesson) -> bool:
        """Whether each fit of a member gives the same model; many settings have the same members."""
        if lesson.params:
            return is_repeatable(unfitted(lesson), TableSize(self.n_rows))
        known = self._steady.get(id(lesson.estimator))
        if known is None:  # held with the answer, so that its id stays its own
            known = (lesson.estimator, is_repeatable(lesson.estimator, TableSize(self.n_rows)))
            self._steady[id(lesson.estimator)] = known
        return known[1]

    def _all_asked(self, settings: Sequence[Params]) -> dict[int, Asked]:
        """The settings that can be answered from what members say, by their places. Every split asks again."""
        known = self._known
        if known is not None and known[0] is settings:
            return known[1]
        found = {i: one for i, setting in enumerate(settings) if (one := self.asked(setting)) is not None}
        if isinstance(settings, tuple):
            self._known = (settings, found)
        return found

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from in_order(self._in_pieces(settings, train, test, need))

    def _in_pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        asked = self._all_asked(settings)
        panels: SplitPanels | None = None
        done: set[int] = set()
        if asked:
            try:
                panels = SplitPanels(self, list(asked.values()), train, test)
            except MemberError:
                panels = None  # each by itself: one that fails must not take the others along
        if panels is not None:
            for places in panels.together(asked):
                try:
                    answer = panels.answer_all([asked[i] for i in places])
                except Exception:
                    continue  # each by itself
                yield places, answer
                done.update(places)
        for i, setting in enumerate(settings):
            if i not in done:
                yield [i], self._singly(setting, asked.get(i), panels, train, test, need)

    def _singly(
        self, setting: Params, asked: Asked | None, panels: SplitPanels | None, train: Rows, test: Rows, need: Need
    ) -> Answer | Failure:
        """The answer to one setting."""
        if asked is not None:
            try:
                mine = SplitPanels(self, [asked], train, test) if panels is None else panels
                return mine.answer(asked)
            except Exception:
                pass  # the refit says what is wrong
        return next(self.answer_group([setting], train, take_rows(self.X, test), need))


class SplitPanels:
    """What the members of several settings say on one split, and inside its training rows."""

    def __init__(self, session: EnsembleSession, asked: Sequence[Asked], train: Rows, test: Rows) -> None:
        self._session = session
        target = session.target
        assert target is not None
        weights = session._weights
        if weights is not None:
            train = train[weights[train] > 0]  # the others were not seen
        whole = Task(session.X, target, weights, session.n_rows, session.X.shape[1])
        self.present: NDArray[np.intp] = np.arange(session._n_classes)
        if isinstance(target, Labels):
            # a model knows the classes of its training rows only
            self.present, codes = np.unique(target.codes[train], return_inverse=True)
            known: Any = Labels(target.classes[self.present], codes.astype(np.int64))
        else:
            known = whole.some(train).target
        self.task = Task(None, known, None if weights is None else weights[train], len(train), whole.n_columns)
        self._n_test = len(test)
        self._said = self._gather(asked, train, test)
        self._folds: dict[Any, tuple[Any, list[dict[Key, Said]]]] = {}
        for key, cv in {key_of(cv): cv for one in asked for cv in one.folds}.items():
            some = [one for one in asked if any(key_of(other) == key for other in one.folds)]
            splits = partition(cv, replace(self.task, X=take_rows(session.X, train)))
            parts = [self._gather(some, train[split.train], train[split.test], inner=True) for split in splits]
            self._folds[key] = (splits, parts)

    def _gather(self, asked: Sequence[Asked], train: Rows, test: Rows, inner: bool = False) -> dict[Key, Said]:
        """The answers of all distinct members."""
        lessons = {key: lesson for one in asked for key, lesson in zip(one.keys, one.lessons, strict=True)}
        need = Need(0)
        for proba in {one.wants_proba for one in asked}:
            need |= needed(self._session._n_classes, proba)
        stored = self._session.stored
        said = (stored.inner_answers if inner else stored.answers)(list(lessons.values()), train, test, need)
        return {key: self._narrow(one) for key, one in zip(lessons, said, strict=True)}

    def _narrow(self, said: Said) -> Said:
        """An answer among the classes of the training rows."""
        if len(self.present) == self._session._n_classes:
            return said
        labels = None if said.labels is None else np.searchsorted(self.present, said.labels)
        return Said(labels, None if said.proba is None else said.proba[:, self.present])

    def _panel(self, said: dict[Key, Said], asked: Asked) -> Panel:
        return panel_of([said[key] for key in asked.keys], self.task.n_classes, asked.wants_proba)

    def together(self, asked: dict[int, Asked]) -> list[list[int]]:
        """Places of settings that are combined by one call, several at a time."""
        n_classes = self.task.n_classes
        if n_classes == 0 and self._n_test == 1:  # a mean of numbers side by side is summed in another order
            return []
        groups: dict[Key, list[int]] = {}
        for i, one in asked.items():
            if one.kind is not None:
                groups.setdefault(one.kind, []).append(i)
        found = []
        for (_, n_members, *_), places in groups.items():
            most = max(1, PANEL_CELLS // (n_members * self._n_test * max(1, n_classes)))
            found += [places[a : a + most] for a in range(0, len(places), most)]
        return found

    def answer_all(self, asked: Sequence[Asked]) -> Answer:
        """What ensembles of one kind say: the rows of all, one below the other, are combined as those of one."""
        n_members, shape = len(asked[0].lessons), (len(asked), self._n_test)
        said = [self._said[one.keys[m]] for m in range(n_members) for one in asked]
        panel = panel_of(said, self.task.n_classes, asked[0].wants_proba)
        whole = (n_members, len(asked) * self._n_test)
        parts = {name: getattr(panel, name) for name in ("labels", "proba", "values")}
        long = {name: part.reshape(*whole, *part.shape[2:]) for name, part in parts.items() if part is not None}
        scores = asked[0].plan.combiner.combine(replace(panel, weights=panel.weights[:n_members], **long))
        if self.task.n_classes == 0:
            return Answer(values=scores.reshape(shape))
        proba = scores.reshape(*shape, self.task.n_classes)
        answer = Answer(labels=scores.argmax(axis=1).reshape(shape), proba=proba)
        return answer.among(self.present, self._session._n_classes)

    def answer(self, asked: Asked) -> Answer:
        """What the ensemble of one setting says of the test rows."""
        panel = self._panel(self._said, asked)
        panels: Any = Folded(self, asked)
        if asked.plan.size.chooses:
            weights = asked.plan.size.choose(panels.out_of_fold(getattr(asked.plan.size, "cv", 5)), self.task)
            kept = np.flatnonzero(weights > 0)
            panel = replace(panel.some(kept), weights=weights[kept])
            panels = Some(panels, kept, weights[kept])
        rule = asked.plan.combiner.learn(Learning(self.task, panels, None, asked.plan.seed))
        scores: Floats = rule(panel, None)
        if self.task.n_classes == 0:
            return Answer(values=scores[None])
        answer = Answer(labels=scores.argmax(axis=1)[None], proba=scores[None])
        return answer.among(self.present, self._session._n_classes)


@dataclass(frozen=True)
class Folded:
    """Out-of-fold answers of one setting's members inside the training rows."""

    split: SplitPanels
    asked: Asked

    def out_of_fold(self, cv: Any) -> Panel:
        splits, parts = self.split._folds[key_of(cv)]
        return joined([self.split._panel(part, self.asked) for part in parts], splits)


def key_of(cv: Any) -> Any:
    """What stands for a splitter: clones of one split alike."""
    if hasattr(cv, "split"):
        return (type(cv), *((name, value_key(value)) for name, value in sorted(vars(cv).items())))
    return value_key(cv)
