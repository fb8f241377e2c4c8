"""`find_outliers`: which rows of a table do not look like the others, and which cells make them unusual."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import false_discovery_control

from foldwise.arrays import Floats
from foldwise.data.arguments import above_zero, check_jobs, one_of, whole_at_least
from foldwise.data.frames import as_polars, library_of, pandas_index
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.folds.progress import Progress
from foldwise.summaries.passes import n_threads
from foldwise.unsupervised.encoded_rows import learn_encoder, left_out_words
from foldwise.unsupervised.outliers.models import METHODS, OutlierModel, OutlierOptions, fit_outlier_model
from foldwise.unsupervised.outliers.reasons import ReasonFinder
from foldwise.unsupervised.outliers.result import Outlier, Outliers
from foldwise.unsupervised.outliers.tails import FEWEST

MOST_EXPLAINED = 1000
MOST_TRAINING = 2000  # reference rows that the model is fitted to; all others calibrate it
FEWEST_REFERENCE = 10
MODEL_WORDS = (
    "Rows are judged by approximate p-values, from a generalized Pareto distribution fitted to the highest outlier "
    "scores."
)
GUARANTEE_WORDS = (
    "P-values are conformal: on average at most {alpha:.3g} of the flagged rows are false alarms, provided that the "
    "reference rows are normal and come from the same source."
)


def find_outliers(
    table: Any,
    reference: Any = None,
    *,
    method: str = "combined",
    alpha: float = 0.05,
    distance: str = "gower",
    n_neighbors: int = 10,
    max_rows: int = 20_000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Outliers:
    """Find the rows that do not look like the others, and the cells that make them outliers.

    "No outliers" is a possible answer. Columns may be numbers, categories or dates, with missing cells. Identifiers,
    free text and constant columns are left out and named.

    Parameters
    ----------
    table : frame, array or Table
        The rows. The target of a `Table` is not used.
    reference : frame, array or Table, optional
        Rows known to be normal, with the same columns. With them, p-values are valid for any distribution (conformal);
        otherwise they come from a model of the tail of the scores.
    method : {"combined", "cells", "neighbors", "forest"}, default "combined"
        "cells" asks how unusual each cell is within its column and given the other columns. "neighbors" is the
        distance to the k-th nearest row. "forest" is scikit-learn's isolation forest. "combined" uses all three.
    alpha : float, default 0.05
        Level of the Benjamini-Hochberg correction. In a table without outliers, it is the probability
        that any row is flagged.
    distance : {"gower", "heom"}, default "gower"
        Distance between rows, for "neighbors".
    n_neighbors : int, default 10
        The k of "neighbors".
    max_rows : int, default 20000
        Rows that "neighbors" compares each row with. In larger tables they are drawn at random.
    random_state : int, default 0
        Seed of the forest, of the split into halves for held-out scores, and of random draws.
    n_jobs : int, optional
        Number of threads. None uses all cores.

    Returns
    -------
    Outliers
        P-values of all rows, and the outliers with their cells.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import find_outliers
    >>> X = np.random.default_rng(0).normal(170, 10, size=(300, 3))
    >>> find_outliers(X).rows.tolist()
    []
    >>> X[17, 1] *= 10  # a decimal point was lost
    >>> [(one.row, one.cells[0].column) for one in find_outliers(X)]
    [(17, 'x1')]

    Notes
    -----
    Each score of a row is computed without the row itself. Without a reference, its p-value is that of a generalized
    Pareto distribution fitted to the upper tail of all scores. The highest tenth of the tail is censored, so outliers
    do not hide themselves, and shape and scale are integrated out. P-values of methods, columns and tests are
    combined by Bonferroni's correction, with 70% of the level for "cells".

    With a reference, the model is fitted to half of the reference rows (at most 2,000). The p-value of a row is
    (1 + number of other reference rows at least as unusual) / (1 + number of other reference rows), whatever the
    distribution of the rows (Bates et al. 2023).

    References
    ----------
    Bates, Candès, Lei, Romano & Sesia (2023), Testing for outliers with conformal p-values, Annals of Statistics 51.
    Liu, Ting & Zhou (2008), Isolation forest, ICDM.
    """
    one_of("method", method, ("combined", *METHODS))
    one_of("distance", distance, ("gower", "heom"))
    check_jobs(n_jobs)
    if not above_zero("alpha", alpha) < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha!r}.", "0.05 is usual.")
    options = OutlierOptions(
        METHODS if method == "combined" else (method,),
        distance,
        whole_at_least("n_neighbors", n_neighbors, 1),
        whole_at_least("max_rows", max_rows, 2),
        whole_at_least("random_state", random_state, 0),
        n_threads(n_jobs),
    )
    frame = as_polars(table)
    found = unusual_rows(frame, options, alpha) if reference is None else new_outliers(frame, reference, options, alpha)
    return replace(found, library=library_of(table), index=pandas_index(table))


def unusual_rows(frame: pl.DataFrame, options: OutlierOptions, alpha: float) -> Outliers:
    """Find outliers among the rows of one table, by the tail of their own scores."""
    if frame.height < 3:
        raise InputError(
            f"the table must have at least 3 rows, got {frame.height}.", "each row is compared with all others."
        )
    encoder = learn_encoder(frame)
    rows = encoder.encode(frame)
    with Progress("methods") as progress:
        model, evidence = fit_outlier_model(rows, options, False, progress)
    finder = ReasonFinder(frame, encoder, rows, rows, model, evidence)
    notes = (MODEL_WORDS, *tail_notes(model, rows.n_rows))
    return outliers_of(finder, np.minimum(1.0, evidence.combined), alpha, False, notes)


def new_outliers(frame: pl.DataFrame, reference: Any, options: OutlierOptions, alpha: float) -> Outliers:
    """Find outliers by conformal p-values: half of the reference rows train the model, the others calibrate it."""
    normal = as_polars(reference)
    absent = [name for name in frame.columns if name not in normal.columns]
    if absent:
        raise InputError(
            f"reference must have the columns of the table, but {listing(absent)} is missing.",
            "pass reference rows with the same columns.",
        )
    if normal.height < FEWEST_REFERENCE:
        raise InputError(
            f"reference must have at least {FEWEST_REFERENCE} rows, got {normal.height:,}.",
            "pass more rows that are known to be normal, or none.",
        )
    normal = normal.select(frame.columns)
    # kinds of columns are found in all rows together, which treats reference rows and new rows alike
    encoder = learn_encoder(pl.concat([normal, frame], how="vertical_relaxed"))
    shuffled = np.random.default_rng(options.seed).permutation(normal.height)
    n_training = min(normal.height // 2, MOST_TRAINING)
    encoded, rows = encoder.encode(normal), encoder.encode(frame)
    training = encoded.take(shuffled[:n_training])
    with Progress("methods") as progress:
        model, _ = fit_outlier_model(training, options, True, progress)
    calibration = -np.log10(model.evidence(encoded.take(shuffled[n_training:])).combined)
    evidence = model.evidence(rows)
    p = conformal_p_values(-np.log10(evidence.combined), calibration)
    finder = ReasonFinder(frame, encoder, rows, training, model, evidence)
    notes = (GUARANTEE_WORDS.format(alpha=alpha), size_note(len(calibration), normal.height, frame.height, alpha))
    return outliers_of(finder, p, alpha, True, notes)


def outliers_of(finder: ReasonFinder, p: Floats, alpha: float, guaranteed: bool, notes: tuple[str, ...]) -> Outliers:
    """Flag rows by their p-values, and explain those that are flagged."""
    q, scores = false_discovery_control(p, method="bh"), -np.log10(finder.evidence.combined)
    left_out = finder.encoder.left_out
    said = tuple(filter(None, (*notes, left_out_words(left_out))))
    found = explained(finder, p, q, scores, alpha)
    return Outliers(p, q, scores, finder.evidence.p_values, alpha, guaranteed, found, said, left_out)


def conformal_p_values(scores: Floats, calibration: Floats) -> Floats:
    """Compute (1 + number of calibration scores at least as large) / (1 + number of calibration scores)."""
    m = len(calibration)
    larger = m - np.searchsorted(np.sort(calibration), scores, side="left")
    return np.asarray((1.0 + larger) / (m + 1.0))


def size_note(m: int, n_reference: int, n_rows: int, alpha: float) -> str:
    """Say if the reference is too small to flag a single row; empty if it is not."""
    fewest = math.ceil(n_rows / (alpha * (m + 1)) - 1e-9)
    if fewest <= 1:
        return ""
    needed = math.ceil(n_rows / alpha - 1)
    needed += min(needed, MOST_TRAINING)
    return (
        f"The reference of {n_reference:,} rows is too small to flag a single row: no p-value is below 1/{m + 1:,}, so "
        f"outliers are found only if at least {fewest:,} of the {n_rows:,} rows are extreme. Pass about {needed:,} "
        "reference rows, or test fewer rows."
    )


def tail_notes(model: OutlierModel, n_rows: int) -> list[str]:
    """Say where no tail could be fitted, so that p-values are ranks."""
    if n_rows < FEWEST:
        return [f"At least {FEWEST} rows are needed to flag a row. The p-values of fewer rows only rank them."]
    tails = {"neighbors": model.neighbor_tail, "forest": model.forest_tail}
    if model.cells is not None:
        fitted = [tail for tails in model.cells.tails for tail in tails] + list(model.cells.category_tails)
        tails["cells"] = next((tail for tail in fitted if tail.excesses is not None), None)
        if tails["cells"] is None:
            return ["All columns have few different values. P-values of cells are only ranks and cannot flag a row."]
    ranks = [name for name, tail in tails.items() if tail is not None and tail.excesses is None]
    return (
        [f"The scores of {listing(ranks)} have few different values, so their p-values are only ranks."]
        if ranks
        else []
    )


def explained(finder: ReasonFinder, p: Floats, q: Floats, scores: Floats, alpha: float) -> tuple[Outlier, ...]:
    """List the outliers, the most unusual one first, with their cells."""
    flagged = np.flatnonzero(q <= alpha)
    flagged = flagged[np.argsort(-scores[flagged], kind="stable")]
    return tuple(
        Outlier(int(i), float(p[i]), float(q[i]), finder.cells_of(int(i)) if rank < MOST_EXPLAINED else ())
        for rank, i in enumerate(flagged)
    )
