"""`TableChoices`: how a table is read and what is asked of it, as chosen on its page and stored beside it.

They become the options of `foldwise fit`, so that a run from the workbench can be repeated on the command line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from foldwise.app.cli.table_options import TableOptions
from foldwise.app.run_folder import write_whole
from foldwise.app.workbench.folder import TableFile, WorkFolder
from foldwise.errors import InputError

READING = ("separator", "decimal", "quote", "encoding", "header", "skip_rows", "sheet", "table", "missing")
ASKED = ("target", "task", "groups", "time", "weights", "positive", "metric", "coverage", "slices", "budget", "models")
KINDS = ("numeric", "categorical", "binary", "text", "date", "time", "duration", "identifier")
DROP = "drop"  # shown among the kinds
USUAL_BUDGET = "60s"
MOST_COSTS = 20  # classes and actions of a cost matrix


@dataclass(frozen=True)
class CostTable:
    """Costs by action and true class, as typed; the actions are the classes."""

    classes: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """The costs as the CSV file that `--costs` reads. Raise if a cell is not a number."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["", *self.classes])
        for action, row in zip(self.classes, self.cells, strict=True):
            for cell in row:
                try:
                    float(cell)
                except ValueError:
                    raise InputError(f"every cost must be a number, got {cell!r}.", "write 0 for no cost.") from None
            writer.writerow([action, *row])
        return file.getvalue()


@dataclass(frozen=True)
class TableChoices:
    """What was chosen for one table; an empty text means that Foldwise decides."""

    separator: str = ""
    decimal: str = ""
    quote: str = ""
    encoding: str = ""
    header: str = ""
    skip_rows: str = ""
    sheet: str = ""
    table: str = ""
    missing: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    task: str = ""
    groups: str = ""
    time: str = ""
    weights: str = ""
    positive: str = ""
    metric: str = ""
    coverage: str = ""
    slices: str = ""
    budget: str = USUAL_BUDGET
    models: str = ""
    costs: CostTable | None = None

    @classmethod
    def of_form(cls, form: Mapping[str, str], before: TableChoices) -> TableChoices:
        """Read the form of the page. What the form does not contain stays as it was."""
        texts = {name: form[name].strip(" ") for name in (*READING, *ASKED) if name in form}
        kinds = {name.removeprefix("kind:"): value for name, value in form.items() if name.startswith("kind:")}
        kinds = {name: value for name, value in {**before.kinds, **kinds}.items() if value in (*KINDS, DROP)}
        costs = costs_of(form) if "classes" in form else before.costs
        if texts.get("target", before.target) != before.target:
            costs = None
        return cls(**{**vars(before), **texts, "kinds": kinds, "costs": costs})

    def options(self) -> TableOptions:
        """How the table is read, as options of the command line."""
        texts = {name: getattr(self, name) or None for name in READING if name != "missing"}
        declared = {name: kind for name, kind in self.kinds.items() if kind != DROP}
        return TableOptions(
            missing=(self.missing,) if self.missing else (),
            kind=tuple(f"{name}={kind}" for name, kind in declared.items()),
            drop=tuple(quoted(name) for name, kind in self.kinds.items() if kind == DROP),
            **texts,
        )

    def arguments(self, table: TableFile, out: Path, folder: WorkFolder) -> list[str]:
        """The arguments of `foldwise` that start a run in FOLDER."""
        if not self.target:
            raise InputError("a run needs a target, the column to predict.", "choose one.")
        given = [(name, getattr(self, name)) for name in ASKED if getattr(self, name)]
        if self.costs is not None:
            given.append(("costs", self._write_costs(folder)))
        return self._command("fit", table, out, given)

    def exploring(self, table: TableFile, out: Path) -> list[str]:
        """The arguments of `foldwise` that explore the table in FOLDER, without a target."""
        return self._command("explore", table, out, [("budget", self.budget)] if self.budget else [])

    def _command(self, command: str, table: TableFile, out: Path, given: list[tuple[str, str]]) -> list[str]:
        """A command with its options, and with those for reading the table."""
        reading = [(name.replace("_", "-"), getattr(self, name)) for name in READING if getattr(self, name)]
        options = self.options()
        named = [("kind", one) for one in options.kind] + [("drop", one) for one in options.drop]
        name = table.name if not table.name.startswith("-") else f"./{table.name}"
        words = [f"--{option}={value}" for option, value in (*given, *reading, *named)]
        return [command, name, *words, f"--out={out.name}"]

    def _write_costs(self, folder: WorkFolder) -> str:
        """Write the costs to a file that never changes, because a resumed run reads it again."""
        assert self.costs is not None
        text = self.costs.text()
        path = folder.state("costs") / f"{digest(text)}.csv"
        write_whole(path, text)
        return str(path.relative_to(folder.path))


def costs_of(form: Mapping[str, str]) -> CostTable | None:
    """Read the cost matrix of the form; None if it was not filled in."""
    try:
        classes = tuple(map(str, json.loads(form["classes"])))[:MOST_COSTS]
    except (ValueError, TypeError, RecursionError):
        raise InputError("the classes of the costs must be a list of texts.", "reload the page.") from None
    cells = tuple(
        tuple(form.get(f"cost:{i}:{k}", "").strip() for k in range(len(classes))) for i in range(len(classes))
    )
    return CostTable(classes, cells) if any(cell for row in cells for cell in row) else None


def quoted(name: str) -> str:
    """A name as one entry of a comma-separated list."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def choices_file(folder: WorkFolder, name: str) -> Path:
    """Where the choices for a table are stored. The name of the table is not part of the path."""
    return folder.state("tables") / f"{digest(name)}.json"


def read_choices(folder: WorkFolder, name: str) -> TableChoices:
    """Read the choices for a table; those of Foldwise where there are none, or where they are damaged."""
    try:
        stored = json.loads(choices_file(folder, name).read_text(encoding="utf-8"))
        known = {one.name for one in fields(TableChoices)} - {"kinds", "costs"}
        texts = {key: str(value) for key, value in stored.items() if key in known}
        kinds = {str(key): str(value) for key, value in stored["kinds"].items()}
        costs = stored["costs"] and CostTable(tuple(stored["costs"]["classes"]), rows(stored["costs"]["cells"]))
        return TableChoices(**texts, kinds=kinds, costs=costs)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return TableChoices()


def rows(cells: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(str, row)) for row in cells)


def write_choices(folder: WorkFolder, name: str, choices: TableChoices) -> None:
    """Store the choices for a table."""
    write_whole(choices_file(folder, name), json.dumps(asdict(choices), ensure_ascii=False, indent=1))
