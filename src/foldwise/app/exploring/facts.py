"""The facts of an exploration: every answer as plain values, the headline in words, and what was left out."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foldwise.app.exploring.answers import QuestionAnswer
from foldwise.app.exploring.asking import QUESTIONS, QuestionLoop, QuestionState
from foldwise.app.option_words import with_options
from foldwise.app.plain_values import plain
from foldwise.app.table_facts import few, overrun, summary
from foldwise.app.timing import AUDIT_SHARE, RunTimes
from foldwise.data.schema import listing
from foldwise.data.table import Table
from foldwise.storage.model_file import versions

FORMAT = 1
SHOWN_COLUMNS = 200
ROLES = {  # as in the report of a fit
    "numeric": "number",
    "categorical": "category",
    "binary": "category",
    "identifier": "left out",
    "constant": "left out",
}
LATE = (
    "The run ended before this question was answered. Try a larger budget. If this was the first run after the "
    "installation, compiling code took part of the time. The default budget of 60 s is enough for that."
)
ABOUT_ROWS = {  # parts of answers that show cells of single rows
    "outliers": ("rows",),
    "map": ("cells", "names"),
    "ranking": ("central", "influential", "lookalikes", "leverage"),
}


def explore_facts(
    table: Table, asking: QuestionLoop, labels: NDArray[np.int64] | None, times: RunTimes, made: dict[str, Any]
) -> dict[str, Any]:
    """Collect the facts of an exploration; `labels` are the clusters of all rows."""
    found = {name: answer_facts(one) for name, one in asking.progress.items()}
    if labels is not None:
        set_sizes(found["clusters"], labels)
    if not made["rows_included"]:
        found = {name: without_rows(name, facts) for name, facts in found.items()}
    facts = {
        "format": FORMAT,
        "kind": "explore",
        "title": table.name,
        "table": {"n_rows": table.X.height, "n_columns": table.X.width},
        "made": {
            **made,
            "budget": times.budget,
            "seconds": times.elapsed,
            "phases": [list(one) for one in times.phases],
            "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "interrupted": asking.interrupted,
        },
        **found,
        "audit": audit_facts(table, times, made["command"]),
    }
    facts["headline"] = {"words": headline(facts)}
    return plain(facts)  # type: ignore[no-any-return]


def answer_facts(one: QuestionState) -> dict[str, Any]:
    """What a question found, or why there is no answer."""
    if one.answer is None:
        return {"none": f"This question could not be answered: {one.failure}." if one.failure else LATE}
    facts = {**one.answer.facts, "n_rows": len(one.answer.rows)}
    if len(one.answer.rows) < one.n_table:
        facts["sample"] = f"Answered from a random sample of {len(one.answer.rows):,} of {one.n_table:,} rows."
    return facts


def set_sizes(clusters: dict[str, Any], labels: NDArray[np.int64]) -> None:
    """The sizes of the clusters in the whole table, not only in the rows that were studied."""
    counts = np.bincount(labels)
    for card in clusters["cards"]:
        card["size"] = int(counts[card["cluster"]]) if card["cluster"] < len(counts) else 0
        card["share"] = card["size"] / len(labels)


def without_rows(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The same facts without cells of single rows."""
    kept = {key: value for key, value in facts.items() if key not in ABOUT_ROWS.get(name, ())}
    if name == "clusters":
        kept["cards"] = [{**card, "prototypes": []} for card in facts.get("cards", [])]
    return kept


def copied_rows(n_rows: int) -> str:
    """Say how many rows are copies of others."""
    return "1 row is a copy of another" if n_rows == 1 else f"{n_rows:,} rows are copies of others"


def audit_facts(table: Table, times: RunTimes, command: str | None) -> dict[str, Any]:
    """The columns of the table, what was noticed while it was read, and warnings."""
    audit = table.audit(seconds=AUDIT_SHARE * times.budget)
    copies = [one for one in audit if one.check == "duplicates"]
    warnings = [f"{copied_rows(one.rows)} ({one.detail})." for one in copies] + overrun(times, "leave columns out")
    columns = [
        {
            "name": column.name,
            "role": ROLES.get(kind := table.findings[column.name].kind, kind),
            "missing": column.null_count() / max(1, len(column)),
            "n_distinct": column.drop_nulls().n_unique(),
            "summary": summary(column),
            "left_out": left_out(table, column.name),
        }
        for column in table.X.iter_columns()
        if not column.dtype.is_nested()
    ][:SHOWN_COLUMNS]
    other = [str(note) for note in table.notes if note.topic not in ("groups", "time")]  # advice for predictions
    notes = few([*left_out_note(table), *other])
    if command is not None:  # the reader of this report follows advice on the command line
        notes = [with_options(note) for note in notes]
    return {"columns": columns, "n_columns": table.X.width, "notes": notes, "warnings": warnings}


def left_out(table: Table, name: str) -> str:
    """Why a column does not count; empty if it does."""
    found = table.findings[name]
    return found.reason if found.kind in ("identifier", "constant") else ""


def left_out_note(table: Table) -> list[str]:
    """Name the columns that identify rows."""
    names = [one.column for one in table.findings if one.kind == "identifier"]
    if not names:
        return []
    identify = "identifies rows and is" if len(names) == 1 else "identify rows and are"
    return [f"{listing(names)} {identify} left out."]


def headline(facts: dict[str, Any]) -> list[str]:
    """The answers in a sentence each, the clusters first."""
    return [words for words in (cluster_words(facts), outlier_words(facts), *other_words(facts)) if words]


def cluster_words(facts: dict[str, Any]) -> str:
    """How many clusters there are."""
    found = facts["clusters"]
    if "none" in found:
        return "The run ended before it looked for clusters." if found["none"] == LATE else found["none"]
    if found["k"] == 1:
        return "There are no clusters: all rows form a single group."
    sizes = [f"{card['size']:,}" for card in found["cards"]]
    return f"The rows form {found['k']} clusters, of {', '.join(sizes[:-1])} and {sizes[-1]} rows."


def outlier_words(facts: dict[str, Any]) -> str:
    """How many outliers there are."""
    found, n_rows = facts["outliers"], facts["table"]["n_rows"]
    if "none" in found:
        return "" if found["none"] == LATE else str(found["none"])
    of = "" if found["n_checked"] == n_rows else f" of the {found['n_checked']:,} that were checked"
    if not found["n"]:
        return f"No row{of} is an outlier."
    return f"1 row{of} is an outlier." if found["n"] == 1 else f"{found['n']:,} rows{of} are outliers."


def other_words(facts: dict[str, Any]) -> list[str]:
    """Rules and factors."""
    return [facts[name]["summary"] for name in ("associations", "factors") if "none" not in facts[name]]


def columns_of_rows(n_rows: int, answers: dict[str, QuestionAnswer]) -> dict[str, Any]:
    """One value per row of the table for each column that an answer has; None for rows that were not looked at."""
    columns: dict[str, Any] = {}
    for name in QUESTIONS:
        answer = answers.get(name)
        for column, values in ({} if answer is None else answer.columns).items():
            whole = np.full(n_rows, None, dtype=object)
            whole[answer.rows] = values.tolist()  # type: ignore[union-attr]
            columns[column] = whole.tolist()
    return columns
