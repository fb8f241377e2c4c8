"""`FolderResult`: what `Run` and `Exploration` have in common, a report and a folder."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from foldwise.app.run_folder import FACTS, REPORT, write_folder
from foldwise.report import render


class FolderResult(ABC):
    """A result whose facts make a report, and that can be written as a folder."""

    facts: dict[str, Any]

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one HTML file.

        Parameters
        ----------
        path : path
            The file to write.

        Returns
        -------
        Path
            The same path.
        """
        file = Path(path)
        file.write_text(render(self.facts), encoding="utf-8")
        return file

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write a folder with the report, the facts, and the model if there is one.

        An exploration also writes a table of its rows with their clusters. The folder appears only when it is complete.

        Parameters
        ----------
        folder : path
            The folder to write.
        force : bool, default=False
            Whether to replace an existing run folder. A folder with anything else in it is never replaced.

        Returns
        -------
        Path
            The path of the folder.
        """
        return write_folder(Path(folder), force, self.write)

    def write(self, inside: Path) -> None:
        """Write the model, the report and the facts to an empty folder.

        Parameters
        ----------
        inside : Path
            The folder.
        """
        (inside / FACTS).write_text(json.dumps(self.facts, ensure_ascii=False, indent=1), encoding="utf-8")
        self.report(inside / REPORT)
        self._write_model(inside)

    @abstractmethod
    def _write_model(self, inside: Path) -> None:
        """Write the model, and the rows that belong to it."""
