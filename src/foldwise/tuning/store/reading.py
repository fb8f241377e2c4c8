"""`open_search`: read a search from its store, also while it is running."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.tuning.store import statements
from foldwise.tuning.store.connection import TrialStore


@dataclass(frozen=True)
class StoredTrial:
    """A setting of a stored search.

    Attributes
    ----------
    number : int
        Number of the trial, from 0.
    setting : dict
        The setting. A value that JSON does not have is shown by its position in the space.
    state : {"waiting", "running", "finished", "failed"}
        Waiting if no split was begun, finished if all that were begun are scored.
    scores : dict
        The scores of the splits by metric; NaN where there is none yet.
    seconds : float
        Time of its fits and predictions.
    """

    number: int
    setting: dict[str, Any]
    state: str
    scores: dict[str, list[float]]
    seconds: float


@dataclass(frozen=True)
class StoredSearch:
    """A search as it stands in its store, as read by `open_search`.

    Attributes
    ----------
    name : str
        Name of the search.
    training_rows : str
        Digest of its training rows.
    description : dict
        Estimator, metrics, strategy and number of splits.
    trials : list of StoredTrial
        All trials so far.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, SearchCV
    >>> from foldwise.tuning.store import open_search
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/trials.sqlite"
    ...     search = SearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=5, store=file, name="iris")
    ...     _ = search.fit(*load_iris(return_X_y=True))
    ...     open_search(file, "iris").to_frame()["state"].to_list()
    ['finished', 'finished']
    """

    name: str
    training_rows: str
    description: dict[str, Any]
    trials: list[StoredTrial]

    @property
    def best(self) -> StoredTrial | None:
        """The trial with the highest mean score of those scored on all splits; None if there is none."""
        metric = self.description["metric"]
        done = [one for one in self.trials if np.isfinite(one.scores[metric]).all()]
        return max(done, key=lambda one: float(np.mean(one.scores[metric])), default=None)

    def to_frame(self) -> pl.DataFrame:
        """Return one row per trial: number, state, parameters, mean score and seconds.

        Returns
        -------
        polars.DataFrame
            The trials. A parameter that a setting does not have is null.
        """
        names = list(dict.fromkeys(name for one in self.trials for name in one.setting))
        metrics = self.description["metrics"]
        columns: dict[str, list[Any]] = {
            "number": [one.number for one in self.trials],
            "state": [one.state for one in self.trials],
            **{name: [shown(one.setting.get(name)) for one in self.trials] for name in names},
            **{f"mean_{m}": [mean_of(one.scores.get(m, [])) for one in self.trials] for m in metrics},
            "seconds": [one.seconds for one in self.trials],
        }
        return pl.DataFrame(columns, strict=False)


def open_search(store: str | Path | TrialStore, name: str, training_rows: str | None = None) -> StoredSearch:
    """Read a search from its store, even while it is running.

    Parameters
    ----------
    store : path, str or TrialStore
        The store: a file or the URL of a database.
    name : str
        Name of the search.
    training_rows : str, default None
        Digest of the training rows, if several searches have this name: `TrialStore(store).studies()` lists them.

    Returns
    -------
    StoredSearch
        The trials so far.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import NaiveBayes, SearchCV
    >>> from foldwise.tuning.store import open_search
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/trials.sqlite"
    ...     search = SearchCV(NaiveBayes(), {"var_floor": [1e-9, 0.1]}, cv=5, store=file, name="iris")
    ...     _ = search.fit(*load_iris(return_X_y=True))
    ...     round(open_search(file, "iris").best.scores["score"][0], 3)
    0.933
    """
    opened = store if isinstance(store, TrialStore) else TrialStore(existing(store))
    with opened.begin() as transaction:
        of_name = transaction.run(statements.STUDIES_OF_NAME, {"of_name": name}).all
        found = [row for row in of_name if training_rows in (None, row.training_rows)]
        if not found:
            known = sorted({str(one.name) for one in transaction.run(statements.STUDIES).all})
            raise InputError(
                f"the store {opened.name} has no search {name!r}" + (" with these rows." if training_rows else "."),
                f"its searches: {listing(known) or 'none'}.",
            )
        if len(found) > 1:
            raise InputError(
                f"{len(found)} searches with different training rows are called {name!r}.",
                f"pass training_rows=, one of {listing([row.training_rows for row in found])}.",
            )
        study = found[0]
        batches = transaction.run(statements.ALL_PROPOSALS, {"of_study": study.id}).all
        # scores of a later stage of a race replace those of fewer rows
        parts = transaction.run(statements.ALL_BLOCKS, {"of_study": study.id}).all
    description = json.loads(study.description)
    return StoredSearch(name, study.training_rows, description, trials_of(batches, parts, description))


def existing(store: str | Path) -> str | Path:
    """The location of a store that is there: reading must not create one."""
    if "://" not in str(store) and not Path(store).exists():
        raise InputError(f"the store {store} does not exist.", "check the path.")
    return store


def trials_of(batches: Sequence[Any], parts: Sequence[Any], description: dict[str, Any]) -> list[StoredTrial]:
    """The trials, with what blocks say about them."""
    settings = {
        batch.first_trial + i: setting for batch in batches for i, setting in enumerate(json.loads(batch.settings))
    }
    states: dict[int, list[str]] = {number: [] for number in settings}
    scores = {
        number: {name: [math.nan] * description["n_splits"] for name in description["metrics"]} for number in settings
    }
    seconds = dict.fromkeys(settings, 0.0)
    for part in parts:
        members = json.loads(part.trials)
        result = json.loads(part.result) if part.state == "done" else None
        failed = {i for i, *_ in result["failed"]} if result else set()
        for i, number in enumerate(members):
            states[number].append("failed" if i in failed else part.state)
            if result is None:
                continue
            seconds[number] += result["seconds"] / len(members)
            split = slice(None) if part.split < 0 else slice(part.split, part.split + 1)
            for name, values in result["scores"].items():
                scores[number][name][split] = values[i]
    return [
        StoredTrial(number, settings[number], state_of(states[number]), scores[number], seconds[number])
        for number in sorted(settings)
    ]


def state_of(states: list[str]) -> str:
    """The state of a trial by those of its blocks."""
    if "failed" in states:
        return "failed"
    if states and all(one == "done" for one in states):
        return "finished"
    return "running" if any(one != "waiting" for one in states) else "waiting"


def mean_of(values: list[float]) -> float | None:
    """The mean of the scores that are known."""
    known = [one for one in values if not math.isnan(one)]
    return float(np.mean(known)) if known else None


def shown(value: Any) -> Any:
    """A value as a cell of a frame."""
    return value if value is None or isinstance(value, str | bool | int | float) else json.dumps(value)
