"""What members say out of sample, answered by their own fold sessions: members that can share one do.

A vote of nearest neighbours with 5 and with 19 voters costs one search; naive Bayes beside them, one summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.members import unfitted
from foldwise.ensembles.protocol import Lesson, Panel
from foldwise.errors import InputError
from foldwise.folds.groups import value_key
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Need, Params, Rows
from foldwise.folds.weights import weight_params


class MemberError(Exception):
    """A member could not be fitted, or could not answer; the refit says why."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Stored:
    """The sessions of members on one table."""

    def __init__(self, X: Any, y: Any, weights: Any, n_classes: int) -> None:
        self.X, self.y, self.weights, self.n_classes = X, y, weights, n_classes
        self._codes = np.unique(np.asarray(y), return_inverse=True)[1] if n_classes else None
        self._sessions: dict[Any, tuple[FoldSession, dict[str, Any]]] = {}
        self._known: dict[Any, tuple[Any, FoldSession, Params, Any]] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Without sessions, which may hold locks: another process opens its own."""
        return {**vars(self), "_known": {}, "_sessions": {}, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    @property
    def sessions(self) -> list[FoldSession]:
        """The sessions opened so far."""
        return [session for session, _ in self._sessions.values()]

    def place(self, lesson: Lesson) -> tuple[FoldSession, Params, Any]:
        """The session that answers for a lesson, the setting to ask it about, and what stands for that setting."""
        key = (id(lesson.estimator), *((name, value_key(value)) for name, value in lesson.params.items()))
        if key not in self._known:
            with self._lock:
                self._add(key, lesson)
        return self._known[key][1:]

    def _add(self, key: Any, lesson: Lesson) -> None:
        if key not in self._known:
            model = unfitted(lesson)
            params = model.get_params(deep=True)
            nested = {name for name, value in params.items() if is_listed(name, value, params)}
            kind = (type(model), tuple((name, type(params[name]) if name in nested else None) for name in params))
            if kind not in self._sessions:
                self._sessions[kind] = (self._open(model), params)
            session, base = self._sessions[kind]
            setting = {
                name: v for name, v in params.items() if name not in nested and value_key(v) != value_key(base[name])
            }
            # the lesson too: an id is only its own while it lives
            self._known[key] = (lesson, session, setting, setting_key(setting))

    def _open(self, model: Any) -> FoldSession:
        return open_session(model, self.X, self.y, weight_params(model, self.weights))

    def answers(self, lessons: Sequence[Lesson], train: Rows, test: Rows, need: Need) -> list[Said]:
        """What members fitted on `train` say of `test`, one a lesson; raises MemberError where one cannot."""
        asked: dict[int, tuple[FoldSession, dict[Any, tuple[int, Params]]]] = {}
        where = []
        for lesson in lessons:
            session, setting, key = self.place(lesson)
            settings = asked.setdefault(id(session), (session, {}))[1]
            where.append((id(session), settings.setdefault(key, (len(settings), setting))[0]))
        found = {
            one: answers_of(session, [setting for _, setting in settings.values()], train, test, need)
            for one, (session, settings) in asked.items()
        }
        return [found[one][at] for one, at in where]

    def inner_answers(self, lessons: Sequence[Lesson], train: Rows, test: Rows, need: Need) -> list[Said]:
        """The same inside a training set, of which a fold may hold one class only: then members say nothing else."""
        if self._codes is None or (self._codes[train] != self._codes[train[0]]).any():
            return self.answers(lessons, train, test, need)
        labels = np.full(len(test), self._codes[train[0]], dtype=np.intp)
        return [Said(labels, np.eye(self.n_classes)[labels])] * len(lessons)


@dataclass(frozen=True)
class Said:
    """What one member says of some rows, as far as it was asked for."""

    labels: NDArray[Any] | None = None  # (rows,)
    proba: NDArray[Any] | None = None  # (rows, classes)
    values: NDArray[Any] | None = None  # (rows,)


def panel_of(said: Sequence[Said], n_classes: int, proba: bool) -> Panel:
    """The answers of several members under one axis."""
    weights = np.ones(len(said))
    if n_classes == 0:
        return Panel(weights, values=np.array([one.values for one in said]))
    if proba:
        # members of a single precision are averaged in double, as fitted ones are
        return Panel(weights, n_classes=n_classes, proba=np.array([one.proba for one in said], dtype=np.float64))
    return Panel(weights, n_classes=n_classes, labels=np.array([one.labels for one in said]))


def needed(n_classes: int, proba: bool) -> Need:
    return Need.VALUES if n_classes == 0 else Need.PROBA if proba else Need.LABELS


def setting_key(setting: Params) -> Any:
    return tuple(sorted((name, value_key(value)) for name, value in setting.items()))


def is_listed(name: str, value: Any, params: Params) -> bool:
    """Whether a parameter is an estimator, or a list of named ones, whose own parameters are all listed beside it."""
    if isinstance(value, list):
        named = [one for one in value if isinstance(one, tuple) and one and isinstance(one[0], str)]
        return bool(value) and len(named) == len(value) and all(one[0] in params for one in named)
    if not hasattr(value, "get_params") or isinstance(value, type):
        return False
    return all(f"{name}__{inner}" in params for inner in value.get_params(deep=False))


def answers_of(session: FoldSession, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> list[Said]:
    """One answer a setting: labels, probabilities or values."""
    found: list[Said] = []
    for block in session.answer(settings, train, test, need):
        answer = block.answer
        if isinstance(answer, Failure):
            raise MemberError(answer.error)
        parts = (
            answer.labels if need & Need.LABELS else None,
            answer.probabilities() if need & Need.PROBA else None,
            answer.values if need & Need.VALUES else None,
        )
        for flag, part in zip((Need.LABELS, Need.PROBA, Need.VALUES), parts, strict=True):
            if need & flag and part is None:
                raise MemberError(InputError("a member gives no answer of the kind that is needed."))
        found += [Said(*(None if part is None else part[i] for part in parts)) for i in range(block.stop - block.start)]
    return found
