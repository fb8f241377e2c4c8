"""The fold session of scikit-learn's `Pipeline`: each earlier step is fitted once, and the last step has a session.

On one training set the settings form a tree: settings with the same first step share its fit, those of them with the
same second step share that, and so on. `answer` walks the tree depth first, so that one table per step is held at a
time. Below each chain of fitted steps, the session of the last step answers all its settings together.

`lazy` contains the parameters of all steps except the first one that is not "passthrough". Settings that differ in this
step share nothing, so the engine may distribute them. An exception is a first step that can be fitted for several
settings together (`FitsSettings`), such as `SelectFeatures`.

A setting is refitted as a whole if its pipeline is random (see `randomness`), overwrites its rows (copy=False) or
changes the kind of its last step, and if an earlier step fails, so that the error is that of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import sklearn
from sklearn.base import clone, is_classifier, is_regressor

from foldwise.adapters.support import SKLEARN, Support
from foldwise.folds.abilities import FitsSettings
from foldwise.folds.caches import KeyedCache
from foldwise.folds.fallback import attempt, refitted
from foldwise.folds.groups import group_by, params_key, value_key
from foldwise.folds.model_session import IndexedAnswer, ModelSession, class_indices, in_order
from foldwise.folds.opening import open_session, opener_of
from foldwise.folds.protocol import Answer, Block, Failure, FoldSession, Labels, Need, Params, Rows
from foldwise.folds.randomness import (
    TableSize,
    columns_after,
    dense_columns,
    depends_on_order,
    has_seed,
    is_repeatable,
    writes_in_place,
)
from foldwise.folds.rows import has_length, stack_rows, take_params, take_rows

StepParams = dict[str, Any]  # parameters of one step by name; "" is an estimator that replaces the step
CHANGING = {"", "copy", "copy_X"}  # parameters that may change the kind of a step, or make it overwrite its rows
UNFIT = object()
_FIT_SETTINGS: dict[type, bool] = {}  # by type, because asking a protocol takes 20 µs
RESERVED = {"steps", "memory", "verbose", "transform_input"}  # names that no step can have


SUPPORT = Support(SKLEARN)


def open_folds(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> FoldSession | None:
    """A session for a pipeline that ends in a classifier or a regressor; None if it is unusual."""
    if sklearn.get_config()["enable_metadata_routing"] or getattr(estimator, "transform_input", None) is not None:
        return None
    try:
        names, steps = zip(*estimator.steps, strict=True)
    except (TypeError, ValueError):
        return None  # fit raises
    if len({*names} - RESERVED) < len(names) or any("__" in name for name in names):
        return None
    if any(hasattr(one, "_skl_callbacks") for one in (estimator, *steps)):
        return None  # callbacks expect to see every fit
    if any("__" not in name or name.split("__")[0] not in names for name in fit_params):
        return None
    if not (is_classifier(estimator) or is_regressor(estimator)):
        return None
    session = PipelineSession(estimator, X, y, fit_params)
    return session if session.target is not None and session.can_share({}, session.n_rows) else None


@dataclass(frozen=True)
class SplitRequest:
    """A request for predictions on one split."""

    by_step: Sequence[dict[str, StepParams]]  # one per setting: the parameters of each step
    settings: Sequence[Params]
    train: Rows
    test: Rows
    need: Need


@dataclass(frozen=True)
class PreparedRows:
    """The rows of a split, transformed by a chain of fitted steps."""

    train: Any
    test: Any
    steps: tuple[tuple[str, Any], ...] = ()


class PipelineSession(ModelSession):
    """A session in which settings share the first steps in which they agree."""

    shares = "pipeline"

    def __init__(self, estimator: Any, X: Any, y: Any, fit_params: dict[str, Any] | None = None) -> None:
        super().__init__(estimator, X, y, fit_params)
        self.bases = dict(estimator.steps)
        *self.earlier, self.last = self.bases
        deep = estimator.get_params(deep=True)
        self._known = frozenset(name for name in deep if name.split("__")[0] in self.bases)
        self.n_columns = dense_columns(X)
        self._last_is_plain = not has_seed(self.bases[self.last]) and not writes_in_place(self.bases[self.last])
        self._steady: KeyedCache[bool] = KeyedCache()  # for the steps of the estimator itself
        self._lazy: KeyedCache[frozenset[str]] = KeyedCache()

    @property
    def order_free(self) -> bool:  # type: ignore[override]
        """Whether neither the last step's session nor an earlier step depends on the order of rows."""
        everything = np.arange(self.n_rows)
        request = SplitRequest([{}], [{}], everything, everything[:1], Need.LABELS)
        rows = self.rows_of(request)
        for name in self.earlier:
            # an exception is not lost: answering a split raises it again
            further, _ = attempt(partial(self.prepare, name, {}, own_copy(rows), request))
            if further is None or depends_on_order(self.bases[name]):
                return False
            rows = further
        session, _ = attempt(lambda: self.open_last(clone(self.bases[self.last]), rows, request))  # as above
        return session is not None and session.order_free

    def lazy(self, params: Params) -> frozenset[str]:
        step_params = parameters_by_step(params)
        if not self.can_share(step_params, self.n_rows):
            return frozenset()
        first = next((name for name in self.earlier if not passes(self._template(name, step_params))), None)
        shared = frozenset() if first is None else shared_params(self._template(first, step_params))
        unknown = frozenset(params) - self._known

        def names() -> frozenset[str]:
            cheap = {f"{first}__{name}" for name in shared}
            return frozenset(n for n in self._known | unknown if n.split("__")[0] != first or n in cheap)

        return self._lazy.get((first, unknown, shared), names)

    def subsets(self) -> FoldSession | None:
        """A session whose settings are subsets of columns; None if these are refitted."""
        from foldwise.adapters.sklearn_pipeline_subsets import open_pipeline_subsets  # it imports this file

        return open_pipeline_subsets(self)

    def can_share(self, step_params: dict[str, StepParams], n_rows: int) -> bool:
        """Whether fits of the setting are repeatable and do not overwrite their rows."""
        if not step_params.keys() <= self.bases.keys():
            return False
        columns = self.n_columns
        for name in self.earlier:
            step = self._step(name, step_params)
            if not self._is_steady(name, step, TableSize(n_rows, columns)):
                return False
            columns = columns_after(step, columns)
        own = step_params.get(self.last, {})
        if self._last_is_plain and all(name not in CHANGING and is_atom(value) for name, value in own.items()):
            return True
        last = self._step(self.last, step_params)
        if passes(last) or not self._is_steady(self.last, last, TableSize(n_rows, columns)):
            return False
        return bool(is_classifier(last) if isinstance(self.target, Labels) else is_regressor(last))

    def _step(self, name: str, step_params: dict[str, StepParams]) -> Any:
        """A step with the parameters of a setting; UNFIT if they are invalid."""
        if name not in step_params:
            return self.bases[name]
        step, error = attempt(lambda: configured(self.bases[name], step_params[name]))
        return step if error is None else UNFIT  # `answer` raises the error again and passes it to the refit

    def _is_steady(self, name: str, step: Any, size: TableSize) -> bool:
        """Whether a step may be fitted once for several settings."""
        if step is UNFIT or passes(step):
            return step is not UNFIT

        def steady() -> bool:
            return not writes_in_place(step) and is_repeatable(step, size)

        return self._steady.get((name, size), steady) if step is self.bases[name] else steady()

    def answer(self, settings: Sequence[Params], train: Rows, test: Rows, need: Need) -> Iterator[Block]:
        request = SplitRequest([parameters_by_step(setting) for setting in settings], settings, train, test, need)
        n_rows = max(self.n_rows, len(train))  # rows may be repeated
        shared = [i for i, step_params in enumerate(request.by_step) if self.can_share(step_params, n_rows)]
        alone = (
            self._refit([i], request, self._step_error(request.by_step[i]))
            for i in sorted({*range(len(settings))} - {*shared})
        )
        yield from in_order(chain(self._walk(shared, 0, self.rows_of(request), request), *alone))

    def _step_error(self, step_params: dict[str, StepParams]) -> Exception | None:
        """The error of setting the parameters of the steps, if any."""
        known = {name: own for name, own in step_params.items() if name in self.bases}
        return attempt(lambda: [configured(self.bases[name], own) for name, own in known.items()])[1]

    def rows_of(self, request: SplitRequest) -> PreparedRows:
        return PreparedRows(take_rows(self.X, request.train), take_rows(self.X, request.test))

    def _walk(
        self, indices: Sequence[int], depth: int, rows: PreparedRows, request: SplitRequest
    ) -> Iterator[IndexedAnswer]:
        """The answers to settings that agree in the steps before `depth`."""
        if depth == len(self.earlier):
            yield from self._ask_last(indices, rows, request)
            return
        name = self.earlier[depth]
        branches = group_by(indices, lambda i: params_key(request.by_step[i].get(name, {})))
        together = group_by(range(len(branches)), lambda b: self._apart(name, request.by_step[branches[b][0]]))
        for group in together:
            fitted: list[Any] | None = []
            together_error, refused = None, False
            if len(group) > 1:  # if this fails, each is fitted separately and raises its own error
                fitted, together_error = attempt(
                    partial(self._fit_together, name, [branches[b] for b in group], own_copy(rows), request)
                )
            for k, b in enumerate(group):
                given = own_copy(rows) if len(branches) > 1 else rows  # a step may write into its input
                if fitted:
                    further, error = attempt(partial(transformed, name, fitted[k], given))
                else:
                    first = request.by_step[branches[b][0]]
                    further, error = attempt(partial(self.prepare, name, first, given, request))
                if further is None:
                    refused = True
                    yield from self._refit(branches[b], request, error)
                else:
                    yield from self._walk(branches[b], depth + 1, further, request)
            if not refused:  # each could be fitted separately, so the error was not that of a setting
                refitted(fitted, together_error)

    def _apart(self, name: str, step_params: dict[str, StepParams]) -> Hashable:
        """A key of the parameters of a step that must be equal for settings to be fitted together."""
        own = step_params.get(name, {})
        shared = shared_params(self._template(name, step_params))
        return params_key({k: v for k, v in own.items() if k not in shared}) if shared else params_key(own)

    def _fit_together(
        self, name: str, branches: Sequence[list[int]], rows: PreparedRows, request: SplitRequest
    ) -> list[Any]:
        """One step fitted for several settings together; empty if the step does not support this."""
        own = [request.by_step[branch[0]].get(name, {}) for branch in branches]
        shared = shared_params(self._template(name, request.by_step[branches[0][0]]))
        if not shared:
            return []
        step = configured(self.bases[name], {k: v for k, v in own[0].items() if k not in shared})
        settings = [{k: v for k, v in one.items() if k in shared} for one in own]
        params = self._fit_params_of(name, request.train)
        return list(step.fit_settings(settings, rows.train, take_rows(self.y, request.train), **params))

    def prepare(
        self, name: str, step_params: dict[str, StepParams], rows: PreparedRows, request: SplitRequest
    ) -> PreparedRows:
        """Fit one step as `Pipeline.fit` does: `fit_transform` may differ from `transform` on the training rows."""
        step = configured(self.bases[name], step_params.get(name, {}))
        params = self._fit_params_of(name, request.train)
        if passes(step):
            if step is None and params:
                raise KeyError(name)  # like scikit-learn, in the refit
            return replace(rows, steps=(*rows.steps, (name, step)))
        y = take_rows(self.y, request.train)
        if hasattr(step, "fit_transform"):
            learned = step.fit_transform(rows.train, y, **params)
        else:
            learned = step.fit(rows.train, y, **params).transform(rows.train)
        return PreparedRows(learned, step.transform(rows.test), (*rows.steps, (name, step)))

    def _ask_last(self, indices: Sequence[int], rows: PreparedRows, request: SplitRequest) -> Iterator[IndexedAnswer]:
        """The answers to settings that agree in all steps but the last, by one session for each estimator in it."""
        own = {i: request.by_step[i].get(self.last, {}) for i in indices}
        for branch in group_by(indices, lambda i: value_key(own[i][""]) if "" in own[i] else None):
            estimator = configured(self.bases[self.last], {k: v for k, v in own[branch[0]].items() if k == ""})
            settings = [{name: value for name, value in own[i].items() if name} for i in branch]
            session, error = attempt(partial(self.open_last, estimator, rows, request))
            if session is None:
                for indices, answer in self._fit_last(estimator, branch, settings, rows, request):
                    yield indices, refitted(answer, error)
                continue
            n_train, n_test = len(request.train), len(request.test)
            for block in session.answer(settings, np.arange(n_train), n_train + np.arange(n_test), request.need):
                answer = block.answer
                if isinstance(answer, Answer):
                    answer = self._globally(answer, session, rows)
                yield branch[block.start : block.stop], answer

    def open_last(self, estimator: Any, rows: PreparedRows, request: SplitRequest) -> FoldSession | None:
        """A session of the transformed rows, training rows first; None if it would refit anyway."""
        if opener_of(type(estimator)) is None:
            return None
        X = stack_rows(rows.train, rows.test)
        if X is None:
            return None
        # test rows get the label and weight of a training row, so that their own cannot leak
        sources = np.concatenate([request.train, np.full(len(request.test), request.train[0])])
        params = self._fit_params_of(self.last, sources)
        if any(has_length(v, len(sources)) != has_length(w, self.n_rows) for v, w in self._pairs(params)):
            return None  # its length would be mistaken for the number of rows, or no longer be
        session = open_session(estimator, X, take_rows(self.y, sources), params)
        return session if session.shares != "refit" and type(session.target) is type(self.target) else None

    def _pairs(self, params: dict[str, Any]) -> list[tuple[Any, Any]]:
        """Fit parameters of the last step for some rows, each with its value for all rows."""
        return [(value, self.fit_params[f"{self.last}__{name}"]) for name, value in params.items()]

    def _fit_last(
        self,
        estimator: Any,
        indices: Sequence[int],
        settings: Sequence[Params],
        rows: PreparedRows,
        request: SplitRequest,
    ) -> Iterator[IndexedAnswer]:
        """The last step fitted for each setting, on rows that are transformed once."""
        y, params = take_rows(self.y, request.train), self._fit_params_of(self.last, request.train)
        careful = len(indices) > 1 and not type(estimator).__module__.startswith("sklearn.")
        for i, setting in zip(indices, settings, strict=True):
            given = own_copy(rows) if careful else rows
            try:
                model = configured(estimator, dict(setting)).fit(given.train, y, **params)
            except Exception as error:  # the fit of the last step is the refit, so its error is the answer
                yield [i], Failure(error)
                continue
            answer = self.predict(model, given.test, request.need)
            yield [i], answer if isinstance(answer, Failure) else self._with_pipelines(answer, rows)

    def _refit(self, indices: Iterable[int], request: SplitRequest, error: Exception | None) -> Iterator[IndexedAnswer]:
        """Refit whole pipelines, because of `error` if there was one."""
        for i in indices:
            answer = self.answer_by_refit(request.settings[i], request.train, request.test, request.need)
            yield [i], refitted(answer, error)

    def _globally(self, answer: Answer, session: FoldSession, rows: PreparedRows) -> Answer:
        """An answer with whole pipelines as models, in terms of all classes."""
        return self.among_all(self._with_pipelines(answer, rows), session)

    def among_all(self, answer: Answer, session: FoldSession) -> Answer:
        """An answer in terms of all classes, from one in terms of the classes of the training rows."""
        if not (isinstance(self.target, Labels) and isinstance(session.target, Labels)):
            return answer
        return answer.among(class_indices(session.target.classes, self.target.classes), len(self.target.classes))

    def _with_pipelines(self, answer: Answer, rows: PreparedRows) -> Answer:
        """The answer with whole pipelines instead of models of the last step."""
        if answer.models is None:
            return answer
        return replace(answer, models=tuple(self._assemble(rows.steps, model) for model in answer.models))

    def _assemble(self, steps: tuple[tuple[str, Any], ...], model: Any) -> Any:
        whole = copy(self.estimator)
        whole.steps = [*steps, (self.last, model)]
        return whole

    def _template(self, name: str, step_params: dict[str, StepParams]) -> Any:
        return step_params.get(name, {}).get("", self.bases[name])

    def _fit_params_of(self, name: str, rows: Rows) -> dict[str, Any]:
        """The fit parameters of one step, for some rows."""
        own = {key.split("__", 1)[1]: value for key, value in self.fit_params.items() if key.split("__")[0] == name}
        return take_params(own, rows, self.n_rows)


def parameters_by_step(setting: Params) -> dict[str, StepParams]:
    """The parameters of each step: {"clf__C": 1, "prep": None} is {"clf": {"C": 1}, "prep": {"": None}}."""
    found: dict[str, StepParams] = {}
    for name, value in setting.items():
        step, _, rest = name.partition("__")
        found.setdefault(step, {})[rest] = value
    return found


def configured(base: Any, own: StepParams) -> Any:
    """An unfitted step: replaced first, then with its parameters set, in the order of `Pipeline.set_params`."""
    step = clone(own.get("", base), safe=False)
    params = {name: clone(value, safe=False) for name, value in own.items() if name}
    return step.set_params(**params) if params else step


def passes(step: Any) -> bool:
    """Whether a step does not change its rows."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def shared_params(step: Any) -> frozenset[str]:
    """The parameters in which settings of a step may differ and still be fitted together."""
    kind = type(step)
    if kind not in _FIT_SETTINGS:
        _FIT_SETTINGS[kind] = isinstance(step, FitsSettings)
    return step.shared_params if _FIT_SETTINGS[kind] else frozenset()


def is_atom(value: Any) -> bool:
    """Whether a value is simple, so that it cannot contain anything random."""
    return value is None or isinstance(value, str | bool | int | float | np.generic)


def transformed(name: str, step: Any, rows: PreparedRows) -> PreparedRows:
    """The rows transformed by one more fitted step."""
    return PreparedRows(step.transform(rows.train), step.transform(rows.test), (*rows.steps, (name, step)))


def own_copy(rows: PreparedRows) -> PreparedRows:
    """A copy of the rows, for a step that may write into them."""
    return PreparedRows(copy_rows(rows.train), copy_rows(rows.test), rows.steps)


def copy_rows(X: Any) -> Any:
    return X.copy() if hasattr(X, "copy") else copy(X)
