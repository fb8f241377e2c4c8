"""Fewer folds for all, so that a model far ahead of the others is not lost.

Whether a model is far ahead is decided on the first fold alone, which is not scored then. So the estimate stays honest:
it rests on fewer held-out rows, and its interval is wider.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from foldwise.app.schedule import settings_to_keep
from foldwise.app.schedule_rules import FEWEST_FOLDS
from foldwise.app.search_state import SearchState, SettingBatch
from foldwise.app.state_view import far_ahead
from foldwise.evaluation.tables import number

if TYPE_CHECKING:
    from foldwise.app.setup import RunSetup


def finish_leader_on_fewer_folds(setup: RunSetup, state: SearchState, elapsed: float) -> tuple[RunSetup, SearchState]:
    """Keep only the folds that a model far ahead was scored on, if it was not scored on all and can be refitted."""
    ahead = far_ahead(state, *setup.scale)
    if ahead is None:
        return setup, state
    n_folds = len(list(takewhile(ahead.scores.__contains__, range(state.n_splits))))
    last_moment = setup.time.last_moment(setup.refit_seconds(ahead), setup.large_files([ahead]))
    if n_folds < FEWEST_FOLDS or elapsed > last_moment:
        return setup, state
    fewer = on_first_folds(state, n_folds)
    if fewer.batches[ahead.number] not in fewer.finished:
        return setup, state
    splitter = f"the first {n_folds} of {setup.splitter}"
    return replace(setup, splits=setup.splits[:n_folds], splitter=splitter), fewer


def on_first_folds(state: SearchState, n_folds: int) -> SearchState:
    """The state as if there were only the first few folds."""
    batches = tuple(batch_on_first_folds(one, n_folds) for one in state.batches)
    return replace(state, n_splits=n_folds, batches=batches, fewer_folds=True)


def batch_on_first_folds(batch: SettingBatch, n_folds: int) -> SettingBatch:
    fewer = replace(
        batch,
        started_splits=tuple(k for k in batch.started_splits if k < n_folds),
        scores={k: scores for k, scores in batch.scores.items() if k < n_folds},
        seconds={k: seconds for k, seconds in batch.seconds.items() if k < n_folds},
    )
    if fewer.complete(n_folds) and fewer.kept is None:
        return replace(fewer, kept=settings_to_keep(fewer), stopped="", why="")
    return fewer


def fold_sentences(setup: RunSetup, state: SearchState) -> list[str]:
    """Say that fewer folds were used than planned, or that a model far ahead was lost."""
    metric, n_folds = setup.metric, len(setup.splits)
    sentences = []
    if state.fewer_folds:
        sentences.append(
            f"A slow model was far ahead on the first fold, and there was time for only {n_folds} of "
            f"{setup.time.n_splits} folds. All models are compared on these folds."
        )
    ahead = far_ahead(state, *setup.scale)
    if ahead is not None:
        best = max(one.first for one in state.finished)
        title = setup.specs[ahead.model].title
        sentences.append(
            f"{title[:1].upper()}{title[1:]} was far ahead on the first fold ({metric.title} "
            f"{number(metric.signed(ahead.first))}, best finished model {number(metric.signed(best))}), but there was "
            "no time to finish it. A larger budget may give a better model."
        )
    return sentences
