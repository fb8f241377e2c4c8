"""The options of a run as JSON, so that it can be resumed without passing them again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from foldwise.app.config import FitConfig
from foldwise.app.recording.status import is_recorded
from foldwise.app.run_folder import OPTIONS, check_exists, write_whole
from foldwise.errors import InputError

FORMAT = 1
FILES = ("costs", "test")  # options that may be paths
WORDS = {"test": "test table"}
PLAIN = str | int | float | bool | None


def to_stored(table: Any, config: FitConfig, *, few_splits: bool) -> dict[str, Any]:
    """The table and the options of a run as JSON has them; of objects only the names are stored."""
    given = {one.name: getattr(config, one.name) for one in fields(config)}
    given |= {name: list(given[name]) for name in ("models", "slices") if not isinstance(given[name], str | None)}
    given |= {name: path_of(given[name]) for name in FILES}
    if hasattr(given["positive"], "item"):
        given["positive"] = given["positive"].item()
    objects = [name for name, value in given.items() if not is_plain(value)]
    return {
        "format": FORMAT,
        "table": table if isinstance(table := path_of(table), str) and "://" not in table else None,
        "few_splits": few_splits,  # because the first budget was short
        "options": {name: value for name, value in given.items() if name not in objects},
        "objects": objects,
    }


def path_of(value: Any) -> Any:
    """A path as an absolute path, which holds in every folder; anything else as it is."""
    is_path = isinstance(value, os.PathLike) or (isinstance(value, str) and "://" not in value)
    return str(Path(value).absolute()) if is_path else value


def is_plain(value: Any) -> bool:
    if isinstance(value, dict):  # how tables are read
        return all(isinstance(name, str) and is_plain(one) for name, one in value.items())
    return isinstance(value, PLAIN) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def write_options(folder: Path, stored: Mapping[str, Any]) -> None:
    """Write the options into a run folder."""
    write_whole(folder / OPTIONS, json.dumps(stored, ensure_ascii=False, indent=1))


def read_options(folder: Path) -> dict[str, Any]:
    """Read the options from a run folder. Raise if it is not the folder of a run that can be resumed."""
    check_exists(folder, or_model=False, by="fit")
    if not is_recorded(folder):
        why = f"{OPTIONS} is missing" if folder.is_dir() else "it is a file"
        raise InputError(
            f"{str(folder)!r} cannot be resumed, because {why}.",
            "pass a folder written by fit.",
        )
    try:
        stored = json.loads((folder / OPTIONS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(folder) from error
    found = stored.get("format") if isinstance(stored, dict) else None
    if isinstance(found, int) and found > FORMAT:
        raise InputError(
            f"the run {str(folder)!r} is in format {found}, but this version of Foldwise reads up to format {FORMAT}.",
            "upgrade Foldwise. Nothing was changed.",
        )
    if found != FORMAT or not isinstance(stored.get("options"), dict) or not isinstance(stored.get("objects"), list):
        raise damaged(folder)
    return dict(stored)


def damaged(folder: Path) -> InputError:
    return InputError(f"{OPTIONS} in {str(folder)!r} is damaged.", "start a new run. Nothing was changed.")


def resumed(
    folder: Path, stored: Mapping[str, Any], table: Any, given: FitConfig, budget: float | str | None
) -> tuple[Any, FitConfig]:
    """The table and the options of a run that is resumed: those stored, except where others are given.

    Whether others may be given is decided by what they change, see `fingerprint`.
    """
    before = stored["options"].get("target")
    if before is not None and given.target is not None and given.target != before:
        refuse_other(folder, [f"target ({before!r} before, {given.target!r} now)"])  # other options depend on it
    usual = {one.name: one.default for one in fields(FitConfig)}
    changed = {name: value for name, value in vars(given).items() if not is_usual(value, usual[name])}
    missing = [name for name in stored["objects"] if name in usual and name not in changed]
    if table is None:
        table = stored.get("table")
        missing = ["table", *missing] if table is None else missing
    if missing:
        named = " and ".join("the table" if name == "table" else f"{name}=" for name in missing)
        raise InputError(
            f"the run {str(folder)!r} does not contain {named}, because only paths and plain values are stored.",
            f"pass the same {named.removeprefix('the ')} again.",
        )
    options = {name: value for name, value in stored["options"].items() if name in usual}
    options |= changed | {"budget": options.get("budget", usual["budget"]) if budget is None else budget}
    if "models" not in changed:
        check_trusted(folder, options.get("models") or ())
    for what, path in {"table": table, **{name: options.get(name) for name in FILES}}.items():
        if isinstance(path, str) and not Path(path).exists():
            raise InputError(
                f"the run {str(folder)!r} needs its {WORDS.get(what, what)}, but {path!r} does not exist.",
                "pass the new path as well." if what == "table" else f"pass the new path as {what}=.",
            )
    return table, FitConfig(**{**options, "n_jobs": given.n_jobs})


def check_trusted(folder: Path, models: str | Sequence[str]) -> None:
    """Raise if a run names estimators beyond Foldwise and scikit-learn: a file must not decide what is imported."""
    names = models.split(",") if isinstance(models, str) else models
    foreign = [name for name in names if "." in name and not name.strip().startswith("sklearn.")]
    if foreign:
        raise InputError(
            f"the run {str(folder)!r} names the estimator {foreign[0]!r}, which is not imported unless you ask for it.",
            "if you trust the folder, pass models= with the same names again.",
        )


def is_usual(value: Any, default: Any) -> bool:
    """Whether an option has its default, so that it may have been left out."""
    return value is default or (isinstance(value, PLAIN) and isinstance(default, PLAIN) and value == default)


def refuse_other(folder: Path, differences: Sequence[str]) -> NoReturn:
    """Refuse to resume a run with another table or other options."""
    raise InputError(
        f"the run {str(folder)!r} can be resumed only with the same table and options. These differ: "
        f"{', '.join(differences)}.",
        "pass the same table and options, or start a new run. Nothing was changed.",
    )
