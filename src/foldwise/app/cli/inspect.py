"""`foldwise inspect`: how a table is read, its columns, and problems to look at before fitting a model."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from foldwise.app.cli.exit_codes import IN_PYTHON, PYTHON_ONLY
from foldwise.app.cli.output import WIDTH, clipped, print_json
from foldwise.app.cli.paths import check_table

NAME = 22
AUDIT_SECONDS = 20.0  # after which checks of a wide table take a sample of columns and say so
SHOWN = 200  # columns that are printed; --json gives all


def inspect(path: Path, target: str | None, *, as_json: bool) -> None:
    """Describe a table file."""
    check_table(path)
    from foldwise.data import read_table
    from foldwise.data.target import task_of

    table = read_table(path, target=target)
    audit = None if target is None else table.audit(seconds=AUDIT_SECONDS)
    task = None if target is None else task_of(table.y)
    findings = list(table.findings)
    columns = [column_facts(table, finding) for finding in (findings if as_json else findings[:SHOWN])]
    if as_json:
        concerns = None if audit is None else audit.to_frame().to_dicts()
        notes = [{"topic": note.topic, "column": note.column, "text": note.text} for note in table.notes]
        about = {"table": table.name, "rows": table.X.height, "target": table.target, "task": task}
        print_json({**about, "columns": columns, "notes": notes, "audit": concerns})
        return
    print(repr(table).splitlines()[0])
    if task is not None:
        what = "a quantity (regression)" if task == "regression" else "classes (classification)"
        print(f"The target {target!r} contains {what}.")
        if task == "classification" and table.y is not None and table.y.dtype.kind in "iuf":
            print("If its numbers are a quantity, pass --task regression to fit, compare or tune.")
    width = max(6, min(NAME, max((len(facts["column"]) for facts in columns), default=0)))
    print(f"\n{'column':<{width}}  {'kind':<11}  {'missing':>7}  {'distinct':>8}  values")
    for facts in columns:
        start = f"{clipped(facts['column'], width):<{width}}  {facts['kind']:<11}  "
        start += f"{share_text(facts['missing'])}  {facts['distinct']:>8,}  "
        print(textwrap.fill(start + facts["reason"], WIDTH, subsequent_indent=" " * len(start)).rstrip())
    if len(findings) > SHOWN:
        print(f"… and {len(findings) - SHOWN:,} more columns (--json lists them all)")
    if table.notes:
        print(f"\nHow the file was read\n{table.notes}")
    if audit is not None:
        print(f"\n{audit}")
    if PYTHON_ONLY.search(f"{table.notes}{audit}"):
        print(f"\n{textwrap.fill(IN_PYTHON, WIDTH)}")


def column_facts(table: Any, finding: Any) -> dict[str, Any]:
    """Describe one column as a dictionary."""
    from foldwise.data.audit import n_missing

    column = table.X[finding.column]
    return {
        "column": finding.column,
        "kind": finding.kind,
        "reason": finding.reason,
        "type": str(column.dtype),
        "missing": n_missing(column) / max(1, len(column)),
        "distinct": column.drop_nulls().n_unique(),
    }


def share_text(share: float) -> str:
    return f"{share:>7.1%}" if share else f"{'none':>7}"
