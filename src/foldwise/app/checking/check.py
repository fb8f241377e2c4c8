"""`check`: compare new rows with what a model file knows about its training table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from foldwise.app.checking.new_rows import NewRows, read_new_rows
from foldwise.app.checking.result import CheckResult, RealizedScore
from foldwise.app.engine_tables import is_engine_table
from foldwise.app.file_predictions import batches_for, costs_of
from foldwise.app.headline_facts import SHOWN_METRICS, SHOWN_VALUE_METRICS
from foldwise.app.reference import PREDICTIONS, RunReference, shown_prediction
from foldwise.app.run_folder import model_of_run
from foldwise.arrays import Floats
from foldwise.data.frames import as_polars
from foldwise.data.notes import Note, counted
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.evaluation.drift.expected import ExpectedScore, simulated_score
from foldwise.evaluation.drift.moving import moved_back
from foldwise.evaluation.drift.profiles import ColumnCounts
from foldwise.evaluation.drift.shifts import ColumnShift, corrected_shifts, shift_of
from foldwise.evaluation.metrics import Metric, class_metric, cost_metric, value_metric
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.evaluation.slice_scores import SliceScores
from foldwise.evaluation.slices import scored_once, slice_names, slice_scores
from foldwise.evaluation.slicing import BINS
from foldwise.storage import StoredModel
from foldwise.storage.stored_model import HoldsModel

BLOCK = 1 << 29  # bytes of a file that are read at once: twice as fast as small batches
MOVED_ROWS, MOVED_COLUMNS = 5_000, 30  # that predictions are repeated for, with one column moved back
NOTABLE_P = 0.05  # columns with a larger p-value are not moved
MANY_ROWS, ROWS_PER_VALUE = 20, 5  # with more rows for each different prediction, predictions are not compared
NORMAL = 1.959963984540054


def check(
    run: str | Path | StoredModel | HoldsModel,
    table: Any,
    labels: str | None = None,
    *,
    slices: str | Sequence[str] | None = None,
    reading: Mapping[str, Any] | None = None,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
) -> CheckResult:
    """Check how new rows differ from the training rows of a model.

    The training table is not needed: `fit` stores small summaries of its columns in the model file.

    Parameters
    ----------
    run : path, Run or StoredModel
        A run folder, a model file, the result of `fit`, or an open model.
    table : path, frame or ibis.Table
        The new rows. Large files are read in batches of half a gigabyte and may be larger than memory.
    labels : str, default=None
        The column of true classes or values, if they are known.
    slices : str or list of str, default=None
        Columns to score the rows by, such as "sex,age". They need `labels`.
    reading : mapping, default=None
        Arguments of `read_table`, such as `{"separator": ";"}`.
    seed : int, default=0
        Random seed of the sample of rows that are predicted.
    watch : callable, default=None
        Called with a few words on what is being done.

    Returns
    -------
    CheckResult
        The changes of columns, the most influential first; the score to expect on these rows; and with labels the
        actual one, compared with the estimate of the run.

    Notes
    -----
    A column has changed if its p-value, corrected over columns by Holm's method, is below 0.05 and the change is
    large enough to matter: a population stability index of 0.1, a Kolmogorov–Smirnov distance of 0.05, or 5
    percentage points more or fewer missing cells. If nothing has changed, the chance of any such column is at most 5%.
    Changed columns are ranked by how much predictions change when the column is given its training distribution again,
    on at most 5,000 rows. At most 50,000 rows are predicted, drawn at random.

    Examples
    --------
    >>> import tempfile
    >>> import foldwise
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = foldwise.fit("examples/weather.csv", target="play", budget=6, models=["naive_bayes"])
    >>> path = run.save(f"{folder.name}/run")
    >>> foldwise.check(path, "examples/weather.csv", labels="play").changed
    False
    >>> folder.cleanup()
    """
    tell = watch or (lambda words: None)
    model = model_of_run(run, by="fit or refit")
    if model.metadata.get("task") == "clusters":
        raise InputError("a model that assigns clusters cannot be checked.", "pass a folder written by fit or refit.")
    reference = RunReference.of(model)
    names = [] if slices is None else slice_names(slices)
    if names and labels is None:
        raise InputError("slices= needs labels, because scores are computed from true values.", "pass labels= too.")
    others = [*([] if labels is None else [("labels", labels)]), *(("slices", name) for name in names)]
    tell("reading")
    rows = read_new_rows(model, reference, batches_of(model, table, reading), others, seed)
    shifts = [shift_of(one) for one in rows.counts]
    tell("predicting")
    judged = judge(model, reference, rows, labels, names)
    if judged.shift is not None:  # one more test than columns
        p = min(1.0, judged.shift.p * (1 + len(shifts)))
        judged = replace(judged, shift=replace(judged.shift, p_corrected=p))
    p_values = [] if judged.worse_p is None else [judged.worse_p]
    shifts, corrected = corrected_shifts(shifts, p_values)
    realized = judged.realized
    if len(corrected) and realized:
        realized = (replace(realized[0], p_corrected=float(corrected[0])), *realized[1:])
    tell("ranking columns")
    ranked = ranked_shifts(model, reference, rows, shifts, judged.predicted, seed)
    return CheckResult(
        title=name_of(table),
        target=model.target or "",
        n_rows=rows.n_rows,
        n_predicted=0 if judged.predicted is None else rows.sample.height,
        columns=tuple(ranked),
        missing_columns=rows.missing,
        extra_columns=rows.extra,
        predictions=judged.shift,
        expected=judged.expected,
        realized=realized,
        slices=judged.slices,
        notes=tuple(note.text for note in (*rows.notes, *judged.notes)),
        unreadable_columns=rows.unreadable,
    )


def batches_of(model: StoredModel, table: Any, reading: Mapping[str, Any] | None) -> Iterable[pl.DataFrame]:
    """The rows of a file or a database in batches; a frame as a whole."""
    if isinstance(table, str | Path):
        if not Path(table).is_file():
            raise InputError(f"file {str(table)!r} does not exist.", "check the path.")
        return batches_for(model, table, BLOCK, reading, strict=False)
    return batches_for(model, table) if is_engine_table(table) else [as_polars(table)]


def name_of(table: Any) -> str:
    return Path(table).stem if isinstance(table, str | Path) else "table"


@dataclass(frozen=True)
class SamplePredictions:
    """Predictions of the sample and what follows from them; empty if the model cannot predict the table."""

    predicted: Floats | None = None
    shift: ColumnShift | None = None
    expected: tuple[ExpectedScore, ...] = ()
    realized: tuple[RealizedScore, ...] = ()
    slices: SliceScores | None = None
    notes: tuple[Note, ...] = ()
    worse_p: float | None = None


def judge(
    model: StoredModel, reference: RunReference, rows: NewRows, labels: str | None, names: Sequence[str]
) -> SamplePredictions:
    """Predict the sample, expect its scores, and compare them with the truth if there are labels."""
    if rows.missing or rows.unreadable:
        return SamplePredictions()
    predicted = predictions_of(model, rows.sample)
    positive = positive_of(model)
    shift, said = shift_of_predictions(reference, shown_prediction(predicted, positive))
    metrics = {one.metric: metric_named(one.metric, model) for one in reference.scores}
    expected = [one.expect(metrics[one.metric], predicted) for one in reference.scores]
    if reference.metric not in metrics and predicted.ndim == 2:
        metrics = {reference.metric: metric_named(reference.metric, model), **metrics}
        found = simulated_score(metrics[reference.metric], predicted, np.random.default_rng(0))
        expected = [*([] if found is None else [found]), *expected]
    judged = SamplePredictions(predicted, shift, tuple(expected), notes=said)
    if labels is None:
        return judged
    truth, known, notes = truth_of(rows.sample[labels], model, labels)
    scored = ScoredRows(truth, predicted[known], np.ones(len(truth)), np.zeros(len(truth), dtype=np.intp), None)
    by_name = {one.metric: one for one in expected}
    first = [reference.metric, *(name for name in metrics if name != reference.metric)]
    chosen = [metrics.get(name) or metric_named(name, model) for name in first]
    scores = [realize(metric, scored, by_name.get(metric.name)) for metric in chosen]
    realized = [one for one in scores if one is not None]
    p = None
    if realized and realized[0].metric == reference.metric:
        realized[0], p = promised(realized[0], model.metadata.get("estimate"))
    sliced = None
    if names:
        columns = rows.sample.select(names).filter(pl.Series(known))
        edges = {name: cuts for name, cuts in reference.edges.items() if name in names}
        usual = SHOWN_VALUE_METRICS if model.task == "regression" else SHOWN_METRICS
        others = [metric_named(name, model) for name in usual if name not in first]
        sliced = slice_scores(scored, [*chosen, *others], columns, names, positive=positive, bins=edges or BINS)
    return replace(judged, realized=tuple(realized), slices=sliced, notes=(*said, *notes), worse_p=p)


def shift_of_predictions(reference: RunReference, shown: Floats) -> tuple[ColumnShift | None, tuple[Note, ...]]:
    """Compare predictions with those of held-out rows, unless there are few different ones.

    The models of the folds predict other values than the final model. With few different values, as those of a single
    tree, even the smallest differences between them would look like a change.
    """
    n_values = len(np.unique(shown.astype(np.float32)))
    if len(shown) >= MANY_ROWS and n_values * ROWS_PER_VALUE <= len(shown):
        text = f"The model predicts only {counted(n_values, 'different value')} for these rows. "
        text += "Therefore, predictions were not compared with those of held-out training rows."
        return None, (Note("predictions", text),)
    counts = ColumnCounts(reference.predictions)
    counts.add(pl.Series(PREDICTIONS, shown))
    return shift_of(counts), ()


def predictions_of(model: StoredModel, frame: pl.DataFrame) -> Floats:
    """Probabilities of classes, or values of a quantity."""
    X = frame.select(list(model.kinds))
    return np.asarray(model.predict(X) if model.task == "regression" else model.predict_proba(X), dtype=np.float64)


def positive_of(model: StoredModel) -> int | None:
    """The index of the positive class; None if none was chosen."""
    name = model.metadata.get("positive")
    labels = [str(one) for one in model.classes_.tolist()]
    return labels.index(str(name)) if name is not None and str(name) in labels else None


def metric_named(name: str, model: StoredModel) -> Metric:
    """A metric of the run by its name."""
    if model.task == "regression":
        return value_metric(name)
    if name == "cost":
        return cost_metric(costs_of(model, None), model.classes_)
    return class_metric(name, model.classes_, positive=positive_of(model))


def truth_of(column: pl.Series, model: StoredModel, name: str) -> tuple[NDArray[Any], NDArray[np.bool_], list[Note]]:
    """The true codes or values, which rows have one, and notes on rows that were left out."""
    notes = []
    if model.task == "regression":
        values = column.cast(pl.Float64, strict=False).to_numpy()
        known = np.isfinite(values)
        truth: NDArray[Any] = np.asarray(values[known], dtype=np.float64)
    else:
        index = {str(one): k for k, one in enumerate(model.classes_.tolist())}
        texts = label_texts(column, set(index))
        codes = np.array([-1 if one is None else index.get(one, -2) for one in texts])
        known, truth = codes >= 0, codes[codes >= 0]
        unknown = sorted({str(one) for one, code in zip(texts, codes, strict=True) if code == -2})
        if unknown:
            text = f"{have(int((codes == -2).sum()))} a class that the model does not know: {listing(unknown)}."
            notes.append(Note("labels", f"{text} Such rows are left out of the scores.", name))
    if not len(truth):
        kind, words = "values", "a number"
        if model.task != "regression":
            kind, words = "classes", f"one of {listing(model.classes_.tolist())}"
        raise InputError(
            f"column {name!r} must contain true {kind}, but no row contains {words}.",
            "choose another column, or check how the table was read.",
        )
    n_empty = int((~known).sum()) if model.task == "regression" else int((codes == -1).sum())
    if n_empty:
        text = f"{have(n_empty)} no label, out of {len(known):,}. Such rows are left out of the scores."
        notes.append(Note("labels", text, name))
    return truth, known, notes


def have(n_rows: int) -> str:
    """Begin a sentence about some rows.

    >>> have(1), have(2)
    ('1 row has', '2 rows have')
    """
    return f"{counted(n_rows, 'row')} {'has' if n_rows == 1 else 'have'}"


def label_texts(column: pl.Series, classes: set[str]) -> list[str | None]:
    """Labels as text, as the classes of the model are written: 1.0 is the class 1, and true the class True."""
    texts = [None if one is None else str(one) for one in column.to_list()]
    if any(one in classes for one in texts):
        return texts
    if column.dtype.is_float():
        return [None if one is None else f"{one:g}" for one in column.to_list()]
    return [None if one is None else one.strip() for one in texts]


def realize(metric: Metric, rows: ScoredRows, expected: ExpectedScore | None) -> RealizedScore | None:
    """The actual score of labeled rows, with its interval."""
    side = scored_once(rows, metric, 0.95)
    if side.value is None:
        return None
    within = None if expected is None else expected.low <= side.value <= expected.high
    return RealizedScore(
        *(metric.name, metric.title, metric.greater_is_better, len(rows.truth)),
        *(side.value, side.low, side.high),
        within=within,
    )


def promised(found: RealizedScore, promise: Any) -> tuple[RealizedScore, float | None]:
    """Compare the actual score with the estimate of the run; also return the p-value of its being worse."""
    if not isinstance(promise, Mapping) or promise.get("value") is None:
        return found, None
    value = float(promise["value"])
    low, high = promise.get("low"), promise.get("high")
    found = replace(found, promise=value, promise_low=low, promise_high=high)
    if low is None or high is None or found.low is None or found.high is None:
        return found, None
    errors = [(found.high - found.low) / (2 * NORMAL), (high - low) / (2 * NORMAL)]
    gap = found.value - value if found.greater_is_better else value - found.value
    error = float(np.hypot(*errors))
    p = float(stats.norm.cdf(gap / error)) if error > 0 else float(gap >= 0)
    return replace(found, p=p), p


def ranked_shifts(
    model: StoredModel,
    reference: RunReference,
    rows: NewRows,
    shifts: Sequence[ColumnShift],
    predicted: Floats | None,
    seed: int,
) -> list[ColumnShift]:
    """Order columns: those that changed first, the one that moves predictions most at the top."""
    effects: dict[str, float] = {}
    if predicted is not None:
        rng = np.random.default_rng(seed)
        some = np.sort(rng.permutation(rows.sample.height)[:MOVED_ROWS])
        frame, before = rows.sample[some.tolist()].select(list(model.kinds)), predicted[some]
        notable = sorted((one for one in shifts if one.p < NOTABLE_P), key=lambda one: (not one.changed, one.p))
        for one in notable[:MOVED_COLUMNS]:
            moved = moved_back(frame[one.column], reference.columns[one.column], rng)
            if moved is not None:
                effects[one.column] = effect_of(before, predictions_of(model, frame.with_columns(moved)), reference)
    found = [replace(one, effect=effects.get(one.column)) for one in shifts]
    return sorted(found, key=lambda one: (not one.changed, -(one.effect or 0.0), one.p, -one.psi))


def effect_of(before: Floats, after: Floats, reference: RunReference) -> float:
    """How far predictions move: the mean probability that changes class, or the mean change of a value.

    A value is measured in units of the spread between the quartiles of held-out predictions.
    """
    if before.ndim == 2:
        return float(np.abs(before - after).sum(axis=1).mean() / 2)
    grid, below = reference.predictions.grid, reference.predictions.below
    low, high = np.interp([0.25, 0.75], below / max(1, reference.predictions.n_known), grid)
    return float(np.abs(before - after).mean() / max(high - low, 1e-300))
