"""The fold session of an ensemble, which combines the predictions of its members' sessions.

Settings share all their work if they differ only in combiners, in sizes, or in parameters that need no refit of a
member. The ensemble is refitted if members are drawn at random or depend on each other, and if the combiner reads the
rows or amplifies rounding errors (stacking, grading, arbiters).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.arrays import Floats
from foldwise.ensembles.blocks import CombinerData
from foldwise.ensembles.combiners import Mean, Vote
from foldwise.ensembles.config import EnsembleConfig, check_config, draw_specs
from foldwise.ensembles.fitting import choose_members, is_plain, join_splits, partition
from foldwise.ensembles.member_sessions import MemberAnswer, MemberSessions, needed, stack_answers
from foldwise.ensembles.members import takes_weights, unfitted
from foldwise.ensembles.protocol import HasSplitter, MemberPredictions, MemberSpec, TrainingData, splitter_of
from foldwise.ensembles.sizes import FixedSize
from foldwise.ensembles.variants import EnsembleVariants
from foldwise.folds.caches import IdentityCache, KeyedCache
from foldwise.folds.fallback import attempt, refitted, refitted_apart
from foldwise.folds.groups import value_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession, in_order
from foldwise.folds.protocol import Answer, Block, Failure, Labels, Need, Params, Rows
from foldwise.folds.randomness import TableSize, is_repeatable

Key = tuple[Any, ...]

BY_ROWS = frozenset({Vote, Mean})  # combiners that handle each row separately; subclasses may not
BATCH_CELLS = 1 << 18  # predictions that are combined at a time, so that they fit into the processor's cache


def open_ensemble(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> EnsembleSession | None:
    """A session, or None if nothing can be shared."""
    if not fit_params.keys() <= {"sample_weight"} or len(getattr(X, "shape", ())) != 2:
        return None
    session = EnsembleSession(estimator, X, y, fit_params)
    own = session.find({}) if session.target is not None else None
    if own is None:
        return None
    if isinstance(own, Exception):  # settings are refitted, and strict mode raises the error if a refit succeeds
        return None if fit_params else session
    if fit_params.get("sample_weight") is not None and not all(takes_weights(one) for one in own.config.estimators):
        return None
    for spec in own.specs:
        session.members.find(spec)
    return session


@dataclass(frozen=True)
class SharedSetting:
    """A setting that can be answered from the predictions of its members."""

    config: EnsembleConfig
    specs: tuple[MemberSpec, ...]
    setting: Params  # kept, because ids of its values are unique only while they live
    sessions: MemberSessions

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """One key per member; members with the same predictions have the same key."""
        found = (self.sessions.find(spec) for spec in self.specs)
        return tuple((id(one.session), one.key) for one in found)

    @cached_property
    def wants_proba(self) -> bool:
        return self.config.wants_proba()

    @cached_property
    def batch_key(self) -> Key | None:
        """The same for settings that are combined by one call; None if the setting needs a call of its own."""
        if self.config.size.chooses or type(self.config.combiner) not in BY_ROWS:
            return None
        return type(self.config.combiner), len(self.specs), self.wants_proba

    @property
    def splitters(self) -> list[Any]:
        """The splitters of its blocks, for out-of-fold predictions."""
        size, combiner = self.config.size, self.config.combiner
        found = [splitter_of(size)] if size.chooses else []
        return [*found, combiner.cv] if combiner.learns and isinstance(combiner, HasSplitter) else found


class EnsembleSession(ModelSession):
    """A session in which settings share the sessions of their members."""

    shares = "members"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> None:
        super().__init__(estimator, X, y, fit_params)
        self._names = frozenset(estimator.get_params(deep=True))
        weights = fit_params.get("sample_weight")
        self.weights = None if weights is None else np.asarray(weights, dtype=np.float64)
        self.n_classes = len(self.target.classes) if isinstance(self.target, Labels) else 0
        labels = y if not isinstance(self.target, Labels) else self.target.classes[self.target.codes]
        self.members = MemberSessions(X, labels, self.weights, self.n_classes)
        self._shared: KeyedCache[SharedSetting | Exception | None] = KeyedCache()
        self._last = IdentityCache(self._shared_by_index, most=4)
        self._variants, self._error = attempt(lambda: EnsembleVariants(estimator))
        self._repeatable = IdentityCache(partial(is_repeatable, size=TableSize(self.n_rows)))

    @property
    def threads(self) -> bool:  # type: ignore[override]
        return bool(self.members.sessions) and all(session.threads for session in self.members.sessions)

    @property
    def order_free(self) -> bool:  # type: ignore[override]
        return bool(self.members.sessions) and all(session.order_free for session in self.members.sessions)

    def lazy(self, params: Params) -> frozenset[str]:
        return self._names.union(params) if self.shared(params) is not None else frozenset()

    @property
    def data(self) -> TrainingData:
        assert self.target is not None
        return TrainingData(self.X, self.target, self.weights, self.n_rows, self.X.shape[1])

    def shared(self, setting: Params) -> SharedSetting | None:
        """The setting, if it can be answered from the predictions of members; otherwise None."""
        found = self.find(setting)
        return None if isinstance(found, Exception) else found

    def find(self, setting: Params) -> SharedSetting | Exception | None:
        """The same, or the exception that was raised; a refit shows whether the setting is invalid."""

        def make() -> SharedSetting | Exception | None:
            found, error = attempt(partial(self._make_shared, setting))
            return error or found

        return self._shared.get(tuple(sorted((name, value_key(value)) for name, value in setting.items())), make)

    def _make_shared(self, setting: Params) -> SharedSetting | None:
        if self._variants is None:
            raise self._error or AssertionError
        model = self._variants.of(setting)
        if model is None:
            model = self.unfitted(setting)
        config = check_config(model, regression=self.n_classes == 0)
        known_size = isinstance(config.size, FixedSize) or config.size.chooses
        if not (config.plain and known_size and config.combiner.exact) or config.combiner.decodes:
            return None
        specs = tuple(draw_specs(config, self.data))
        if not specs or not is_plain(specs):
            return None
        seeded = any(name.endswith("random_state") for spec in specs for name in spec.params)
        if seeded and not isinstance(model.random_state, Integral):
            return None  # each fit draws another seed
        found = SharedSetting(config, specs, setting, self.members)
        if any(hasattr(cv, "__next__") for cv in found.splitters):
            return None
        blocks = (is_repeatable(part, TableSize(self.n_rows)) for part in (config.combiner, config.size))
        return found if all(blocks) and all(map(self._is_repeatable, specs)) else None

    def _is_repeatable(self, spec: MemberSpec) -> bool:
        """Whether all fits of a member give the same model; cached, because many settings have the same members."""
        if spec.params:
            return is_repeatable(unfitted(spec), TableSize(self.n_rows))
        return self._repeatable.of(spec.estimator)

    def _all_shared(self, settings: Sequence[Params]) -> dict[int, SharedSetting]:
        """The settings that can be answered from members' predictions, by index; cached for all splits."""
        return self._last.of(settings) if isinstance(settings, tuple) else self._shared_by_index(settings)

    def _shared_by_index(self, settings: Sequence[Params]) -> dict[int, SharedSetting]:
        return {i: one for i, setting in enumerate(settings) if (one := self.shared(setting)) is not None}

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        yield from in_order(self._in_pieces(settings, train, test, need))

    def _in_pieces(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[IndexedAnswer]:
        shared = self._all_shared(settings)
        split: MembersOnSplit | None = None
        done: set[int] = set()
        together_error = None
        if shared:  # if it raises, each setting is tried separately
            split, together_error = attempt(lambda: MembersOnSplit(self, list(shared.values()), train, test))
        errors: dict[int, Exception | None] = {}
        if split is not None:
            for batch in split.batches(shared):
                answer, error = attempt(partial(split.answer_batch, [shared[i] for i in batch]))
                if answer is not None:
                    yield batch, answer
                    done.update(batch)
                errors.update(dict.fromkeys(batch, error))
        apart = [i for i in range(len(settings)) if i not in done]
        answers = (
            refitted(self._single(settings[i], shared.get(i), split, train, test, need), errors.get(i)) for i in apart
        )
        yield from zip(([i] for i in apart), refitted_apart(answers, together_error), strict=True)

    def _single(
        self,
        setting: Params,
        shared: SharedSetting | None,
        split: MembersOnSplit | None,
        train: Rows,
        test: Rows,
        need: Need,
    ) -> Answer | Failure:
        """The answer to one setting."""
        if shared is None:
            found = self.find(setting)
            error = found if isinstance(found, Exception) else None
        else:
            answer, error = attempt(lambda: (split or MembersOnSplit(self, [shared], train, test)).answer(shared))
            if answer is not None:
                return answer
        return refitted(self.answer_by_refit(setting, train, test, need), error)


class MembersOnSplit:
    """The predictions of the members of several settings on one split, and on inner splits of its training rows."""

    def __init__(self, session: EnsembleSession, shared: Sequence[SharedSetting], train: Rows, test: Rows) -> None:
        self._session = session
        if session.weights is not None:
            train = train[session.weights[train] > 0]  # rows of weight 0 do not count
        self.data = session.data.take(train)
        self.present: NDArray[np.intp] = np.arange(session.n_classes)
        if isinstance(self.data.target, Labels):  # a model only has the classes of its training rows
            self.present, observed = self.data.target.observed()
            self.data = replace(self.data, target=observed)
        self._n_test = len(test)
        self._answers = self._gather(shared, train, test)
        self._inner: dict[Any, tuple[Any, list[dict[Key, MemberAnswer]]]] = {}
        for key, cv in {splitter_key(cv): cv for one in shared for cv in one.splitters}.items():
            some = [one for one in shared if any(splitter_key(other) == key for other in one.splitters)]
            splits = partition(cv, self.data)
            parts = [self._gather(some, train[split.train], train[split.test], inner=True) for split in splits]
            self._inner[key] = (splits, parts)

    def _gather(
        self, shared: Sequence[SharedSetting], train: Rows, test: Rows, inner: bool = False
    ) -> dict[Key, MemberAnswer]:
        """The predictions of all distinct members."""
        specs = {key: spec for one in shared for key, spec in zip(one.keys, one.specs, strict=True)}
        need = Need(0)
        for proba in {one.wants_proba for one in shared}:
            need |= needed(self._session.n_classes, proba)
        members = self._session.members
        answers = (members.inner_answers if inner else members.answers)(list(specs.values()), train, test, need)
        return {key: self._among_present(one) for key, one in zip(specs, answers, strict=True)}

    def _among_present(self, answer: MemberAnswer) -> MemberAnswer:
        """The predictions in terms of the classes of the training rows."""
        if len(self.present) == self._session.n_classes:
            return answer
        labels = None if answer.labels is None else np.searchsorted(self.present, answer.labels)
        return MemberAnswer(labels, None if answer.proba is None else answer.proba[:, self.present])

    def _predictions(self, answers: dict[Key, MemberAnswer], shared: SharedSetting) -> MemberPredictions:
        return stack_answers([answers[key] for key in shared.keys], self.data.n_classes, shared.wants_proba)

    def batches(self, shared: dict[int, SharedSetting]) -> list[list[int]]:
        """Indices of settings that are combined by one call."""
        groups: dict[Key, list[int]] = {}
        for i, one in shared.items():
            if one.batch_key is not None:
                groups.setdefault(one.batch_key, []).append(i)
        found = []
        for (_, n_members, *_), indices in groups.items():
            most = max(1, BATCH_CELLS // (n_members * self._n_test * max(1, self.data.n_classes)))
            found += [indices[a : a + most] for a in range(0, len(indices), most)]
        return found

    def answer_batch(self, shared: Sequence[SharedSetting]) -> Answer:
        """The predictions of several settings, whose rows are concatenated and combined by one call."""
        n_members = len(shared[0].specs)
        answers = [self._answers[one.keys[m]] for m in range(n_members) for one in shared]
        stacked = stack_answers(answers, self.data.n_classes, shared[0].wants_proba).answers
        joined = stacked.reshape(n_members, len(shared) * self._n_test, *stacked.shape[2:])
        predictions = MemberPredictions(joined, np.ones(n_members), self.data.n_classes)
        return self._as_answer(shared[0].config.combiner.combine(predictions), len(shared))

    def answer(self, shared: SharedSetting) -> Answer:
        """The predictions of one setting for the test rows."""
        config, predictions = shared.config, self._predictions(self._answers, shared)

        def out_of_fold(cv: Any) -> MemberPredictions:
            splits, parts = self._inner[splitter_key(cv)]
            return join_splits([self._predictions(part, shared) for part in parts], splits)

        info = CombinerData(self.data, out_of_fold, None, config.seed)
        if config.size.chooses:
            kept, weights = choose_members(config, self.data, out_of_fold)
            predictions = predictions.take(kept, weights)
            info = replace(info, out_of_fold=lambda cv: out_of_fold(cv).take(kept, weights))
        return self._as_answer(config.combiner.learn(info)(predictions, None), 1)

    def _as_answer(self, scores: Floats, n_settings: int) -> Answer:
        shape = (n_settings, self._n_test)
        if self.data.n_classes == 0:
            return Answer(values=scores.reshape(shape))
        proba = scores.reshape(*shape, self.data.n_classes)
        return Answer(labels=proba.argmax(axis=2), proba=proba).among(self.present, self._session.n_classes)


def splitter_key(cv: Any) -> Any:
    """A key for a splitter, the same for clones."""
    if hasattr(cv, "split"):
        return (type(cv), *((name, value_key(value)) for name, value in sorted(vars(cv).items())))
    return value_key(cv)
