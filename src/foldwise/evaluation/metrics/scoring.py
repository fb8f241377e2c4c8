"""Resolve the argument `scoring` to metrics: vectorized ones if they exist, otherwise wrapped scorers."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.pipeline import Pipeline

from foldwise.arrays import Floats
from foldwise.errors import InputError
from foldwise.evaluation.cost import CostMatrix, CostScorer
from foldwise.evaluation.metrics.costs import CostMetric
from foldwise.evaluation.metrics.metric import Metric
from foldwise.evaluation.metrics.protocol import SearchMetric
from foldwise.evaluation.metrics.registry import METRICS, find_metric, is_metric
from foldwise.evaluation.metrics.routed import RoutedMetric, WeightedScoring
from foldwise.evaluation.metrics.scorers import ScorerMetric
from foldwise.evaluation.metrics.session import SessionMetric
from foldwise.folds.protocol import Answer, Labels, Params
from foldwise.folds.splits import Split
from foldwise.metric_names import METRICS_ELSEWHERE

COSTS = "minus the mean cost"
NEGATED = "neg_"
SESSION_METRICS: dict[str, SessionMetric] = {metric.scorer: SessionMetric(metric) for metric in METRICS.values()}


def metrics_of(scoring: Any, estimator: Any) -> tuple[dict[str, SearchMetric], dict[str, Any], bool]:
    """Resolve `scoring` to metrics and scorers by name, and whether there are several.

    Parameters
    ----------
    scoring : str, callable, Metric, CostMatrix, WeightedScoring, list or dict
        One metric, or several as in scikit-learn's searches; None means the `score` method of the estimator.
    estimator : estimator
        The model to score.

    Returns
    -------
    tuple
        Metrics by name, scorers by name, and whether `scoring` names several.
    """
    if isinstance(scoring, WeightedScoring):
        metrics, scorers, several = metrics_of(scoring.scoring, estimator)
        given = {"sample_weight": scoring.weights}
        return {name: RoutedMetric(metric, given) for name, metric in metrics.items()}, scorers, several
    scoring = metric_of_name(scoring)
    if scoring is None or isinstance(scoring, str | CostMatrix) or callable(scoring):
        scorer = scorer_of(scoring, estimator)
        return {"score": one_metric(scoring, scorer, estimator)}, {"score": scorer}, False
    named = dict(scoring) if isinstance(scoring, dict) else {name: name for name in scoring}
    named = {name: metric_of_name(entry) for name, entry in named.items()}
    scorers = {name: scorer_of(entry, estimator) for name, entry in named.items()}
    metrics = {name: one_metric(entry, scorers[name], estimator) for name, entry in named.items()}
    return metrics, scorers, True


def metric_of_name(scoring: Any) -> Any:
    """Return the metric for a name of this package that scikit-learn does not know; anything else as it is.

    >>> metric_of_name("rmse").scorer, metric_of_name("accuracy")
    ('neg_root_mean_squared_error', 'accuracy')
    """
    ours = isinstance(scoring, str) and scoring not in get_scorer_names() and is_metric(scoring)
    return find_metric(scoring) if ours else scoring


def check_single(scoring: Any) -> None:
    """Raise an error if `scoring` names several metrics."""
    if isinstance(scoring, list | tuple | set | dict):
        raise InputError(f"scoring must be a single metric, got {scoring!r}.", "pass one of them.")


def scorer_of(scoring: Any, estimator: Any) -> Any:
    """Return the scorer that scikit-learn would call."""
    if isinstance(scoring, CostMatrix):
        return scoring.scorer()
    scoring = metric_of_name(scoring)
    scoring = scoring.scorer if isinstance(scoring, Metric) else scoring
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        near = get_close_matches(scoring, get_scorer_names(), n=3, cutoff=0.5) or ["accuracy", "neg_log_loss", "r2"]
        if (known := METRICS_ELSEWHERE.get(scoring.lower())) in get_scorer_names():
            near = [known]
        raise InputError(
            f"scoring must name a metric of scikit-learn, got {scoring!r}.",
            f"try {', '.join(map(repr, near))}; sklearn.metrics.get_scorer_names() lists all.",
        )
    return check_scoring(estimator, scoring)


def one_metric(scoring: Any, scorer: Any, estimator: Any) -> SearchMetric:
    """Return the vectorized metric of a name, or a wrapper of the scorer."""
    if isinstance(scorer, CostScorer):
        return CostMetric(scorer.matrix)
    if isinstance(scoring, Metric):
        return SessionMetric(scoring)
    # scikit-learn's scorers use predictions only; other callables may use the model itself
    own = type(scorer).__module__.startswith("sklearn.") and scoring is not None
    by_scorer = ScorerMetric(scorer, wants_model=not own)
    if scoring is None:
        if type(estimator) is Pipeline:
            name, last = estimator.steps[-1]
            metric = vectorized(default_score(last), estimator)
            return by_scorer if metric is None else LastStepScore(metric, by_scorer, name)
        scoring = default_score(estimator)
    return vectorized(scoring, estimator) or by_scorer


def vectorized(name: Any, estimator: Any) -> SessionMetric | None:
    """Return the metric of a scorer's name, if it exists and suits the estimator's target."""
    metric = SESSION_METRICS.get(name) if isinstance(name, str) else None
    if metric is None or not (is_classifier if metric.kind is Labels else is_regressor)(estimator):
        return None
    return metric


def default_score(estimator: Any) -> str | None:
    """Return the metric behind `estimator.score`, if it is that of scikit-learn's mixins."""
    kind = type(estimator)
    if kind.__module__.startswith("sklearn.neighbors.") and kind.__name__.endswith("NeighborsClassifier"):
        return "accuracy"  # its `score` differs from the mixin's only for X=None
    score = getattr(kind, "score", None)
    return {ClassifierMixin.score: "accuracy", RegressorMixin.score: "r2"}.get(score)


class LastStepScore:
    """The score of a pipeline, which is that of its last step unless a setting replaces the step."""

    def __init__(self, metric: SessionMetric, by_scorer: ScorerMetric, step: str) -> None:
        self.metric, self.by_scorer, self.step = metric, by_scorer, step
        self.need, self.bounds, self.has_losses = metric.need, metric.bounds, metric.has_losses
        self.losses, self.score_of, self.slope, self.root = metric.losses, metric.score_of, metric.slope, metric.root

    def __call__(self, session: Any, settings: Sequence[Params], split: Split, answer: Answer) -> Floats:
        replaced = any(self.step in setting or "steps" in setting for setting in settings)
        return (self.by_scorer if replaced else self.metric)(session, settings, split, answer)


def score_name(metric: Any, model: Any, scoring: Any = None) -> str:
    """Name the metric of a model; with equal names, equal predictions get equal scores."""
    if isinstance(scoring, WeightedScoring):
        metric, scoring = metric.metric, scoring.scoring
    if isinstance(metric, LastStepScore):
        metric = metric.metric
    if isinstance(metric, CostMetric):
        return f"{COSTS} by {metric.matrix!r}"
    if isinstance(metric, SessionMetric):
        return metric.name
    if scoring is None and all(hasattr(model, name) for name in ("estimator", "scoring", "refit")):
        return search_score_name(model)
    if scoring is None:
        if type(model).__module__ == "sklearn.dummy":  # its `score` differs from the mixin's only for X=None
            return "accuracy" if is_classifier(model) else "r2"
        return f"{type(model).__name__}.score"
    return scoring if isinstance(scoring, str) else repr(metric.scorer)


def search_score_name(search: Any, metrics: dict[str, Any] | None = None) -> str:
    """Name the metric by which a search, ours or scikit-learn's, selects its winner."""
    scoring, refit = getattr(search, "scoring", None), getattr(search, "refit", True)
    if metrics is None:
        metrics = metrics_of(scoring, search.estimator)[0]
    name = refit if isinstance(refit, str) and refit in metrics else next(iter(metrics))
    several = isinstance(scoring, list | tuple | set | dict)
    selecting = scoring[name] if isinstance(scoring, dict) else name if several else scoring
    return score_name(metrics[name], search.estimator, selecting)


def metric_behind(score: str) -> tuple[str, bool]:
    """Return the metric behind a scorer's name: its own name, and whether higher is better."""
    if score.startswith(COSTS):
        return "cost", False
    if is_metric(score):
        metric = find_metric(score)
        return metric.name, metric.greater_is_better
    if score in get_scorer_names():  # scikit-learn negates those where lower is better, and says so by their names
        return score.removeprefix(NEGATED), not score.startswith(NEGATED)
    return score if len(score) <= 40 else "score", True


def sign_and_title(scoring: Any) -> tuple[int, str]:
    """Return the sign that turns a score, of which higher is better, into the value of its metric; and its title.

    >>> sign_and_title("neg_log_loss"), sign_and_title("accuracy"), sign_and_title("neg_max_error")
    ((-1, 'log loss'), (1, 'accuracy'), (-1, 'max_error'))
    """
    if isinstance(scoring, WeightedScoring):
        scoring = scoring.scoring
    if isinstance(scoring, Metric):
        return (1 if scoring.greater_is_better else -1), scoring.title
    name, greater_is_better = metric_behind(str(scoring))
    return (1 if greater_is_better else -1), title_of(name)


def title_of(name: str, greater_is_better: bool = True) -> str:
    """Return the title of a metric in tables and plots."""
    title = find_metric(name).title if is_metric(name) else "mean cost" if name == "cost" else name
    return title if greater_is_better else f"{title} (lower is better)"
