"""The tables of a trial store, and how a store of an older version becomes one of this version.

A study is one search on one set of training rows. Its proposals are stored batch by batch. A round of a search is
divided into blocks: settings that share their work, on one split. A block is what a process claims, computes and
records at once, so that many cheap models are few rows.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.schema import CreateTable

VERSION = 2  # of the tables; a store of a newer version is refused

metadata = sa.MetaData()

versions = sa.Table("foldwise_store", metadata, sa.Column("version", sa.Integer, primary_key=True))

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("training_rows", sa.Text, nullable=False),  # digest
    sa.Column("fixed_parts", sa.Text, nullable=False),  # JSON: digests of what must not change, by name
    sa.Column("description", sa.Text, nullable=False),  # JSON: what people read
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("created", sa.Float, nullable=False),  # seconds since 1970
    sa.UniqueConstraint("name", "training_rows"),
)

proposals = sa.Table(
    "proposals",
    metadata,
    sa.Column("study_id", sa.ForeignKey("studies.id"), primary_key=True),
    sa.Column("first_trial", sa.Integer, primary_key=True),
    sa.Column("settings", sa.Text, nullable=False),  # JSON
)

blocks = sa.Table(
    "blocks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("study_id", sa.ForeignKey("studies.id"), nullable=False),
    sa.Column("first_trial", sa.Integer, nullable=False),  # of the round
    sa.Column("stage", sa.Integer, nullable=False),  # of a race, which scores one fold after the other; else 0
    sa.Column("number", sa.Integer, nullable=False),  # within the stage
    sa.Column("trials", sa.Text, nullable=False),  # JSON: numbers of the trials
    sa.Column("split", sa.Integer, nullable=False),  # -1 for all splits of leave-one-out
    sa.Column("state", sa.Text, nullable=False),  # waiting, running or done
    sa.Column("lease", sa.Integer, nullable=False),  # how often the block was claimed
    sa.Column("holder", sa.Text, nullable=False),  # the process that computes it
    sa.Column("expires", sa.Float, nullable=False),  # when another process may claim it, in seconds since 1970
    sa.Column("result", sa.Text),  # JSON: scores, times and errors
    sa.Column("answers", sa.LargeBinary),  # npz: out-of-fold predictions, if they are kept
    sa.Column("recorded", sa.Float),  # when its result was recorded; missing in blocks of version 1
    sa.UniqueConstraint("study_id", "first_trial", "stage", "number"),
)

# what turns a store of the version before into one of this version; data are kept
CHANGES: dict[int, list[sa.Executable]] = {
    2: [sa.text("alter table blocks add column recorded double precision")],
}


def creation() -> list[sa.Executable]:
    """What creates the tables in an empty database."""
    return [CreateTable(table) for table in metadata.sorted_tables]
