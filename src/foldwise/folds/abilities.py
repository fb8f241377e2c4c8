"""What a session or an estimator may offer beyond the fold session: one protocol per ability, read by `isinstance`.

`LeaveOneOutSession` and `HasSubsets` are declared in `folds/protocol.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from foldwise.engines.asking import Asker
from foldwise.engines.table_facts import TableFacts
from foldwise.folds.model_session import ModelSession
from foldwise.folds.protocol import FoldSession, Params
from foldwise.folds.splits import Split


@runtime_checkable
class ExpectsSplits(Protocol):
    """A session that can share work between splits if it knows them before the first answer."""

    def expect(self, splits: Sequence[Split]) -> None:
        """Note the splits of the next answers."""


@runtime_checkable
class HasSmallProducts(Protocol):
    """A session whose matrix products are faster on one thread of BLAS."""

    small_products: bool


@runtime_checkable
class HasEqualSettings(Protocol):
    """A session whose estimator stops at a tolerance, so that several answers are equally right."""

    def equal_settings(self, setting: Params) -> Sequence[Params]:
        """Settings with the same solution, by another way of computing."""


@runtime_checkable
class HasRefitType(Protocol):
    """A session whose settings are not parameters of its estimator."""

    refit_type: type[ModelSession]  # the plain session that the audit compares with


@runtime_checkable
class DescribesSharing(Protocol):
    """A session that shares different work for different settings."""

    def shares_of(self, settings: Sequence[Params]) -> str:
        """What these settings share, in a few words; `shares` describes the estimator's own setting."""


@runtime_checkable
class FitsFacts(Protocol):
    """An estimator that can be fitted to facts of an engine."""

    def fit_facts(self, facts: TableFacts) -> Any:
        """Fit to facts about the training rows, without reading a row."""

    def joint_by_fold(self, models: Sequence[Any], asker: Asker, fold: str, label: str) -> str:
        """A query with the joint log-probabilities of all rows, each by the model of its fold."""


@runtime_checkable
class FitsSettings(Protocol):
    """A transformer that is fitted for several settings at once; its `fit_transform` equals `fit` and `transform`."""

    shared_params: frozenset[str]  # the parameters in which these settings may differ

    def fit_settings(self, settings: Sequence[Params], X: Any, y: Any = None) -> Sequence[Any]:
        """One fitted copy per setting; arguments of `fit` are accepted, too."""


def equal_settings(session: FoldSession, setting: Params) -> list[Params]:
    """Settings with the same solution, whose answers are as right as those of the refit.

    The distance between such answers counts like that between refits on permuted rows.
    """
    return list(session.equal_settings(setting)) if isinstance(session, HasEqualSettings) else []


def work_shared(session: FoldSession, settings: Sequence[Params]) -> str:
    """What settings share in a session, in a few words."""
    return session.shares_of(settings) if isinstance(session, DescribesSharing) else session.shares
