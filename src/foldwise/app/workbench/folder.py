"""`WorkFolder`: what the workbench sees of FOLDER. Names are looked up in listings and never used as paths."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from foldwise.app.recording.status import is_recorded
from foldwise.app.run_folder import FACTS, current
from foldwise.data.reading.source_file import SUFFIXES
from foldwise.errors import InputError

STATE = ".foldwise"  # choices, queue and logs of the workbench, in FOLDER
PACKED = (".gz", ".gzip")
LONGEST = 80  # characters of a file name
MOST_NAMES = 10_000


@dataclass(frozen=True)
class TableFile:
    """A table file in FOLDER."""

    path: Path
    n_bytes: int
    changed: float  # seconds since 1970

    @property
    def name(self) -> str:
        """The file name, which identifies the table in addresses."""
        return self.path.name


class WorkFolder:
    """One folder with tables and runs."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        if not self.path.is_dir():
            raise InputError(f"FOLDER must be an existing folder, got {str(path)!r}.", "create it, or check the path.")

    def tables(self) -> list[TableFile]:
        """The table files directly in the folder, by name."""
        found = []
        for entry in self._entries():
            if ending(entry.name) not in SUFFIXES:
                continue
            with suppress(OSError):  # removed in the meantime
                about = entry.stat()
                if stat.S_ISREG(about.st_mode):
                    found.append(TableFile(Path(entry.path), about.st_size, about.st_mtime))
        return sorted(found, key=lambda one: one.name.lower())

    def runs(self) -> list[Path]:
        """The run folders directly in the folder, by name."""
        folders = [Path(entry.path) for entry in self._entries() if entry.is_dir()]
        runs = [one for one in folders if is_recorded(one) or current(one, FACTS).is_file()]
        return sorted(runs, key=lambda one: one.name.lower())

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        """What is visible: nothing hidden, and no symbolic link that leads out of the folder."""
        with os.scandir(self.path) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and self.holds(Path(entry.path)):
                    yield entry

    def holds(self, path: Path) -> bool:
        """Whether a path is inside the folder when all symbolic links are resolved."""
        try:
            return path.resolve(strict=True).is_relative_to(self.path)
        except (OSError, RuntimeError):
            return False

    def table(self, name: str) -> TableFile | None:
        """The table file of a name."""
        return next((one for one in self.tables() if one.name == name), None)

    def run(self, name: str) -> Path | None:
        """The run folder of a name."""
        return next((one for one in self.runs() if one.name == name), None)

    def state(self, *names: str) -> Path:
        """A folder for choices, queue or logs of the workbench; it is made where it does not exist."""
        path = self.path.joinpath(STATE, *names)
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.holds(path):
            raise InputError(f"{STATE} in FOLDER must not lead out of it.", "remove the symbolic link.")
        return path

    def new_table_path(self, said: str) -> Path:
        """A new path for an uploaded file. What the browser said is a suggestion for its name, and nothing else."""
        name = safe_name(said)
        if ending(name) not in SUFFIXES:
            endings = ", ".join(SUFFIXES)
            raise InputError(
                f"a table file must end in one of {endings}, optionally followed by .gz, got {said[-40:]!r}."
            )
        start, dot, rest = name.partition(".")
        return self._unused(start, f"{dot}{rest}")

    def new_run_path(self, table: Path, ending: str = "run") -> Path:
        """A new path for the run folder of a table."""
        return self._unused(f"{safe_name(table.name).partition('.')[0]}-{ending}", "")

    def _unused(self, start: str, end: str) -> Path:
        taken = {name.lower() for name in os.listdir(self.path)}
        taken |= {one.name.rpartition(".")[0].lower() for one in self.state("runs").iterdir()}
        names = (f"{start}{'' if number == 1 else f'-{number}'}{end}" for number in range(1, MOST_NAMES))
        return self.path / next(name for name in names if name.lower() not in taken)


def safe_name(said: str) -> str:
    """A file name of plain characters, from what somebody else called a file.

    >>> safe_name("../../Übung 1.csv"), safe_name(".bashrc"), safe_name("C:\\\\data\\\\a b.csv")
    ('bung_1.csv', 'bashrc', 'a_b.csv')
    """
    last = re.split(r"[/\\]", said)[-1]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", last).strip("._-")
    return name[-LONGEST:].lstrip("._-") or "table"


def ending(name: str) -> str:
    """The ending of a file name, without that of gzip."""
    path = Path(name)
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()
