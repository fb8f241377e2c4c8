"""What a run adds to the trial store in its folder: its sessions, and what the schedule knows of each batch.

The settings and fold scores of a model are a study of the trial store with the name of the model, so `open_search`
reads them while the run is under way.
"""

from __future__ import annotations

import sqlalchemy as sa

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
