"""`compare`: models and searches on the same splits of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from foldwise.data.arguments import check_jobs
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.comparing.comparison import Comparison, check_names, finite_scores, one_metric
from foldwise.evaluation.comparing.paired import check_rope
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import share_tested
from foldwise.evaluation.metrics.registry import METRICS, find_metric, is_metric
from foldwise.evaluation.metrics.scoring import check_single
from foldwise.evaluation.procedure_scores import Procedure, ProcedureScores, check_model
from foldwise.evaluation.routing import check_fit_params, is_routed
from foldwise.fold_plan import FoldPlan
from foldwise.folds.named_splits import planned_splitter
from foldwise.folds.rows import count_rows
from foldwise.folds.scoring_protocol import runs_on_session
from foldwise.folds.splits import Split, freeze_splits
from foldwise.folds.weights import weight_params

RESAMPLES, TESTED = 10, 0.4  # with these splits the false positive rate of the corrected test is closest to its level


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    rope: float | None = None,
    level: float = 0.95,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    watch: Callable[[str, int], None] | None = None,
    **fit_params: Any,
) -> Comparison:
    """Score models and searches on the same splits, and test which are statistically tied with the best.

    Parameters
    ----------
    models : mapping of str to estimator, or list of estimators
        Estimators, or searches of this package, by name. Models of a list are named after their classes. A search is
        run again on the training rows of each split.
    X : array-like or frame of shape (n_rows, n_columns)
        The table.
    y : array-like of shape (n_rows,)
        The target.
    cv : int, str, splitter or iterable, default None
        Splits as in scikit-learn, or "10x10" for ten times ten shuffled folds, stratified for classifiers. None means
        ten random splits into 60% training and 40% test rows, stratified for classifiers, or by whole groups if
        `groups` are passed.
    scoring : str, callable, Metric or CostMatrix, default None
        The metric, by its own name ("log_loss") or by scikit-learn's ("neg_log_loss"). It is shown with its own sign,
        so for log loss the lowest score is best. None means the metric of the searches and the `score` method of the
        models, which must agree.
    rope : float, default None
        Region of practical equivalence: smaller differences in score count as none. None means 0.01, or 1% of the best
        score if the score is in units of a quantity, such as the root mean squared error.
    level : float, default 0.95
        Level of the intervals; tests are at 1 - level.
    groups : array-like of shape (n_rows,), default None
        Groups of rows that stay together. A number of folds then means folds of whole groups.
    n_jobs : int or None, default None
        Number of parallel jobs for models; searches use their own `n_jobs`.
    random_state : int, Generator or None, default 0
        Seed of the default splits, and of those of a string or with groups.
    watch : callable, default None
        Called with the name of each model before it is scored, and the number of models already scored.
    **fit_params : dict
        Passed to every `fit`, such as `sample_weight`, which a pipeline passes to its last step.

    Returns
    -------
    Comparison
        Scores, intervals and tests; it prints as a table, and `plot` draws it.

    Notes
    -----
    Models are trained on 60% of the rows, so scores are slightly below those of models trained on the whole table. For
    a score to report, use `estimate` or `nested_cv`.

    With the default splits, the corrected t-test finds a difference between equally good models in 4 to 6% of cases.
    `cv="10x10"` detects more true differences, but has more false positives for unstable models such as nearest
    neighbors (10%). `cv=10` is conservative (1 to 4%). See docs/comparisons.md.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, KNNClassifier, NaiveBayes, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KNNClassifier(), {"n_neighbors": range(1, 31)})
    >>> compare({"bayes": NaiveBayes(), "knn, tuned": search, "sepals": NaiveBayes(columns=[0, 1])}, X, y)
    Accuracy of 3 models on the same 10 splits
    <BLANKLINE>
      model       score    95% interval  search    diff       p  P(>)  P(=)  P(<)
    * knn, tuned  0.960  0.910 to 1.000   0.966
    * bayes       0.952  0.912 to 0.991          -0.008   0.737  0.23  0.29  0.47
      sepals      0.768  0.723 to 0.814          -0.192  <0.001  0.00  0.00  1.00
    <BLANKLINE>
    *: the best model, and models statistically tied with it (p of 0.05 or more).
    search: search score (optimistic), the best score inside the search.
    p: corrected resampled t-test against the best, adjusted for all 3 pairs of models
       (Holm).
    P: probability of being better than the best model, equal within 0.01, or worse
       (Bayesian correlated t-test).
    """
    by_name = named_models(models)
    check_names(by_name)
    check_level(level)
    check_rope(0.01 if rope is None else rope)
    check_jobs(n_jobs)
    if isinstance(scoring, str):
        scoring = METRICS.get(scoring, scoring)
    procedures = {name: opened(name, model, X, y, scoring, groups, fit_params) for name, model in by_name.items()}
    classifier = all_classify(by_name)
    metric = one_metric({name: one.score_name for name, one in procedures.items()})
    splits = common_splits(classifier, X, y, cv, groups, random_state)
    scores, estimates = {}, {}
    for done, (name, procedure) in enumerate(procedures.items()):
        if watch is not None:
            watch(name, done)
        tested = tested_on(name, procedure, splits, n_jobs)
        scores[name] = finite_scores(name, np.asarray(tested.scores, dtype=np.float64))
        estimates[name] = tested.estimate(splits, procedure.metric, same_metric=procedure.chooses_alike)
    rope = usual_rope(metric, scores) if rope is None else rope
    return Comparison.sorted(scores, estimates, share_tested(splits), metric or "score", rope, level)


def named_models(models: Any) -> Any:
    """Return models by name; those of a list are named after their classes, with a number if several are alike."""
    if nw.dependencies.is_into_dataframe(models) or isinstance(models, np.ndarray):
        given = "an array" if isinstance(models, np.ndarray) else f"a {type(models).__name__}"
        raise FoldwiseTypeError(
            f"models must be a list or mapping of estimators, got {given}.",
            "pass the models first, then X and y: compare([NaiveBayes()], X, y).",
        )
    if isinstance(models, str | Mapping) or not isinstance(models, Iterable):
        return models
    found = list(models)
    for one in found:
        if isinstance(one, type):
            raise FoldwiseTypeError(
                f"models must be estimators, but {one.__name__} is a class.", f"pass {one.__name__}()."
            )
        if isinstance(one, str):
            raise FoldwiseTypeError(
                f"models must be estimators, got the text {one!r}.", "pass an estimator such as NaiveBayes()."
            )
    if all(isinstance(one, tuple) and len(one) == 2 for one in found):  # pairs, as in scikit-learn's ensembles
        names = [name for name, _ in found]
        found = [model for _, model in found]
    else:
        names = [class_name(one) for one in found]
    for name in {name for name in names if names.count(name) > 1}:
        same = [i for i, other in enumerate(names) if other == name]
        for number, i in enumerate(same, start=1):
            names[i] = f"{name} {number}"
    return dict(zip(names, found, strict=True))


def class_name(model: Any) -> str:
    """Name a model after its class; a search or a wrapper also after the model inside, a pipeline after its last step.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> class_name(make_pipeline(Ridge()))
    'Ridge'
    """
    if isinstance(model, Pipeline) and model.steps:
        return class_name(model.steps[-1][1])
    inner = getattr(model, "estimator", None)
    return type(model).__name__ if inner is None else f"{type(model).__name__} of {class_name(inner)}"


def usual_rope(metric: str | None, scores: Mapping[str, Any]) -> float:
    """Return 0.01, or 1% of the best mean score for errors, which are in units of the quantity."""
    found = find_metric(metric) if metric is not None and is_metric(metric) else None
    if found is None or found.task == "classification" or found.greater_is_better:
        return 0.01
    best = min(abs(float(np.mean(one))) for one in scores.values())
    return float(f"{0.01 * best:.2g}")


def opened(
    name: str, model: Any, X: Any, y: Any, scoring: Any, groups: Any, fit_params: Mapping[str, Any]
) -> Procedure:
    """Open a model on the table; errors name the model."""
    check_model(
        model,
        f"model {name!r}",
        "pass an estimator, or use foldwise.evaluation.Comparison.of to compare scores you already have.",
    )
    check_single(scoring)
    fit_params = own_params(model, fit_params)
    check_fit_params("compare", model, fit_params)
    try:
        return Procedure(model, X, y, scoring=scoring, groups=groups, fit_params=fit_params)
    except Exception as error:  # raised again, with the name of the model
        if scoring is None and isinstance(error, TypeError) and "score" in str(error) and not hasattr(model, "score"):
            raise InputError(
                f"model {name!r} needs a metric, because {type(model).__name__} has no method score.", "pass scoring=."
            ) from error
        error.add_note(f"raised by model {name!r}")
        raise


def own_params(model: Any, fit_params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of `fit`; the sample weights by the name that a pipeline, or a search of one, has for them.

    With scikit-learn's metadata routing, they keep their names.
    """
    if fit_params.get("sample_weight") is None or is_routed(fit_params):
        return fit_params
    others = {name: value for name, value in fit_params.items() if name != "sample_weight"}
    estimator: Any = getattr(model, "estimator", model) if runs_on_session(model) else model
    return {**others, **weight_params(estimator, fit_params["sample_weight"])}


def all_classify(models: Mapping[str, Any]) -> bool:
    """Return whether the models are classifiers; raise an error if only some of them are."""
    kinds = {name: is_classifier(model) for name, model in models.items()}
    if len(set(kinds.values())) > 1:
        first, other = (next(name for name, kind in kinds.items() if kind is wanted) for wanted in (True, False))
        raise InputError(
            f"{first!r} is a classifier but {other!r} is not, so they cannot be compared.",
            "compare models for the same target.",
        )
    return all(kinds.values())


def common_splits(classifier: bool, X: Any, y: Any, cv: Any, groups: Any, random_state: Any) -> Sequence[Split]:
    """Return the splits shared by all models."""
    is_number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    if isinstance(cv, str) or (is_number and groups is not None):  # scikit-learn would ignore the groups
        cv = planned_splitter(FoldPlan.of(cv), groups is not None, seed_of(random_state), quantity=not classifier)
    if cv is None:
        cv = default_splits(groups, classifier, random_state)
    splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=classifier)
    if len(splits) < 2:
        raise InputError("a comparison needs at least two splits, but cv has one.", "pass cv=10, or leave cv out.")
    return splits


def default_splits(groups: Any, classifier: bool, random_state: Any) -> Any:
    """Return the default splitter: ten random splits into 60% training and 40% test rows."""
    seed = seed_of(random_state)
    if groups is not None:
        return GroupShuffleSplit(RESAMPLES, test_size=TESTED, random_state=seed)
    return (StratifiedShuffleSplit if classifier else ShuffleSplit)(RESAMPLES, test_size=TESTED, random_state=seed)


def seed_of(random_state: Any) -> Any:
    """Return a seed for scikit-learn's splitters."""
    return int(random_state.integers(1 << 31)) if isinstance(random_state, np.random.Generator) else random_state


def tested_on(name: str, procedure: Procedure, splits: Sequence[Split], n_jobs: int | None) -> ProcedureScores:
    """Score a procedure; errors name it."""
    try:
        return procedure.on(splits, n_jobs=n_jobs)
    except Exception as error:  # raised again, with the name of the model
        error.add_note(f"raised by model {name!r}")
        raise
