"""Why a model says what it says of a row: what each column adds to the log-odds, and the worked table of naive Bayes.

Shapley values over rows of a background: the contribution of a column is how much the log-odds change when its cell is
put into a background row, averaged over background rows and over the orders in which cells are put in. Contributions of
a row sum to its log-odds less the mean log-odds of the background, exactly, however few orders are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from foldwise.bayes import NaiveBayes
from foldwise.bayes.explanation import Explanation
from foldwise.data.frames import as_polars
from foldwise.data.schema import listing
from foldwise.decisions import Calibrated, CostSensitive
from foldwise.ensembles import Ensemble
from foldwise.errors import InputError
from foldwise.evaluation.cost import find
from foldwise.storage import StoredModel
from foldwise.storage.checking import fitted_to

Floats = NDArray[np.float64]

LEAST = 1e-6  # probabilities are held between this and 1 less this, so log-odds within ±13.8: 0 is no finite evidence
ASKED = 60_000  # rows that the model is asked about for each explained row, where nobody says how many orders to draw
BATCH_ROWS = 20_000
BATCH_CELLS = 4_000_000


@dataclass(frozen=True)
class Contributions:
    """What each column of one row adds to the log-odds of one class against all others; `base` is the background's."""

    about: Any
    columns: tuple[str, ...]
    cells: tuple[Any, ...]
    values: Floats  # (columns,)
    errors: Floats  # (columns,), standard errors of drawing orders
    base: float
    total: float
    proba: Floats  # (classes,)
    classes: tuple[Any, ...]
    n_background: int
    n_orders: int


def explain(
    model: Any, rows: Any, background: Any, about: Any = None, n_samples: int | None = None, seed: int = 0
) -> list[Contributions]:
    """What each column adds to the log-odds of a class, for each of some rows.

    Parameters
    ----------
    model : a fitted classifier with `predict_proba`, or a `StoredModel`
    rows : the rows to explain
    background : training rows, or some of them: what "on average" means
    about : the class; by default the likeliest class of each row
    n_samples : how many orders of columns are drawn for each row, rounded up to the same number for every background
        row; by default as many as make the model answer about 60,000 rows
    seed : of the orders

    Notes
    -----
    Every background row is used equally often, each time with a random order and with its reverse (Castro and others
    2009; Mitchell and others 2022). Log-odds are log p / (1 - p), with p held within [1e-6, 1 - 1e-6]. Standard errors
    are of the orders drawn alone: the background is taken as given. Where one pair of orders a background row is
    too much for the default, as many background rows are drawn as are not.

    >>> from foldwise import NaiveBayes, read_table
    >>> table = read_table("examples/weather.csv", target="play")
    >>> model = NaiveBayes().fit(table.X, table.y)
    >>> [found] = explain(model, table.X[:1], table.X, about="yes")
    >>> bool(abs(found.base + found.values.sum() - found.total) < 1e-9)
    True
    """
    classes = tuple(np.asarray(model.classes_).tolist())
    if len(classes) < 2:
        raise InputError("a model of one class says nothing that could be explained.")
    chosen = None if about is None else place_of(about, classes)
    rows, background, as_array = prepared(model, rows, background)
    asked = Asking(model, as_array)
    reference = asked.log_odds(background)
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows.height):
        row = rows[i : i + 1]
        proba = asked.proba(row)[0]
        place = int(proba.argmax()) if chosen is None else chosen
        n_pairs, used = pairs_of(n_samples, background.height, rows.width, rng)
        values, errors = shapley(asked, row, background[used], reference[used][:, place], place, n_pairs, rng)
        base = float(reference[used, place].mean())
        total = float(log_odds_of(proba[None])[0, place])
        cells = tuple(row.row(0))
        found.append(
            Contributions(
                *(classes[place], tuple(rows.columns), cells, values, errors, base, total, proba, classes),
                *(len(used), 2 * n_pairs * len(used)),
            )
        )
    return found


def place_of(about: Any, classes: Sequence[Any]) -> int:
    """The place of a class, which may be given as text."""
    place = find(about, classes)
    if place is None:
        raise InputError(f"the model knows no class {about!r}.", f"its classes are {listing(classes)}.")
    return place


def prepared(model: Any, rows: Any, background: Any) -> tuple[pl.DataFrame, pl.DataFrame, bool]:
    """Rows and background as frames of the same columns and types, and whether the model wants arrays."""
    as_array = not isinstance(model, StoredModel) and isinstance(rows, np.ndarray)
    if isinstance(model, StoredModel):
        rows, background = fitted_to(rows, model.kinds).X, fitted_to(background, model.kinds).X
    rows, background = as_polars(rows), as_polars(background)
    if not background.height or not rows.height:
        raise InputError("there are no rows to explain, or none to compare with.", "pass one of each at least.")
    lost = [name for name in rows.columns if name not in background.columns]
    if lost:
        raise InputError(f"the background lacks the column {listing(lost)}.", "pass rows of the training table.")
    background = background.select(rows.columns)
    kept = [one for one in rows if one.dtype != background[one.name].dtype]
    if kept:
        try:
            rows = rows.with_columns(one.cast(background[one.name].dtype) for one in kept)
        except pl.exceptions.PolarsError:  # an unknown level, or 2.5 among whole numbers: a wider type holds both
            wide = {one.name: pl.Float64 if one.dtype.is_numeric() else pl.String for one in kept}
            rows, background = rows.cast(wide), background.cast(wide)
    return rows, background, as_array


def pairs_of(n_samples: int | None, n_background: int, n_columns: int, rng: np.random.Generator) -> tuple[int, Any]:
    """How many pairs of orders each background row gets, and which of these rows are used."""
    used = np.arange(n_background)
    if n_samples is None:
        pairs = ASKED // (2 * max(1, n_columns - 1))
        if pairs < n_background:
            used = np.sort(rng.choice(n_background, max(pairs // 2, min(5, n_background)), replace=False))
        return max(2, pairs // len(used)), used
    if n_samples < 1:
        raise InputError(f"n_samples must be 1 or more, got {n_samples}.")
    return max(1, -(-n_samples // (2 * n_background))), used


@dataclass(frozen=True)
class Asking:
    """A model that is asked about many rows, a batch at a time."""

    model: Any
    as_array: bool

    def proba(self, frame: pl.DataFrame) -> Floats:
        return np.asarray(self.model.predict_proba(frame.to_numpy() if self.as_array else frame), dtype=np.float64)

    def log_odds(self, frame: pl.DataFrame) -> Floats:  # (rows, classes)
        return log_odds_of(self.proba(frame))


def log_odds_of(proba: Floats) -> Floats:
    """log p / (1 - p) of each class against all others, within the bounds of `LEAST`."""
    odds = np.empty_like(proba)
    for k in range(proba.shape[1]):
        others = np.delete(proba, k, axis=1).sum(axis=1)  # 1 - p would cancel
        inside, outside = np.clip(proba[:, k], LEAST, 1 - LEAST), np.clip(others, LEAST, 1 - LEAST)
        odds[:, k] = np.log(inside) - np.log(outside)
    return odds


def shapley(
    asked: Asking, row: pl.DataFrame, background: pl.DataFrame, start: Floats, place: int, n_pairs: int, rng: Any
) -> tuple[Floats, Floats]:
    """Contributions and their standard errors; `start` are the log-odds of the background rows."""
    n, d = background.height, row.width
    both = pl.concat([background, row])
    differs = np.column_stack([one[:n].ne_missing(one[n]).to_numpy() for one in both])  # an equal cell changes nothing
    finish = float(asked.log_odds(row)[0, place])
    sums, squares = np.zeros((n, d)), np.zeros((n, d))
    a_batch = max(1, min(BATCH_ROWS, BATCH_CELLS // d) // (2 * max(1, d - 1)))
    places = np.repeat(np.arange(n), n_pairs)
    for first in range(0, len(places), a_batch):
        chosen = places[first : first + a_batch]
        orders = np.argsort(rng.random((len(chosen), d)), axis=1)
        gains = 0.5 * (
            walked(asked, both, differs[chosen], chosen, orders, start[chosen], finish, place)
            + walked(asked, both, differs[chosen], chosen, orders[:, ::-1], start[chosen], finish, place)
        )
        np.add.at(sums, chosen, gains)
        np.add.at(squares, chosen, gains**2)
    means = sums / n_pairs
    values = np.asarray(means.mean(axis=0))
    if n_pairs > 1:  # the spread of orders beside one background row
        spread = np.maximum(squares - n_pairs * means**2, 0.0) / (n_pairs - 1)
        errors = np.sqrt(spread.sum(axis=0) / n_pairs) / n
    else:  # the spread of background rows is in it too: an error that is rather too large
        errors = np.sqrt(means.var(axis=0, ddof=1) / n) if n > 1 else np.full(d, np.nan)
    # rounding: the telescope is exact row by row, so all that is left over is of the order of 1e-15
    return values, np.asarray(errors)


def walked(
    asked: Asking,
    both: pl.DataFrame,
    differs: NDArray[np.bool_],  # (walks, columns)
    chosen: NDArray[np.intp],  # (walks,), the background rows
    orders: NDArray[np.intp],  # (walks, columns)
    start: Floats,
    finish: float,
    place: int,
) -> Floats:  # (walks, columns)
    """By how much the log-odds change at each column, when cells of the row are put in one after the other."""
    n_walks, d = orders.shape
    steps = np.empty((n_walks, d + 1))
    steps[:, 0] = start
    if d > 1:
        rank = np.argsort(orders, axis=1)  # when each column is put in
        changed = np.take_along_axis(differs, orders, axis=1)
        left = changed.sum(axis=1)
        done = np.cumsum(changed, axis=1)
        new = changed & (done < left[:, None])  # neither as the one before, nor yet the row itself
        walk, step = np.nonzero(new)
        last = both.height - 1
        answers = np.empty(0)
        if len(walk):
            put_in = rank[walk] <= step[:, None]
            source = np.where(put_in, last, chosen[walk][:, None])
            frame = pl.DataFrame([both[:, j].gather(source[:, j]) for j in range(d)])
            answers = asked.log_odds(frame)[:, place]
        steps[:, 1:] = np.nan
        steps[walk, step + 1] = answers
        finished = changed & (done == left[:, None])
        where, when = np.nonzero(finished)
        steps[where, when + 1] = finish
        for k in range(1, d + 1):
            steps[:, k] = np.where(np.isnan(steps[:, k]), steps[:, k - 1], steps[:, k])
    else:
        steps[:, 1] = finish
    gains = np.empty((n_walks, d))
    np.put_along_axis(gains, orders, np.diff(steps, axis=1), axis=1)
    return gains


@dataclass(frozen=True)
class Worked:
    """The worked table of naive Bayes for one row, and what the whole model makes of it."""

    explanation: Explanation
    classes: tuple[Any, ...]
    proba: Floats  # (classes,), of the whole model

    @property
    def changed(self) -> bool:
        """Whether calibration gives other probabilities than naive Bayes itself."""
        return not np.allclose(self.proba, self.explanation.proba, rtol=0, atol=1e-9)


def worked(model: Any, rows: Any) -> list[Worked] | None:
    """The worked tables, where the model is naive Bayes: alone, in a pipeline, calibrated, deciding by cost."""
    proba = np.asarray(model.predict_proba(rows), dtype=np.float64)
    classes = tuple(np.asarray(model.classes_).tolist())
    if isinstance(model, StoredModel):
        inner, frame = unwrapped(model.model), fitted_to(rows, model.kinds).X
    else:
        inner, frame = unwrapped(model), rows
    bayes = inner
    if hasattr(inner, "steps"):
        bayes = inner.steps[-1][1]
        frame = inner[:-1].transform(frame)
    if not isinstance(bayes, NaiveBayes) or len(bayes.classes_) != len(classes):
        return None
    # members of a run know classes as codes, in the order of its classes
    named = [replace(one, classes=classes) for one in bayes.explain(frame)]
    return [Worked(one, classes, said) for one, said in zip(named, proba, strict=True)]


def unwrapped(model: Any) -> Any:
    """The one model inside wrappers, and inside ensembles and blends of one member."""
    while True:
        if isinstance(model, Calibrated | CostSensitive):
            model = model.estimator_
            continue
        members = getattr(model, "members_" if isinstance(model, Ensemble) else "members", None)
        if not isinstance(members, list | tuple) or len(members) != 1:
            return model
        model = members[0]
