"""`refit`: fit a model of a run again on new rows, and compare it with the old one on the same held-out rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from foldwise.app.blend import Blend, ValueBlend
from foldwise.app.checking.check import batches_of, have, metric_named, name_of, positive_of, truth_of
from foldwise.app.config import check_seed
from foldwise.app.file_predictions import costs_of
from foldwise.app.reference import RunReference, make_reference, row_metrics
from foldwise.app.refitting.learning import LabeledRows, check_sums, fitted_again, updated
from foldwise.app.refitting.refit_folds import refit_folds, special_frame
from foldwise.app.refitting.result import RefitResult
from foldwise.app.run_folder import FACTS, current, model_of_run, read_facts
from foldwise.app.special_columns import grouped, weighted
from foldwise.arrays import Floats
from foldwise.data.schema import listing
from foldwise.errors import FoldwiseWarning, InputError
from foldwise.evaluation.comparing.paired import corrected_t_test
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.evaluation.slices import scored_once
from foldwise.storage import StoredModel
from foldwise.storage.stored_model import HoldsModel
from foldwise.storage.table_check import match_columns

LEAST_ROWS = 20
SHARED = 0.05  # of the new rows; fewer may be equal by chance
SPECIAL = ("groups", "time", "weights")


def refit(
    run: str | Path | StoredModel | HoldsModel,
    table: Any,
    *,
    old: Any = None,
    update: bool = False,
    forget: Any = None,
    out: str | os.PathLike[str] | None = None,
    reading: Mapping[str, Any] | None = None,
    seed: int = 0,
    watch: Callable[[str], None] | None = None,
) -> RefitResult:
    """Fit the model of a run again on new rows, and compare it with the old one.

    The members of the final model keep their settings, weights and calibration, and learn from other rows. There is no
    new search.

    Parameters
    ----------
    run : path, Run or StoredModel
        A run folder, a model file, the result of `fit`, or an open model.
    table : path or frame
        The new rows, with the target.
    old : path or frame, default=None
        Rows to learn from in addition, such as the training table of the run.
    update : bool, default=False
        Whether to add the new rows to what the old model has learned, without its rows. Only for models that are
        functions of sums over rows: naive Bayes, linear regression and ridge regression.
    forget : path or frame, default=None
        Rows that the old model has learned and that it must forget, with the target. Implies `update`.
    out : path, default=None
        Run folder to write. By default nothing is written, and `RefitResult.save` writes it.
    reading : mapping, default=None
        Arguments of `read_table`, such as `{"separator": ";"}`.
    seed : int, default=0
        Random seed of the folds.
    watch : callable, default=None
        Called with a few words on what is being done.

    Returns
    -------
    RefitResult
        The new model, the scores of both models on the same held-out rows, and the test of their difference.

    Notes
    -----
    The new rows are cut into ten folds, or fewer if a class has fewer rows. For each fold, the new model learns from
    the other new rows (and the rows of `old`), and both models predict the fold. The old model must not have seen the
    new rows. Scores by fold are compared by the corrected resampled t-test of Nadeau and Bengio (2003).

    Columns for groups, time and weights are those of the run, and every table must have them. A group is never both
    learned from and tested. With a time column there are five folds, each predicted by a model of earlier rows. The
    earliest rows are not tested. Weights count in training and in all scores.

    Examples
    --------
    >>> import foldwise, tempfile
    >>> from sklearn.datasets import load_iris
    >>> flowers = load_iris(as_frame=True).frame.sample(frac=1, random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> run = foldwise.fit(flowers[:75], target="target", budget=6, models=["naive_bayes"])
    >>> path = run.save(f"{folder.name}/run")
    >>> found = foldwise.refit(path, flowers[75:], update=True)
    >>> found.n_rows, found.metric
    (75, 'log_loss')
    >>> folder.cleanup()
    """
    tell = watch or (lambda words: None)
    check_seed(seed)
    model = model_of_run(run, by="fit or refit")
    blend = checked_blend(model)
    special = special_columns(run, model)
    update = update or forget is not None
    if update:
        if old is not None:
            given = "update=" if forget is None else "forget="
            raise InputError(f"old= cannot be combined with {given}.", "leave one of them out.")
        check_sums(blend, forgetting=forget is not None)
    reference = RunReference.of(model)
    metric = metric_named(reference.metric, model)
    tell("reading")
    rows = read_labeled(model, special, table, reading)
    with errors_about("old="):
        before = None if old is None else read_labeled(model, special, old, reading)
    with errors_about("forget="):
        gone = None if forget is None else read_labeled(model, special, forget, reading)
    check_rows(model, rows, before, is_update=update)
    for words in shared_rows(rows, before, gone):
        warnings.warn(words, FoldwiseWarning, stacklevel=2)
    folds = refit_folds(rows, before, special, len(model.classes_), seed, check=not update and before is None)

    def learn(some: LabeledRows) -> Blend | ValueBlend:
        if update:
            return updated(blend, some, gone)
        return fitted_again(blend, some)

    tell("fitting the folds")
    new_predicted = np.zeros((rows.n_rows, len(model.classes_)) if len(model.classes_) else rows.n_rows)
    for fold in folds:
        some = rows.at(fold.train)
        learned = learn(some if before is None else some.joined(before.at(fold.old)))
        new_predicted[fold.test] = predictions_by(learned, rows.X[fold.test.tolist()])
    tested = np.sort(np.concatenate([fold.test for fold in folds]))  # in the order of time, not the earliest rows
    old_predicted = np.zeros_like(new_predicted)
    old_predicted[tested] = predictions_by(blend, rows.X[tested.tolist()])
    tell("fitting the final model")
    final = learn(rows.joined(before))
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    both = (old_predicted, new_predicted)
    scores = [[metric(rows.y[f.test], one[f.test], weights[f.test]) for f in folds] for one in both]
    gaps = np.array([metric.signed(n) - metric.signed(o) for o, n in zip(*scores, strict=True)])
    n_train = sum(len(fold.train) + len(fold.old) for fold in folds)
    compared = corrected_t_test(gaps[np.isfinite(gaps)], len(tested) / n_train)
    groups = None if "groups" not in special else grouped(rows.special["groups"], special["groups"])[tested]
    sides = [
        side_of(metric, ScoredRows(rows.y[tested], one[tested], weights[tested], np.zeros_like(tested), groups))
        for one in both
    ]
    metrics = row_metrics(metric, model.classes_, None if not model.metadata.get("costs") else costs_of(model, None))
    stored = make_reference(
        *(rows.joined(before).X, rows.y[tested], new_predicted[tested], metrics, metric.name),
        positive=positive_of(model),
        seed=seed,
        edges=reference.edges,
    )
    result = RefitResult(
        title=name_of(table),
        target=model.target or "",
        metric=metric.name,
        metric_title=metric.title,
        greater_is_better=metric.greater_is_better,
        n_rows=rows.n_rows,
        n_old_rows=0 if before is None else before.n_rows,
        n_forgotten=0 if gone is None else gone.n_rows,
        is_update=update,
        n_folds=len(folds),
        old=sides[0],
        new=sides[1],
        difference=compared.difference,
        interval=compared.interval(),
        p=compared.p,
        fold_scores=tuple(zip(*(map(float, one) for one in scores), strict=True)),
        model=final,
        sample=rows.X[:1],
        metadata={
            **{key: model.metadata.get(key) for key in ("target", "costs", "positive", "reading")},
            "rows": rows.n_rows + (0 if before is None else before.n_rows),
            "coverage": None,  # its calibration belongs to the old model
            "reference": stored,
            "special": special,
        },
        had_coverage=bool(model.metadata.get("coverage")),
    )
    if out is not None:
        result.save(out)
    return result


def checked_blend(model: StoredModel) -> Blend | ValueBlend:
    """The model of a run that can be fitted again."""
    if not isinstance(model.model, Blend | ValueBlend):
        raise InputError(
            "this model was not written by fit or refit, so it cannot be fitted again.",
            "pass a folder that fit or refit wrote, or its model file.",
        )
    return model.model


def special_columns(run: Any, model: StoredModel) -> dict[str, str]:
    """The columns for groups, time and weights of the run."""
    given = model.metadata.get("special")
    if given is None and isinstance(run, str | Path) and Path(run).is_dir() and current(Path(run), FACTS).is_file():
        given = read_facts(run).get("task")  # of a model file that does not name them yet
    return {what: str(given[what]) for what in SPECIAL if given and given.get(what)}


@contextmanager
def errors_about(argument: str) -> Iterator[None]:
    """Say in an error in which of several tables it is."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{argument}: {error.message}", error.hint) from error


def read_labeled(
    model: StoredModel, special: Mapping[str, str], table: Any, reading: Mapping[str, Any] | None
) -> LabeledRows:
    """Read rows with the columns of the model, its target, and the special columns of the run."""
    target = model.target
    frames = [frame for frame in batches_of(model, table, reading) if frame.height]
    if not frames:
        raise InputError("the table has no rows.", "pass at least one row.")
    frame = pl.concat(frames, how="vertical_relaxed")
    if target is None or target not in frame.columns:
        raise InputError(
            f"the table has no column {target!r}, the target of the model.",
            f"add it. The table has {listing(frame.columns)}.",
        )
    for what, name in special.items():
        if name not in frame.columns:
            raise InputError(
                f"the table has no column {name!r}, which the run uses as {what}.",
                f"add it. The table has {listing(frame.columns)}.",
            )
    if "weights" in special:
        frame = frame.filter(weighted(frame[special["weights"]], special["weights"]) > 0)
    X = match_columns(frame, model.kinds).X
    y, known, notes = truth_of(frame[target], model, target)
    if not known.all():
        what = notes[0].text.split(". ")[0] if notes else f"{have(int((~known).sum()))} no label"
        raise InputError(f"{what}, in the target {target!r}.".replace(".,", ","), "remove these rows, or run fit.")
    return LabeledRows(X, y, special_frame(frame, special))


def check_rows(model: StoredModel, rows: LabeledRows, before: LabeledRows | None, *, is_update: bool) -> None:
    """Raise if there are too few rows, or if a class of the model has none to learn from."""
    if rows.n_rows < LEAST_ROWS:
        raise InputError(f"refit needs at least {LEAST_ROWS} new rows, got {rows.n_rows}.", "collect more rows.")
    if model.task == "regression" or is_update or before is not None:
        return
    counts = np.bincount(rows.y, minlength=len(model.classes_))
    if counts.min() < 2:
        rare = [str(one) for one, n in zip(model.classes_.tolist(), counts, strict=True) if n < 2]
        has = "has" if len(rare) == 1 else "have"
        raise InputError(
            f"every class needs at least two new rows, but {listing(rare)} {has} fewer.",
            "pass the old rows too, as old=.",
        )


def shared_rows(rows: LabeledRows, before: LabeledRows | None, gone: LabeledRows | None) -> list[str]:
    """Say that new rows are also old rows, or rows to forget. A few may be equal by chance, so this is not an error."""
    said = []
    if before is not None and (n := rows.n_also_in(before)) >= max(1, SHARED * rows.n_rows):
        said.append(
            f"{n:,} of the {rows.n_rows:,} new rows {'is' if n == 1 else 'are'} also in the table of old rows. The "
            "scores of the new model are therefore too optimistic. Pass only other rows as old=."
        )
    if gone is not None and (n := gone.n_also_in(rows)):
        said.append(
            f"{n:,} of the {gone.n_rows:,} rows of forget= {'is' if n == 1 else 'are'} also in the new table. The new "
            "model learns them again. To forget them, remove them from the new table."
        )
    return said


def predictions_by(blend: Blend | ValueBlend, X: pl.DataFrame) -> Floats:
    return np.asarray(blend.predict(X) if isinstance(blend, ValueBlend) else blend.predict_proba(X), dtype=np.float64)


def side_of(metric: Metric, rows: ScoredRows) -> tuple[float, float | None, float | None]:
    """The score of one model on the held-out rows, with its interval."""
    side = scored_once(rows, metric, 0.95)
    value = metric(rows.truth, rows.predicted, rows.weights) if side.value is None else side.value
    return value, side.low, side.high
