"""Frozen splits, the protocol of fold sessions, and the engine that scores settings × splits."""

from foldwise.folds.engine import evaluate
from foldwise.folds.fitting_facts import fit_facts
from foldwise.folds.model_session import RefitSession
from foldwise.folds.opening import open_session, open_subsets, register
from foldwise.folds.protocol import Answer, Block, Failure, FoldSession, Need
from foldwise.folds.splits import Split, freeze_splits

__all__ = [
    "Answer",
    "Block",
    "Failure",
    "FoldSession",
    "Need",
    "RefitSession",
    "Split",
    "evaluate",
    "fit_facts",
    "freeze_splits",
    "open_session",
    "open_subsets",
    "register",
]
