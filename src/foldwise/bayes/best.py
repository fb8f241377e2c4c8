"""`families="best"`: chooses the family of each numeric column by cross-validation within the training rows.

First, each column is evaluated alone, by the log-likelihood of the classes given this column under each candidate.
(Densities of the column cannot be compared, because bins have none.) Then all columns are evaluated together: the
mixture must beat each single family for all columns, because naive Bayes counts redundant columns twice, which hurts
sharp families more. A gain over gaussian within one standard error over the folds does not count. Only training rows
are used, so cross-validation around `fit` stays honest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone

from foldwise.arrays import Floats
from foldwise.bayes.assignment import BEST, wanted_families
from foldwise.bayes.session import NaiveBayesSession
from foldwise.data.encoded import EncodedView
from foldwise.data.schema import Column
from foldwise.data.target import Target
from foldwise.evaluation.metrics.probabilities import log_losses_of_logs
from foldwise.folds.engine import EvaluationTask, ScoringPlan, evaluate
from foldwise.folds.protocol import Answer, Need, Params
from foldwise.folds.splits import Split
from foldwise.summaries.passes import n_threads

CANDIDATES = ("gaussian", "kde", "binned")  # families that support any number; the first wins ties
FOLDS = 5
MOST_ROWS = 20_000  # used for the choice; more rows take time and hardly ever change it


class LogLikelihood:
    """Minus the weighted sum of the log losses of the test rows."""

    need = Need.PROBA

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Floats:
        log_p = answer.log_probabilities()
        assert log_p is not None
        truth = session.target.codes[split.test]
        rows = -log_losses_of_logs(np.take_along_axis(log_p, truth[None, :, None], axis=2)[:, :, 0])
        weights = session.fit_params.get("sample_weight")
        return np.asarray(rows.sum(axis=1) if weights is None else rows @ np.asarray(weights)[split.test])


def choose_families(estimator: Any, X: Any, columns: Sequence[Column], target: Target, weights: Floats | None) -> Any:
    """Choose the families of the columns that are "best"; the others keep theirs. Returns families by column name."""
    wanted = dict(zip((column.name for column in columns), wanted_families(columns, estimator.families), strict=True))
    names = [column.name for column in columns if wanted[column.name] == BEST and column.kind == "numeric"]
    fixed = {name: "auto" if family == BEST else family for name, family in wanted.items()}
    if not names:
        return fixed
    fit_params = {} if weights is None else {"sample_weight": weights}
    plain = clone(estimator).set_params(families=fixed, columns=None)
    session: Any = NaiveBayesSession(plain, X, target.classes[target.codes], fit_params)
    wholes = [{**fixed, **dict.fromkeys(names, family)} for family in CANDIDATES]
    splits = deal_folds(contents(session.settings.table(wholes[0]).view), target.codes, weights)
    if not splits:
        return fixed

    def likelihoods(settings: list[Params]) -> Floats:  # (settings, folds)
        question, work = EvaluationTask(settings, splits), ScoringPlan({"likelihood": LogLikelihood()})
        return evaluate(session, [question], work, n_jobs=n_threads(estimator.n_jobs))[0].scores["likelihood"]

    alone = likelihoods([{"families": one, "columns": [name]} for name in names for one in wholes])
    by_column = alone.reshape(len(names), len(CANDIDATES), len(splits))
    mixed = {**fixed, **{name: CANDIDATES[clear_winner(own)] for name, own in zip(names, by_column, strict=True)}}
    if mixed not in wholes:
        wholes.append(mixed)
    together = likelihoods([{"families": one, "columns": estimator.columns} for one in wholes])
    return wholes[clear_winner(together)]


def clear_winner(scores: Floats) -> int:  # (candidates, folds)
    """Find the best candidate whose gain over the first exceeds its standard error; 0 if there is none."""
    gains = scores - scores[:1]
    total = np.nan_to_num(gains.sum(axis=1), nan=-np.inf)  # a candidate that fails in a fold is excluded
    if np.isnan(scores[0]).any():
        return 0
    noise = np.sqrt(gains.shape[1]) * np.nan_to_num(gains.std(axis=1, ddof=1))  # of the sum over folds
    return int(np.argmax(np.where(total > noise, total, 0.0)))


def contents(table: EncodedView) -> Floats:  # (n, d)
    """Convert all columns to numbers; categories and texts to their ranks."""
    codes = [column.coded for column in table.coded_columns.values()]
    texts = [column.texts(0, table.n_rows) for column in table.text_columns.values()]
    ranks = [text.rank("dense").cast(pl.Float64).fill_null(np.nan).to_numpy() for text in texts]
    return np.column_stack([table.number_table, *codes, *ranks])


def deal_folds(cells: Floats, codes: NDArray[np.int64], weights: Floats | None) -> tuple[Split, ...]:
    """Make stratified folds from the contents of rows, so that they do not depend on the order of rows.

    Rows of weight 0 are in no fold. A row of weight 2 is in one fold: as two rows, it could be in both training and
    test data. With too few rows, no folds are made.
    """
    order = scrambled(np.column_stack([cells, codes, np.ones(len(codes)) if weights is None else weights]))
    rows = np.arange(len(codes)) if weights is None else np.flatnonzero(weights > 0)
    rows = rows[np.argsort(order[rows], kind="stable")][:MOST_ROWS]
    if len(rows) < 2 * FOLDS:
        return ()
    rows = rows[np.argsort(codes[rows], kind="stable")]
    fold = np.empty(len(codes), dtype=np.int64)
    fold[rows] = np.arange(len(rows)) % FOLDS
    rows = np.sort(rows)
    return tuple(Split(rows[fold[rows] != k], rows[fold[rows] == k]) for k in range(FOLDS))


def scrambled(cells: Floats) -> NDArray[np.uint64]:  # (n, d) -> (n,)
    """Hash each row to a pseudo-random number (splitmix64 over the bits of its values)."""
    state = np.zeros(len(cells), dtype=np.uint64)
    for column in cells.T:
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)  # all NaN and both zeros are alike
        state = (state ^ bits) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state
