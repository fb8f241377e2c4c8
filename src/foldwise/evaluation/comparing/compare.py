"""`compare`: models and searches on the same splits of one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit

from foldwise.data.arguments import check_jobs
from foldwise.errors import InputError
from foldwise.evaluation.comparing.comparison import Comparison, check_names, finite_scores, one_metric
from foldwise.evaluation.comparing.paired import check_rope
from foldwise.evaluation.estimates import check_level
from foldwise.evaluation.intervals import share_tested
from foldwise.evaluation.metrics.registry import METRICS
from foldwise.evaluation.metrics.scoring import check_single
from foldwise.evaluation.procedure_scores import Procedure, ProcedureScores, check_model
from foldwise.folds.rows import count_rows
from foldwise.folds.splits import Split, freeze_splits

RESAMPLES, TESTED = 10, 0.4  # the scheme under which the corrected test keeps its level best: docs/comparisons.md


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    scoring: Any = None,
    rope: float = 0.01,
    level: float = 0.95,
    groups: Any = None,
    n_jobs: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    watch: Callable[[str, int], None] | None = None,
    **fit_params: Any,
) -> Comparison:
    """Score models and searches on the same splits, and say which cannot be told from the best.

    Parameters
    ----------
    models : by name, estimators, or searches of this package; a search is run anew on the training rows of every split
    X, y : the table and its target
    cv : splits as scikit-learn takes them; by default ten random (stratified) divisions into 60 % to train and 40 % to
        test, with `groups` of whole groups
    scoring : the metric of all, by its own name (`log_loss`) or as scikit-learn's searches take it (`neg_log_loss`),
        which is shown with its own sign: of log losses the lowest is the best. By default the searches' own metric and
        the models' `score`, which must be the same
    rope : the region of practical equivalence: differences in score up to this count as none
    level : of the intervals; tests are at 1 - level
    groups : rows that belong together
    n_jobs : as many workers for models; searches have their own
    random_state : of the default divisions
    watch : told the name of each model before it is scored, and how many were scored before it
    **fit_params : passed to every fit, such as sample_weight

    Notes
    -----
    With the default splits the corrected t-test calls equal models different in about 4 % of cases where they
    change little from one training set to the next, in 4 to 6 % where they change much (nearest neighbors). Models
    learn from 60 % of the rows, so scores are a little below those of the whole table: for a figure to report, take
    `estimate` or `nested_cv`. Ten times ten folds, `cv=RepeatedStratifiedKFold(n_splits=10, n_repeats=10,
    random_state=0)`, find more of the true differences, and of the second kind of models more false ones (4 % and
    10 %); `cv=10` finds few of either (1 % and 4 %). All figures are in docs/comparisons.md.

    >>> from sklearn.datasets import load_iris
    >>> from foldwise import GridSearchCV, KNNClassifier, NaiveBayes, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(KNNClassifier(), {"n_neighbors": range(1, 31)})
    >>> compare({"bayes": NaiveBayes(), "knn, tuned": search, "sepals": NaiveBayes(columns=[0, 1])}, X, y)
    accuracy of 3 models on the same 10 splits
    <BLANKLINE>
      model       score    95% interval  naive    diff      p  P(>)  P(=)  P(<)
    * knn, tuned  0.960  0.910 to 1.000  0.966
    * bayes       0.952  0.912 to 0.991         -0.008  0.737  0.23  0.29  0.47
      sepals      0.768  0.723 to 0.814         -0.192  <.001  0.00  0.00  1.00
    <BLANKLINE>
    * best, or tied with it: p at least 0.05.
    p: corrected paired t-test against the best, Holm over 3 pairs.
    P: better than the best, equal within 0.01, worse; Bayesian correlated t.
    """
    check_names(models)
    check_level(level)
    check_rope(rope)
    check_jobs(n_jobs)
    if isinstance(scoring, str):
        scoring = METRICS.get(scoring, scoring)
    procedures = {name: opened(name, model, X, y, scoring, groups, fit_params) for name, model in models.items()}
    classifier = all_classify(models)
    metric = one_metric({name: one.score_name for name, one in procedures.items()})
    splits = common_splits(classifier, X, y, cv, groups, random_state)
    scores, estimates = {}, {}
    for done, (name, procedure) in enumerate(procedures.items()):
        if watch is not None:
            watch(name, done)
        tested = tested_on(name, procedure, splits, n_jobs)
        scores[name] = finite_scores(name, np.asarray(tested.scores, dtype=np.float64))
        estimates[name] = tested.estimate(splits, procedure.metric.bounds, with_naive=procedure.chooses_alike)
    return Comparison.sorted(scores, estimates, share_tested(splits), metric or "score", rope, level)


def opened(
    name: str, model: Any, X: Any, y: Any, scoring: Any, groups: Any, fit_params: Mapping[str, Any]
) -> Procedure:
    """A model with the table, or an error that names it."""
    check_model(model, f"model {name!r}", "scores at hand are compared by Comparison.of.")
    check_single(scoring, "models are compared by")
    try:
        return Procedure(model, X, y, scoring=scoring, groups=groups, fit_params=fit_params)
    except Exception as error:
        if scoring is None and isinstance(error, TypeError) and "score" in str(error) and not hasattr(model, "score"):
            raise InputError(
                f"model {name!r} cannot be scored: a {type(model).__name__} has no method score.", "pass scoring=."
            ) from error
        error.add_note(f"of model {name!r}")
        raise


def all_classify(models: Mapping[str, Any]) -> bool:
    """Whether the models are classifiers; an error where only some of them are."""
    kinds = {name: is_classifier(model) for name, model in models.items()}
    if len(set(kinds.values())) > 1:
        first, other = (next(name for name, kind in kinds.items() if kind is wanted) for wanted in (True, False))
        raise InputError(
            f"{first!r} is a classifier and {other!r} is none, so they cannot be compared.",
            "compare models of the same target.",
        )
    return all(kinds.values())


def common_splits(classifier: bool, X: Any, y: Any, cv: Any, groups: Any, random_state: Any) -> Sequence[Split]:
    """The splits of all models."""
    if cv is None:
        cv = default_splits(groups, classifier, random_state)
    splits = freeze_splits(cv, X, y, groups, n_rows=count_rows(X), classifier=classifier)
    if len(splits) < 2:
        raise InputError("a comparison needs at least two splits, but cv gave one.", "pass cv=10, or no cv.")
    return splits


def default_splits(groups: Any, classifier: bool, random_state: Any) -> Any:
    """Ten random divisions, 60 % to train and 40 % to test."""
    generator = isinstance(random_state, np.random.Generator)
    seed = int(random_state.integers(1 << 31)) if generator else random_state
    if groups is not None:
        return GroupShuffleSplit(RESAMPLES, test_size=TESTED, random_state=seed)
    return (StratifiedShuffleSplit if classifier else ShuffleSplit)(RESAMPLES, test_size=TESTED, random_state=seed)


def tested_on(name: str, procedure: Procedure, splits: Sequence[Split], n_jobs: int | None) -> ProcedureScores:
    """The scores of a procedure; an error names it."""
    try:
        return procedure.on(splits, n_jobs=n_jobs)
    except Exception as error:
        error.add_note(f"of model {name!r}")
        raise
