"""The history of a recorded run: what each session tried, and how good the best model was at its end."""

from __future__ import annotations

import datetime
import math
from typing import Any

from foldwise.app.recording.trials import RunSession, TrialRecord
from foldwise.app.search_state import SearchState, SettingBatch
from foldwise.app.setup import RunSetup


def history(record: TrialRecord, state: SearchState, *, interrupted: bool) -> list[dict[str, Any]]:
    """Describe every session of a run. The last one is described as if it ended now."""
    found = record.sessions()
    ended = [one.ended or "killed" for one in found[:-1]] + ["stopped by the user" if interrupted else "finished"]
    return [
        {
            "number": one.number,
            "started": datetime.datetime.fromtimestamp(one.started, datetime.UTC).isoformat(timespec="seconds"),
            "budget": one.budget,
            "seconds": one.elapsed,
            "n_workers": one.n_workers,
            "ended": how,
            "command": one.command,
            **tried(record, state, one.number),
            **best(record, state, one),
        }
        for one, how in zip(found, ended, strict=True)
    ]


def tried(record: TrialRecord, state: SearchState, session: int) -> dict[str, Any]:
    """The models, settings and folds of a session."""
    folds = [(number, k) for (number, k), (of, _) in record.when.items() if of == session]
    first = {number: min(of for (n, _), (of, _) in record.when.items() if n == number) for number, _ in folds}
    new = [state.batches[number] for number, of in first.items() if of == session]
    titles = list(dict.fromkeys(record.setup.specs[state.batches[number].model].title for number, _ in folds))
    return {
        "models": titles,
        "n_settings": sum(len(one.settings) for one in new if one.scores),
        "n_models": sum(len(state.batches[n].settings) for n, k in folds if k in state.batches[n].scores),
    }


def best(record: TrialRecord, state: SearchState, session: RunSession) -> dict[str, Any]:
    """The best model that was evaluated on all folds when a session ended, with its mean score."""

    def was_finished(batch: SettingBatch) -> bool:
        return all(record.when[batch.number, k][0] <= session.number for k in range(state.n_splits))

    done = [one for one in state.finished if was_finished(one)]
    top = max(done, key=lambda one: one.best_mean, default=None)
    if top is None or not math.isfinite(top.best_mean):
        return {"best": None, "score": None}
    setup: RunSetup = record.setup
    return {"best": setup.specs[top.model].title, "score": setup.metric.signed(top.best_mean)}
