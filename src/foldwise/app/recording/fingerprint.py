"""What must be the same when a run is resumed: rows, target, splits, options and library versions.

Each part is a digest to compare, and words for the sentence that names a difference. Budget and number of workers are
not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foldwise.app.setup import RunSetup
from foldwise.app.task import FitTask
from foldwise.errors import InputError
from foldwise.storage.model_file import versions
from foldwise.tuning.store.digests import described, digest_of, digest_of_rows, digest_of_splits

Parts = Mapping[str, tuple[str, str]]  # by name: digest and words

ROWS, SPLITS = "training rows", "splits"
ENTAILED = (SPLITS, "pipelines")  # differ also where rows or options do, which says more


def fingerprint(setup: RunSetup) -> dict[str, tuple[str, str]]:
    """Describe a run by what must not change."""
    task, config = setup.task, setup.config
    named = task.named or {}
    texts = {
        "target": repr(task.table.target),
        "task": task.outline.task,
        "metric": setup.metric.name,
        "seed": str(config.seed),
        "groups": repr(named.get("groups")),
        "time": repr(named.get("time")),
        "weights": repr(named.get("weights")),
        "positive class": repr(None if task.positive is None else task.classes[task.positive].item()),
        "models": ", ".join(setup.specs),
        "rows in the report": "yes" if config.rows else "no",
        **{f"version of {name}": number for name, number in versions().items() if name != "python"},
    }
    digests = {
        ROWS: (digest_of_training(task), shape_of(task.table.X)),
        "test rows": (digest_of_test(task), "no test table" if task.test is None else shape_of(task.test.X)),
        "costs": (digest_of(described(costs_of(task))), "none" if task.costs is None else "a cost matrix"),
        "pipelines": (digest_of(described(dict(setup.pipelines))), ""),
        SPLITS: (digest_of_splits(setup.splits), setup.splitter),
    }
    return {**digests, **{name: (digest_of(text), text) for name, text in texts.items()}}


def digest_of_training(task: FitTask) -> str:
    """A digest of the rows that models learn from, with everything that splits depend on."""
    more = {"weights": task.weights, "moments": task.moments}
    labels = task.y if task.is_quantity else task.classes[task.y]
    return digest_of_rows(task.table.X, labels, {k: v for k, v in more.items() if v is not None}, task.groups)


def digest_of_test(task: FitTask) -> str:
    if task.test is None:
        return digest_of("none")
    weights = {} if task.test.weights is None else {"weights": task.test.weights}
    return digest_of_rows(task.test.X, task.test.y, weights)


def costs_of(task: FitTask) -> dict[str, Any]:
    if task.costs is None:
        return {}
    return {"actions": [str(one) for one in task.costs.actions], "costs": task.costs.costs_of(task.classes).tolist()}


def shape_of(frame: Any) -> str:
    return f"{frame.height:,} rows and {frame.width:,} columns"


def check_same(folder: Path, before: Parts, now: Parts) -> None:
    """Raise if a run that is resumed differs from what it was before, and name every difference."""
    names = [name for name in dict.fromkeys([*now, *before]) if before.get(name, "?")[0] != now.get(name, "?")[0]]
    if any(name not in ENTAILED for name in names):
        names = [name for name in names if name not in ENTAILED]
    if names:
        raise InputError(
            f"the run {str(folder)!r} can be resumed only with the same table and options. Different are: "
            f"{', '.join(difference(name, before, now) for name in names)}.",
            "pass the same again, or start a new run. Nothing was changed.",
        )


def difference(name: str, before: Parts, now: Parts) -> str:
    """Say how a part differs."""
    old, new = (parts[name][1] if name in parts else "none" for parts in (before, now))
    return f"{name} (other values)" if old == new else f"{name} ({old} before, {new} now)"
