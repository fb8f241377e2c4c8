"""What members say out of sample, answered by their own fold sessions: members that can share one do.

A vote of nearest neighbours with 5 and with 19 voters costs one search; naive Bayes beside them, one summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.members import takes_weights, unfitted
from foldwise.ensembles.protocol import Lesson, Panel
from foldwise.errors import InputError
from foldwise.folds.groups import same
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Answer, Failure, FoldSession, Need, Params, Rows


class MemberError(Exception):
    """A member could not be fitted, or could not answer; the refit says why."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Stored:
    """The sessions of members on one table."""

    def __init__(self, X: Any, y: Any, weights: Any, n_classes: int) -> None:
        self.X, self.y, self.weights, self.n_classes = X, y, weights, n_classes
        self._sessions: dict[Any, tuple[FoldSession, dict[str, Any]]] = {}
        self._known: dict[Any, tuple[Any, FoldSession, Params]] = {}

    @property
    def sessions(self) -> list[FoldSession]:
        """The sessions opened so far."""
        return [session for session, _ in self._sessions.values()]

    def place(self, lesson: Lesson) -> tuple[FoldSession, Params]:
        """The session that answers for a lesson, and the setting to ask it about."""
        key = (id(lesson.estimator), *((name, same(value)) for name, value in lesson.params.items()))
        if key not in self._known:
            model = unfitted(lesson)
            params = model.get_params(deep=True)
            kind = (type(model), tuple((name, type(value)) for name, value in params.items() if nests(value)))
            if kind not in self._sessions:
                self._sessions[kind] = (self._open(model), params)
            session, base = self._sessions[kind]
            setting = {name: v for name, v in params.items() if not nests(v) and same(v) != same(base.get(name))}
            if params.keys() != base.keys():  # other steps: a session of its own
                session, setting = self._sessions.setdefault((kind, *params), (self._open(model), params))[0], {}
            self._known[key] = (lesson, session, setting)  # the lesson too: an id is only its own while it lives
        return self._known[key][1:]

    def _open(self, model: Any) -> FoldSession:
        fit_params = {}
        if self.weights is not None:
            if not takes_weights(model):
                raise InputError(f"{type(model).__name__} takes no weights, but the rows have some.")
            fit_params = {"sample_weight": self.weights}
        return open_session(model, self.X, self.y, fit_params)

    def panel(self, lessons: Sequence[Lesson], train: Rows, test: Rows, proba: bool) -> Panel:
        """What members fitted on `train` say of `test`; raises MemberError where one cannot."""
        need = needed(self.n_classes, proba)
        asked: dict[int, tuple[FoldSession, dict[Any, tuple[int, Params]]]] = {}
        where = []
        for lesson in lessons:
            session, setting = self.place(lesson)
            settings = asked.setdefault(id(session), (session, {}))[1]
            at = settings.setdefault(setting_key(setting), (len(settings), setting))[0]
            where.append((id(session), at))
        found = {
            key: answers_of(session, [one for _, one in settings.values()], train, test, need)
            for key, (session, settings) in asked.items()
        }
        said: Any = np.stack([found[key][at] for key, at in where])
        weights = np.ones(len(lessons))
        if self.n_classes == 0:
            return Panel(weights, values=said)
        return Panel(weights, n_classes=self.n_classes, **({"proba": said} if proba else {"labels": said}))


def needed(n_classes: int, proba: bool) -> Need:
    return Need.VALUES if n_classes == 0 else Need.PROBA if proba else Need.LABELS


def setting_key(setting: Params) -> Any:
    return tuple(sorted((name, same(value)) for name, value in setting.items()))


def nests(value: Any) -> bool:
    """Whether a parameter is an estimator, or a list of named ones, whose own parameters are listed beside it."""
    if isinstance(value, list | tuple):
        return any(nests(one) for one in value)
    return hasattr(value, "get_params") and not isinstance(value, type)


def answers_of(
    session: FoldSession, settings: Sequence[Params], train: Rows, test: Rows, need: Need
) -> list[NDArray[Any]]:
    """One answer a setting: labels, probabilities or values."""
    found: list[NDArray[Any]] = []
    for block in session.answer(settings, train, test, need):
        if isinstance(block.answer, Failure):
            raise MemberError(block.answer.error)
        part = part_of(block.answer, need)
        if part is None:
            raise MemberError(InputError("a member gives no answer of the kind that is needed."))
        found += list(part)
    return found


def part_of(answer: Answer, need: Need) -> NDArray[Any] | None:
    if need & Need.VALUES:
        return answer.values
    return answer.probabilities() if need & Need.PROBA else answer.labels
