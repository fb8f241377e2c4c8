"""`foldwise inspect`: how a table is read, its columns, and problems to look at before fitting a model."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from foldwise.app.cli.output import WIDTH, clipped, print_json
from foldwise.app.cli.paths import check_outputs, check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.option_words import with_options
from foldwise.app.timing import INSPECT_AUDIT
from foldwise.errors import FoldwiseError, InputError

NAME = 22
FILE = 34
SHOWN_OTHERS = 8  # files that are not read
SHOWN = 200  # columns that are printed; --json gives all


def inspect(
    path: Path, reading: TableOptions, target: str | None, config: Path | None, *, force: bool, as_json: bool
) -> None:
    """Describe a table file, or the table files of a folder, and write the configuration that reads it alike."""
    keywords = reading.keywords()
    check_config(config, force)
    if path.is_dir():
        if target is not None or config is not None:
            option = "--target" if target is not None else "--write-config"
            raise InputError(f"{option} describes one table, but {str(path)!r} is a folder.", "pass one of its files.")
        describe_folder(path, keywords, as_json=as_json)
        return
    check_table(path)
    from foldwise.data import read_table
    from foldwise.data.notes import Notes
    from foldwise.data.target import task_of

    table = read_table(path, target=target, **keywords)
    audit = None if target is None else table.audit(seconds=INSPECT_AUDIT)
    task = None if target is None else task_of(table.y)
    if config is not None:
        from foldwise.app.cli.written_config import config_text

        config.write_text(config_text(path, table, task, keywords, str(config)), encoding="utf-8")
    findings = list(table.findings)
    columns = [column_facts(table, finding) for finding in (findings if as_json else findings[:SHOWN])]
    notes = Notes(replace(note, text=with_options(note.text)) for note in table.notes)
    if as_json:
        concerns = None if audit is None else audit.to_frame().to_dicts()
        about = {"table": table.name, "rows": table.X.height, "target": table.target, "task": task}
        said = [{"topic": note.topic, "column": note.column, "text": note.text} for note in notes]
        print_json({**about, "columns": columns, "notes": said, "audit": concerns})
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
    if notes:
        print(f"\nHow the file was read\n{notes}")
    if audit is not None:
        found = str(audit)
        if not len(audit) and any(note.topic in ("groups", "time") for note in notes):
            found = found.replace("no problems found", "no problems found besides the notes above")
        print("\n" + "\n".join(map(with_options, found.splitlines())))
    if config is not None:
        print(f"\nconfig  {config}")


def check_config(config: Path | None, force: bool) -> None:
    """Refuse to write a configuration file where there is one, unless it may be replaced."""
    check_outputs({"write-config": config})
    if config is not None and config.exists() and not force:
        raise InputError(f"{str(config)!r} exists already.", "pass --force to replace it, or choose another path.")


def describe_folder(folder: Path, keywords: dict[str, Any], *, as_json: bool) -> None:
    """Describe each table of a folder by one line, also each sheet and each table of a database."""
    from foldwise.data.notes import counted
    from foldwise.data.reading.source_file import SUFFIXES

    files = [path for path in sorted(folder.iterdir()) if path.is_file() and ending(path) in SUFFIXES]
    if not files:
        raise InputError(f"the folder {str(folder)!r} contains no table files.", "pass the path of a file.")
    found = [facts for path in files for facts in file_facts(path, keywords)]
    others = [path.name for path in sorted(folder.iterdir()) if path.is_file() and path not in files]
    others = [name for name in others if not name.startswith(".")]
    if as_json:
        print_json({"folder": str(folder), "files": found, "not_read": others})
        return
    titles = [" · ".join(one[name] for name in ("file", "sheet", "table") if name in one) for one in found]
    width = min(FILE, max(map(len, titles)))
    print(f"{'file':<{width}}  {'rows':>9}  {'columns':>7}  kinds")
    for title, one in zip(titles, found, strict=True):
        start = f"{clipped(title, width):<{width}}  "
        if "error" in one:
            print(textwrap.fill(f"{start}cannot be read: {one['error']}", WIDTH, subsequent_indent=" " * len(start)))
            continue
        start += f"{one['rows']:>9,}  {one['columns']:>7,}  "
        words = ", ".join(f"{n} {kind}" for kind, n in one["kinds"].items())
        print(textwrap.fill(start + words, WIDTH, subsequent_indent=" " * len(start)))
    if others:
        more = f" and {len(others) - SHOWN_OTHERS} more" if len(others) > SHOWN_OTHERS else ""
        names = f"{', '.join(others[:SHOWN_OTHERS])}{more}"
        print(textwrap.fill(f"{counted(len(others), 'file')} not read: {names}", WIDTH))


def file_facts(path: Path, keywords: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the tables of one file; one that cannot be read is described by its error."""
    from foldwise.app.cli.exit_codes import bad_input
    from foldwise.data import read_table
    from foldwise.data.reading.parts import parts_of

    found: list[dict[str, Any]] = []
    try:
        parts: list[dict[str, Any]] = [*parts_of(path)] or [{}]
    except FoldwiseError:  # reading says why
        parts = [{}]
    for part in parts:
        facts: dict[str, Any] = {"file": path.name, **(part if len(parts) > 1 else {})}
        try:
            table = read_table(path, **{**keywords, **part})
        except Exception as error:  # invalid input is printed, and any other error is raised again
            sentence = bad_input(error)
            if sentence is None:
                raise
            found.append({**facts, "error": sentence})
            continue
        kinds = [finding.kind for finding in table.findings]
        counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
        found.append({**facts, "rows": table.X.height, "columns": table.X.width, "kinds": counts})
    return found


def ending(path: Path) -> str:
    """Return the ending of a file name, without that of gzip."""
    whole = path.with_suffix("") if path.suffix.lower() in (".gz", ".gzip") else path
    return whole.suffix.lower()


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
