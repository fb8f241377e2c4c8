"""The run folder: its files, where it may be written, and how it is opened.

Libraries are imported inside functions, because the command line checks paths before it loads any.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foldwise.addresses import is_like_address, masked
from foldwise.app.recording.lock import is_locked
from foldwise.errors import FoldwiseTypeError, InputError

if TYPE_CHECKING:
    import polars as pl

    from foldwise.storage import StoredModel

MODEL, FACTS, REPORT, BACKGROUND = "model.foldwise", "run.json", "report.html", "background.parquet"
ROWS = "rows.csv"  # of an exploration
HELD_OUT = "held_out.parquet"  # predictions of rows by models that did not see them
RESULTS = (MODEL, FACTS, REPORT, BACKGROUND, ROWS, HELD_OUT)
OPTIONS, PROGRESS, TRIALS = "options.json", "progress.json", "trials.sqlite"  # while a run is under way, and afterwards
DRAFT, COMPLETE = ".draft", ".complete"  # results that are being written; results that replace the earlier ones


def is_run_folder(path: Path) -> bool:
    """Whether a path is the folder of a run, finished or not."""
    return path.is_dir() and any((path / name).is_file() for name in (FACTS, OPTIONS))


def check_writable(folder: Path, force: bool) -> None:
    """Raise if the folder holds anything but a run, or a run that may not be replaced."""
    if is_like_address(str(folder)) and not folder.exists():  # its name would hold a password
        raise InputError(
            f"a run folder must be a folder on this computer, got {masked(str(folder))!r}.", "choose another folder."
        )
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file, not a folder.", "choose another folder for the run.")
    if not folder.exists() or not any(folder.iterdir()):
        return
    is_finished = current(folder, FACTS).is_file()
    if not is_finished and not (folder / OPTIONS).is_file():
        raise InputError(
            f"the folder {str(folder)!r} is not empty and not a run folder.", "choose another folder for the run."
        )
    if is_locked(folder):
        raise InputError(f"the run in the folder {str(folder)!r} is still running.", "choose another folder.")
    if not force and not is_finished:
        raise InputError(
            f"the folder {str(folder)!r} contains a run that was not finished.",
            f"continue it with resume={str(folder)!r}, or choose another folder.",
        )
    if not force:
        raise InputError(
            f"the folder {str(folder)!r} already contains a run.", "choose another folder, or pass force=True."
        )


def write_folder(folder: Path, force: bool, write: Callable[[Path], None]) -> Path:
    """Write a run folder, which appears only when it is complete."""
    check_writable(folder, force)
    with new_folder(folder) as inside:
        write(inside)
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(inside, folder)
    return folder


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A hidden empty folder beside another one, to be renamed to it; what is not renamed is removed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        inside = Path(temporary) / folder.name
        inside.mkdir()
        yield inside


def replace_results(folder: Path, write: Callable[[Path], None]) -> None:
    """Write model, report and facts to a run folder. They replace the earlier ones at one moment, or not at all."""
    finish_replacing(folder)
    draft = folder / DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        write(draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    unused = [name for name in RESULTS if not (draft / name).exists()]
    os.replace(draft, folder / COMPLETE)  # from now on, these are the results of the run
    for name in unused:
        (folder / name).unlink(missing_ok=True)
    finish_replacing(folder)


def finish_replacing(folder: Path) -> None:
    """Move results that are complete to their place, also those of a process that was killed while it did so."""
    complete = folder / COMPLETE
    if complete.is_dir():
        for path in complete.iterdir():
            os.replace(path, folder / path.name)
        complete.rmdir()


def current(folder: Path, name: str) -> Path:
    """The path of a result: complete results that were not moved to their place yet come first."""
    return found if (found := folder / COMPLETE / name).is_file() else folder / name


def write_whole(path: Path, text: str) -> None:
    """Write to a temporary file and rename it, so that a partial file never appears."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def file_in(folder: Path, name: str, by: str = "fit or refit") -> Path:
    """Return the path of a file in a run folder. Raise if it is missing."""
    path = current(folder, name)
    if path.is_file():
        return path
    if (folder / OPTIONS).is_file():
        if is_locked(folder):
            raise InputError(
                f"the run {str(folder)!r} has no result yet, because it is still running.", "wait until it ends."
            )
        raise InputError(
            f"the run {str(folder)!r} has no result, because it was not finished.",
            f"finish it with foldwise fit --resume {folder}.",
        )
    why = f"{name} is missing" if folder.is_dir() else "it is a file"
    raise InputError(f"{str(folder)!r} is not a run folder, because {why}.", f"pass a folder written by {by}.")


@dataclass(frozen=True)
class OpenRun:
    """An open run folder, or a model file (then `folder` is None)."""

    model: StoredModel
    folder: Path | None

    @property
    def has_background(self) -> bool:
        """Whether training rows are stored with the run."""
        return self.folder is not None and current(self.folder, BACKGROUND).is_file()

    def background(self) -> pl.DataFrame:
        """Read the training rows stored with the run."""
        import polars as pl

        from foldwise.data.reading.protocol import READ_ERRORS, first_line

        if self.folder is None or not self.has_background:
            raise InputError(
                "an explanation compares a row with training rows, but none are stored with this model.",
                "pass background=TABLE, a table of training rows.",
            )
        path = current(self.folder, BACKGROUND)
        try:
            return pl.read_parquet(path)
        except READ_ERRORS as error:
            words = f"{path.name} cannot be read: {first_line(error)}."
            raise InputError(words, "pass background=TABLE, a table of training rows.") from error


def open_run(path: str | Path, *, by: str = "fit, refit or explore") -> OpenRun:
    """Open the folder that `fit` wrote, or a model file. `by` names the functions whose folders are accepted."""
    from foldwise.storage import open_model

    path = Path(path)
    if path.is_dir():
        if not current(path, MODEL).is_file() and current(path, ROWS).is_file():
            raise InputError(
                f"{str(path)!r} contains no model: the exploration found no clusters, or ended before it looked for "
                "them.",
                "see report.html in the folder.",
            )
        return OpenRun(open_model(file_in(path, MODEL)), path)
    check_exists(path, by=by)
    return OpenRun(open_model(path), None)


def model_of_run(run: Any, *, by: str = "fit, refit or explore") -> StoredModel:
    """Return the model of a result of `fit`, an open model, a run folder or a model file."""
    from foldwise.storage.stored_model import StoredModel, stored

    found = stored(run)
    if isinstance(found, StoredModel):
        return found
    if not isinstance(run, str | os.PathLike):
        raise FoldwiseTypeError(
            f"run must be a result of fit, a run folder, a model file or an open model, got {type(run).__name__}.",
            "save a model of your own with save_model(path, model, X), and pass the path.",
        )
    return open_run(os.fspath(run), by=by).model


def check_exists(path: Path, *, by: str = "fit, refit or explore", or_model: bool = True) -> None:
    """Raise if a run does not exist."""
    if not path.exists():
        model = ", or a model file" if or_model else ""
        raise InputError(f"run {str(path)!r} does not exist.", f"pass a folder written by {by}{model}.")


def read_facts(path: str | Path) -> dict[str, Any]:
    """Read the stored facts of a run."""
    folder = Path(path)
    file = file_in(folder, FACTS, by="fit, refit or explore")
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{FACTS} in {str(folder)!r} cannot be read: {error}.", "run fit or explore again.") from error
    if not isinstance(facts, dict) or facts.get("format") != 1:
        found = facts.get("format") if isinstance(facts, dict) else None
        raise InputError(
            f"{FACTS} in {str(folder)!r} must be in format 1, got {'no format' if found is None else found!r}.",
            "run fit or explore again.",
        )
    return facts
