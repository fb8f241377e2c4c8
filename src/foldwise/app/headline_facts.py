"""The top of the report: honest estimates by several metrics, the verdict, and the sentences that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foldwise.app.estimates import METHOD, VALUES_METHOD, honest_estimate, score_of
from foldwise.app.fewer_folds import fold_sentences
from foldwise.app.large_facts import large_words
from foldwise.app.leaderboard import LeaderboardRow
from foldwise.app.selection import HonestPredictions
from foldwise.app.task import FitTask
from foldwise.app.verdict import Verdict, verdict
from foldwise.evaluation.estimates import Estimate, Spread, StudentSpread
from foldwise.evaluation.metrics import Metric, class_metric, cost_metric, value_metric
from foldwise.evaluation.scored_rows import ScoredRows
from foldwise.evaluation.tables import number
from foldwise.report import formatting
from foldwise.report.sections.leaderboard import membership

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

SHOWN_METRICS = ("log_loss", "accuracy", "balanced_accuracy", "roc_auc")
SHOWN_VALUE_METRICS = ("root_mean_squared_error", "mean_absolute_error", "median_absolute_error", "r2")


def estimate_facts(estimate: Estimate, metric: Metric) -> dict[str, Any]:
    low, high = estimate.interval()
    return {
        "value": estimate.value,
        "low": low,
        "high": high,
        "search_score": estimate.search_score,
        "method": estimate.method,
        "title": metric.title,
        "greater_is_better": metric.greater_is_better,
        "text": str(estimate),
    }


def shown_metrics(result: FitResult) -> list[Metric]:
    """The metric of the search, the cost if costs were given, then the usual metrics."""
    task, metric = result.setup.task, result.setup.metric
    if task.is_quantity:
        return [metric, *(value_metric(name) for name in SHOWN_VALUE_METRICS if name != metric.name)]
    costs = [] if task.costs is None else [cost_metric(task.costs, task.classes)]
    others = [*costs, *(class_metric(name, task.classes) for name in SHOWN_METRICS)]
    return [metric, *(one for one in others if one.name != metric.name)]


def procedure_estimate(result: FitResult, metric: Metric) -> Estimate:
    """Estimate the whole procedure honestly. Its search score comes from the selection that saw all folds."""
    setup, final = result.setup, result.final
    tested, honest = final.selection.tested, final.selection.honest
    if is_tested_outside(setup.task):
        return outside_estimate(result, metric)
    search_score = score_of(HonestPredictions(honest.index, final.selection.optimistic, honest.folds), tested, metric)
    groups, method = setup.task.groups, VALUES_METHOD if setup.task.is_quantity else METHOD
    found = honest_estimate(honest, tested, metric, search_score=search_score, groups=groups, method=method)
    gain = possible_gain(metric, found.value, final.gain.gain(metric) if final.gain else 0.0)
    if not gain:
        return found
    shares = [len(setup.splits[fold].train) / setup.task.n_rows for fold in honest.folds]
    least, most = f"{min(shares):.0%}", f"{max(shares):.0%}"
    share = least if least == most else f"{least} to {most}"
    end = "upper" if metric.greater_is_better else "lower"
    size = formatting.fixed(abs(gain), max(0, formatting.decimals([gain]) - 1))  # two digits of it
    words = (
        f"The models tested here learned from {share} of the rows. The final model learns from all rows, so its "
        f"{metric.title} may be better by up to {size}. The {end} end of the interval allows for that"
    )
    return replace(found, gain=gain, method=f"{found.method}. {words}")


def possible_gain(metric: Metric, value: float, gain: float) -> float:
    """Return the gain, or what is missing to a perfect score if that is less: an error cannot become negative."""
    low, high = metric.bounds
    room = high - value if metric.greater_is_better else value - low
    return float(np.sign(gain)) * min(abs(gain), max(room, 0.0))


def is_tested_outside(task: FitTask) -> bool:
    """Whether the estimate uses rows of the table outside of the sample that the models learned from.

    Other rows of the same groups, or of earlier times, would not be new data: then the folds decide.
    """
    return task.test is not None and task.test.outside and task.groups is None and task.moments is None


def outside_estimate(result: FitResult, metric: Metric) -> Estimate:
    """Estimate the score of the final model by rows outside of the sample, from which nothing was learned or chosen."""
    test, selection = result.setup.task.test, result.final.selection
    assert test is not None
    tested, honest = selection.tested, selection.honest
    search_score = score_of(HonestPredictions(honest.index, selection.optimistic, honest.folds), tested, metric)
    known = test.y < test.n_known if test.unseen else np.ones(len(test.y), dtype=bool)
    y, n = test.y[known], int(known.sum())
    weights = np.ones(n) if test.weights is None else test.weights[known]
    rows = ScoredRows(y, result.test_predictions[known], weights, np.zeros(n, dtype=np.intp), None)
    parts = rows.parts(metric)
    spread: Spread = StudentSpread(*rows.error(metric)) if parts is None else parts.spread(None)
    value = test.score(metric, result.test_predictions)
    method = f"the final model was scored on {n:,} rows of the table that are not in the sample"
    return Estimate(value, method, spread, search_score, rows.variance(metric), metric.bounds)


def headline(result: FitResult, lines: list[LeaderboardRow]) -> dict[str, Any]:
    setup = result.setup
    base = lines[-1].honest
    assert base is not None
    estimates: dict[str, Estimate] = {}
    bases: dict[str, Estimate] = {}
    facts = {}
    for metric in shown_metrics(result):
        estimates[metric.name] = procedure_estimate(result, metric)
        bases[metric.name] = honest_estimate(base, result.final.selection.tested, metric, groups=setup.task.groups)
        facts[metric.name] = {
            "metric": metric.name,
            "title": metric.title,
            "greater_is_better": metric.greater_is_better,
            "estimate": estimate_facts(estimates[metric.name], metric),
            "baseline": bases[metric.name].value,
        }
    chosen = facts.pop(setup.metric.name)
    against = verdict(result, lines, estimates[setup.metric.name], bases[setup.metric.name])
    sampled = large_words(result, tested_outside=is_tested_outside(setup.task))
    return {
        "words": [f"{against.words} {sampled}".strip(), *words(result, lines, against, estimates, bases)],
        "verdict": {"final": against.final, "best": against.best, "p": against.p},
        "estimate": chosen["estimate"],
        "baseline": estimate_facts(bases[setup.metric.name], setup.metric),
        "others": list(facts.values()),
        "test": test_facts(result),
    }


def words(
    result: FitResult,
    lines: list[LeaderboardRow],
    against: Verdict,
    estimates: Mapping[str, Estimate],
    bases: Mapping[str, Estimate],
) -> list[str]:
    """Write the sentences that follow the verdict, for readers who stop there."""
    sentences = (
        value_words(result, estimates, bases)
        if result.setup.task.is_quantity
        else class_words(result, estimates, bases)
    )
    tied = [line.title for line in lines[:-1] if line.tied]
    if against.best and len(tied) > 1:
        members = [line.title for line in lines if line.weight]
        best = f"Best single model: {tied[0]}. Statistically tied with it: {', '.join(tied[1:])}."
        sentences.append(f"{best} {membership(tied[0], members, quantity=result.setup.task.is_quantity)}".strip())
    sentences += fold_sentences(result.setup, result.search)
    if result.interrupted:
        sentences.append("The run was stopped early. With more time it might have found better models.")
    return sentences


def class_words(result: FitResult, estimates: Mapping[str, Estimate], bases: Mapping[str, Estimate]) -> list[str]:
    """Say how often the model should be right, and what it should cost."""
    right, usual = estimates["accuracy"], bases["accuracy"].value
    low, high = right.interval()
    of_training = "" if result.setup.task.moments is None else " of the earlier rows"
    sentences = []
    start = "On new data the model should be"
    if result.setup.task.costs is not None:
        sentences.append(
            f"On new data the decisions of the model should cost {number(estimates['cost'].value)} per row. It takes "
            "the action with the lowest expected cost. The best single action for all rows would cost "
            f"{number(bases['cost'].value)} per row."
        )
        start = "If the model predicted the most probable class instead, it would be"
    sentences.append(
        f"{start} right {right.value:.1%} of the time (95% interval {low:.1%} to {high:.1%}). Always predicting the "
        f"most frequent class{of_training} would be right {usual:.1%} of the time."
    )
    return sentences


def value_words(result: FitResult, estimates: Mapping[str, Estimate], bases: Mapping[str, Estimate]) -> list[str]:
    """Say how far off predictions of a quantity should be, and how much of its variance they explain."""
    off, usual = estimates["mean_absolute_error"], bases["mean_absolute_error"]
    low, high = off.interval()
    target, explained = result.setup.task.table.target, estimates["r2"].value
    share = f"The model explains {explained:.0%} of the variance of {target}." if explained > 0 else ""
    return [
        f"On new data, predictions of {target} should be off by {number(off.value)} on average (95% interval "
        f"{number(low)} to {number(high)}). Always predicting the mean would be off by {number(usual.value)}. "
        f"{share}".strip()
    ]


def test_facts(result: FitResult) -> dict[str, Any] | None:
    """Score the final model on a separate test table."""
    test = result.setup.task.test
    if test is None:
        return None
    predicted = result.test_predictions
    scores = [
        {"title": metric.title, "metric": metric.name, "value": test.score(metric, predicted)}
        for metric in shown_metrics(result)
    ]
    about = {"n_rows": len(test.y), "n_unseen": test.n_unseen, "share": test.share, "outside": test.outside}
    return {**about, "scores": scores}
