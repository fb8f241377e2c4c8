"""What a run adds to the trial store in its folder: its sessions, and what the schedule knows of each batch.

The settings and fold scores of a model are a study of the trial store with the name of the model, so `open_search`
reads them while the run is under way.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.schema import CreateTable

from foldwise.tuning.store.schema import blocks, proposals
from foldwise.tuning.store.statements import Statement

metadata = sa.MetaData()

sessions = sa.Table(
    "fit_sessions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),  # from 1
    sa.Column("started", sa.Float, nullable=False),  # seconds since 1970
    sa.Column("budget", sa.Float, nullable=False),
    sa.Column("n_workers", sa.Integer, nullable=False),
    sa.Column("before", sa.Float, nullable=False),  # seconds of all earlier sessions
    sa.Column("elapsed", sa.Float, nullable=False),  # seconds, as of the last write
    sa.Column("writing", sa.Float, nullable=False),  # seconds of them spent in writing this file
    sa.Column("ended", sa.Text, nullable=False),  # finished, interrupted or failed; empty if it runs or was killed
    sa.Column("command", sa.Text),
    sa.Column("parts", sa.Text, nullable=False),  # JSON: what must be the same in the next session
)

batches = sa.Table(
    "fit_batches",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("study_id", sa.Integer, nullable=False),
    sa.Column("first_trial", sa.Integer, nullable=False),  # of its settings, among those of the model
    sa.Column("content", sa.Text, nullable=False),  # JSON: what the schedule knows beside settings and scores
)


def bound(name: str) -> sa.BindParameter[Any]:
    return sa.bindparam(name)


def every(table: sa.Table) -> dict[str, Any]:
    """One value to fill in per column."""
    return {name: bound(name) for name in table.c.keys()}  # noqa: SIM118


# `Statement` translates each of them once; SQLAlchemy alone would take most of the time of writing
CREATION = [Statement(CreateTable(one, if_not_exists=True)) for one in metadata.sorted_tables]
CHECK = Statement(sa.text("pragma quick_check(1)"))

SESSIONS = Statement(sa.select(sessions).order_by(sessions.c.number))
INSERT_SESSION = Statement(sa.insert(sessions).values(every(sessions)))
THIS_SESSION = sessions.c.number == bound("of_session")
UPDATE_SPENT = Statement(
    sa.update(sessions).where(THIS_SESSION).values(elapsed=bound("now_elapsed"), writing=bound("now_writing"))
)
UPDATE_ENDED = Statement(sa.update(sessions).where(THIS_SESSION).values(ended=bound("how")))

OF_BATCH = (batches.c.study_id == proposals.c.study_id) & (batches.c.first_trial == proposals.c.first_trial)
BATCHES = Statement(sa.select(batches, proposals.c.settings).where(OF_BATCH).order_by(batches.c.number))
_new_batch = insert(batches).values(every(batches))
WRITE_BATCH = Statement(
    _new_batch.on_conflict_do_update(index_elements=["number"], set_={"content": _new_batch.excluded.content})
)

THIS_BATCH = (
    (blocks.c.study_id == bound("of_study")) & (blocks.c.first_trial == bound("from_trial")) & (blocks.c.stage == 0)
)
THIS_FOLD = THIS_BATCH & (blocks.c.number == bound("of_split"))
_new_fold = insert(blocks).values(
    study_id=bound("of_study"),
    first_trial=bound("from_trial"),
    stage=0,
    number=bound("of_split"),
    split=bound("of_split"),
    trials=bound("members"),
    state="running",
    lease=1,  # how often the fold was started
    holder=bound("me"),
    expires=0.0,
)
START_FOLD = Statement(
    _new_fold.on_conflict_do_update(
        index_elements=["study_id", "first_trial", "stage", "number"],
        set_={"state": "running", "holder": _new_fold.excluded.holder, "lease": blocks.c.lease + 1},
    )
)
FINISHED_FOLDS = Statement(
    sa.select(blocks.c.split, blocks.c.result, blocks.c.answers)
    .where(THIS_BATCH, blocks.c.state == "done")
    .order_by(blocks.c.id)
)
END_FOLD = Statement(
    sa.update(blocks)
    .where(THIS_FOLD)
    .values(state=bound("how"), result=bound("found"), answers=bound("predicted"), recorded=bound("at"))
)
UPDATE_ANSWERS = Statement(sa.update(blocks).where(THIS_FOLD).values(answers=bound("predicted")))
STOP_FOLDS = Statement(sa.update(blocks).where(blocks.c.state == "running").values(state="waiting"))
