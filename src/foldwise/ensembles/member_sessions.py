"""Out-of-sample predictions of members by their own fold sessions, which several members may share.

For example, nearest neighbors with k=5 and k=19 need one search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.ensembles.members import unfitted
from foldwise.ensembles.protocol import MemberPredictions, MemberSpec
from foldwise.errors import InputError
from foldwise.folds.caches import KeyedCache
from foldwise.folds.groups import value_key
from foldwise.folds.opening import open_session
from foldwise.folds.protocol import Failure, FoldSession, Need, Params, Rows
from foldwise.folds.weights import weight_params


@dataclass(frozen=True)
class MemberAnswer:
    """The needed predictions of one member for some rows."""

    labels: NDArray[Any] | None = None  # (rows,)
    proba: NDArray[Any] | None = None  # (rows, classes)
    values: NDArray[Any] | None = None  # (rows,)


@dataclass(frozen=True)
class SessionSetting:
    """A setting of a member's session; equal settings have equal keys."""

    session: FoldSession
    setting: Params
    key: Any
    spec: MemberSpec  # kept, because the id of its estimator is unique only while it lives


class MemberSessions:
    """The sessions of members on one table."""

    def __init__(self, X: Any, y: Any, weights: Any, n_classes: int) -> None:
        self.X, self.y, self.weights, self.n_classes = X, y, weights, n_classes
        self._codes = np.unique(np.asarray(y), return_inverse=True)[1] if n_classes else None
        self._sessions: KeyedCache[tuple[FoldSession, dict[str, Any]]] = KeyedCache()  # with the parameters
        self._settings: KeyedCache[SessionSetting] = KeyedCache()

    @property
    def sessions(self) -> list[FoldSession]:
        """The sessions opened so far."""
        return [session for session, _ in self._sessions.values()]

    def find(self, spec: MemberSpec) -> SessionSetting:
        """The session of a member, opened on first use, and the member's setting."""
        key = (id(spec.estimator), *((name, value_key(value)) for name, value in spec.params.items()))
        return self._settings.get(key, lambda: self._make(spec))

    def _make(self, spec: MemberSpec) -> SessionSetting:
        model = unfitted(spec)
        params = model.get_params(deep=True)
        nested = {name for name, value in params.items() if is_listed(name, value, params)}
        kind = (type(model), tuple((name, type(params[name]) if name in nested else None) for name in params))

        def opened() -> tuple[FoldSession, dict[str, Any]]:
            return open_session(model, self.X, self.y, weight_params(model, self.weights)), params

        session, base = self._sessions.get(kind, opened)
        setting = {
            name: v for name, v in params.items() if name not in nested and value_key(v) != value_key(base[name])
        }
        key = tuple(sorted((name, value_key(value)) for name, value in setting.items()))
        return SessionSetting(session, setting, key, spec)

    def answers(self, specs: Sequence[MemberSpec], train: Rows, test: Rows, need: Need) -> list[MemberAnswer]:
        """The predictions for `test` of members fitted on `train`; raises the error of a member that fails."""
        found = [self.find(spec) for spec in specs]
        settings: dict[int, dict[Any, SessionSetting]] = {}
        for one in found:
            settings.setdefault(id(one.session), {})[one.key] = one
        answered: dict[tuple[int, Any], MemberAnswer] = {}
        for session, by_key in settings.items():
            ones = list(by_key.values())
            answers = session_answers(ones[0].session, [one.setting for one in ones], train, test, need)
            answered.update({(session, one.key): answer for one, answer in zip(ones, answers, strict=True)})
        return [answered[id(one.session), one.key] for one in found]

    def inner_answers(self, specs: Sequence[MemberSpec], train: Rows, test: Rows, need: Need) -> list[MemberAnswer]:
        """The same inside a training set; if a fold has a single class, members predict that class."""
        if self._codes is None or (self._codes[train] != self._codes[train[0]]).any():
            return self.answers(specs, train, test, need)
        labels = np.full(len(test), self._codes[train[0]], dtype=np.intp)
        return [MemberAnswer(labels, np.eye(self.n_classes)[labels])] * len(specs)


def stack_answers(answers: Sequence[MemberAnswer], n_classes: int, proba: bool) -> MemberPredictions:
    """The predictions of several members as one array."""
    kind = "values" if n_classes == 0 else "proba" if proba else "labels"
    # single-precision predictions are averaged in double precision, like those of fitted members
    dtype = np.float64 if kind == "proba" else None
    stacked = np.array([getattr(one, kind) for one in answers], dtype=dtype)
    return MemberPredictions(stacked, np.ones(len(answers)), n_classes)


def needed(n_classes: int, proba: bool) -> Need:
    return Need.VALUES if n_classes == 0 else Need.PROBA if proba else Need.LABELS


def is_listed(name: str, value: Any, params: Params) -> bool:
    """Whether a parameter is an estimator, or a list of named ones, whose own parameters are in `params` too."""
    if isinstance(value, list):
        named = [one for one in value if isinstance(one, tuple) and one and isinstance(one[0], str)]
        return bool(value) and len(named) == len(value) and all(one[0] in params for one in named)
    if not hasattr(value, "get_params") or isinstance(value, type):
        return False
    return all(f"{name}__{inner}" in params for inner in value.get_params(deep=False))


def session_answers(
    session: FoldSession, settings: Sequence[Params], train: Rows, test: Rows, need: Need
) -> list[MemberAnswer]:
    """One answer per setting: labels, probabilities or values."""
    found: list[MemberAnswer] = []
    for block in session.answer(settings, train, test, need):
        answer = block.answer
        if isinstance(answer, Failure):
            raise answer.error
        parts = {
            "labels": answer.labels if need & Need.LABELS else None,
            "proba": answer.probabilities() if need & Need.PROBA else None,
            "values": answer.values if need & Need.VALUES else None,
        }
        given = {kind: part for kind, part in parts.items() if part is not None}
        if len(given) < need.bit_count():
            raise InputError(f"{type(session.estimator).__name__} does not predict what the combiner needs.")
        found += [
            MemberAnswer(**{kind: part[i] for kind, part in given.items()}) for i in range(block.stop - block.start)
        ]
    return found
