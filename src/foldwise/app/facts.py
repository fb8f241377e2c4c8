"""The facts of a run: everything the report shows, computed once when the run ends."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from foldwise.app.estimates import score_of
from foldwise.app.headline_facts import estimate_facts, headline
from foldwise.app.held_out import mistake_facts
from foldwise.app.large_facts import trained_facts, trained_words
from foldwise.app.leaderboard import LeaderboardRow
from foldwise.app.plain_values import plain
from foldwise.app.selection import cautious_temperature
from foldwise.app.slice_facts import slice_facts
from foldwise.app.table_facts import audit_facts
from foldwise.app.timing import RunTimes
from foldwise.bayes.nomogram import nomogram
from foldwise.data.notes import counted
from foldwise.decisions.calibration import CalibrationData, ClassScores
from foldwise.decisions.calibration.temperature import Temperature
from foldwise.errors import InputError
from foldwise.evaluation.decision import choose
from foldwise.evaluation.metrics import class_metric
from foldwise.evaluation.prediction_curves import prediction_facts
from foldwise.evaluation.residuals import residual_facts
from foldwise.evaluation.tables import number
from foldwise.models.feature_selection import SelectInformative
from foldwise.storage.model_file import versions

if TYPE_CHECKING:
    from foldwise.app.result import FitResult

FORMAT = 1
MOST_TRIALS = 400  # shown per model
NOMOGRAM_ROWS = 50_000  # whose values can be selected; of 1,000,000 rows, a grid of values takes 3 s
NOMOGRAM_COLUMNS = 500
MOST_IMPORTANCES = 200  # columns


def make_facts(
    result: FitResult,
    lines: list[LeaderboardRow],
    examples: list[dict[str, Any]],
    times: RunTimes,
    coverage: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Collect all facts of a run."""
    opened = {one.model for one in result.search.batches}
    facts: dict[str, Any] = {
        "format": FORMAT,
        "title": result.setup.task.table.name,
        "made": made(result, times),
        "task": task_facts(result),
        "audit": audit_facts(result, times),
        "headline": headline(result, lines),
        "leaderboard": [row_facts(line, result) for line in lines],
        "searches": [search_facts(line, result) for line in lines if line.name in opened],
        "predictions": predicted_facts(result),
        "final": final_facts(result),
        "bayes": nomogram_facts(result, lines),
        "importance": importance_facts(result),
        "importance_of": importance_words(result),
        "importance_member": importance_member(result),
        "examples": examples,
        "largest_mistakes": mistake_facts(result) if result.setup.config.rows else [],
        "coverage": coverage,
        "slices": slice_facts(result),
        "history": list(result.history),
    }
    if coverage is not None and coverage["warning"]:
        facts["audit"]["warnings"] = [coverage["warning"], *facts["audit"]["warnings"]]
    return plain(facts)  # type: ignore[no-any-return]


def made(result: FitResult, times: RunTimes) -> dict[str, Any]:
    return {
        "command": result.command,
        "python": result.call,
        "seed": result.setup.config.seed,
        "budget": times.budget,
        "seconds": times.elapsed,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "rows_included": result.setup.config.rows,
        "interrupted": result.interrupted,
        "phases": [list(one) for one in times.phases],
        "n_models": result.search.n_models,
        "n_settings": result.search.n_settings,
        "n_sessions": max(1, len(result.history)),
        "seconds_before": sum(one["seconds"] for one in result.history[:-1]),
    }


def task_facts(result: FitResult) -> dict[str, Any]:
    task, metric = result.setup.task, result.setup.metric
    named = task.named or {}
    costs = task.costs
    return {
        "task": task.outline.task,
        "target": task.table.target,
        "classes": [str(one) for one in task.classes.tolist()],
        "class_counts": task.counts.tolist(),
        "positive": None if task.positive is None else str(task.classes[task.positive]),
        "metric": metric.name,
        "metric_title": metric.title,
        "greater_is_better": metric.greater_is_better,
        "costs": None
        if costs is None
        else {
            "actions": [str(one) for one in costs.actions],
            "classes": [str(one) for one in task.classes.tolist()],
            "matrix": costs.costs_of(task.classes).tolist(),
        },
        "groups": named.get("groups"),
        "time": named.get("time"),
        "weights": named.get("weights"),
        "left_out": [
            *([name, f"the {what}"] for what, name in named.items()),
            *map(list, task.outline.left_out.items()),
        ],
        "n_rows": task.n_rows,
        "n_columns": task.table.X.width,
        "n_folds": len(result.setup.splits),
        "splitter": result.setup.splitter,
        "scored_folds": scored_folds(result),
        "row_numbers": "Row numbers start at 0." if task.large is None else "Row numbers are those of the sample.",
    }


def scored_folds(result: FitResult) -> str:
    """Say which folds the estimates come from, unless it is all of them."""
    tested = result.final.selection.tested
    if len(tested.scored) == tested.n_folds:
        return ""
    if tested.in_time:
        others = counted(len(tested.scored), "fold")
        return f"Settings for fold 1 cannot be selected on earlier folds, so estimates come from the other {others}."
    return "Settings with a weak score on fold 1 were not tried further, so fold 1 is left out of the estimates."


def row_facts(line: LeaderboardRow, result: FitResult) -> dict[str, Any]:
    batches = result.search.of_model(line.name)
    return {
        "model": line.name,
        "title": line.title,
        "status": line.status,
        "why": line.why,
        "settings": {} if line.best is None else settings_shown(result.setup.params(*line.best)),
        "estimate": None if line.estimate is None else estimate_facts(line.estimate, result.setup.metric),
        "folds": None if line.folds is None else line.folds.tolist(),
        "tied": line.tied,
        "p": line.p,
        "seconds": sum(one.spent for one in batches),
        "n_settings": sum(len(one.settings) for one in batches if one.scores),
        "weight": line.weight,
    }


def settings_shown(setting: Mapping[str, Any]) -> dict[str, str]:
    """Shorten the names and values of settings."""
    return {short_name(name): short_value(value) for name, value in setting.items()}


def short_name(name: str) -> str:
    return name.removeprefix("model__").removeprefix("estimator__").removeprefix("regressor__")


def short_value(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.3g}"
    if isinstance(value, SelectInformative):
        return f"{value.share:.0%} of the columns"
    if isinstance(value, Mapping):
        kinds = sorted({str(one) for one in value.values()})
        return ", ".join(kinds)
    return "all columns" if isinstance(value, str) and value == "passthrough" else str(value)


def search_facts(line: LeaderboardRow, result: FitResult) -> dict[str, Any]:
    """List the settings that were tried for a model, with their scores."""
    trials: list[dict[str, Any]] = []
    for batch in result.search.of_model(line.name):
        for i in range(len(batch.settings) if batch.scores else 0):
            score = batch.mean_score(i)
            trials.append(
                {
                    "settings": {short_name(n): as_number(v) for n, v in result.setup.params(batch, i).items()},
                    "score": result.setup.metric.signed(score) if np.isfinite(score) else None,
                    "folds": len(batch.scores),
                    "seconds": float(np.mean(list(batch.seconds.values()))) / len(batch.settings),
                    "at": batch.opened,
                }
            )
    shown = shown_trials(trials, result.setup.metric.signed)
    return {"model": line.name, "title": line.title, "n_settings": len(trials), "trials": shown}


def shown_trials(trials: list[dict[str, Any]], signed: Callable[[float], float]) -> list[dict[str, Any]]:
    """The settings evaluated on the most folds, with the best of them in any case."""
    trials = sorted(trials, key=lambda one: (-one["folds"], one.get("at", 0.0)))
    rated = [one for one in trials if one["score"] is not None and one["folds"] == trials[0]["folds"]]
    best = max(rated, key=lambda one: signed(one["score"]), default=None)
    shown = trials[:MOST_TRIALS]
    return shown if best is None or best in shown else [*shown[:-1], best]


def as_number(value: Any) -> float | int | str:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return short_value(value)
    return int(value) if isinstance(value, int | np.integer) else float(value)


def predicted_facts(result: FitResult) -> dict[str, Any]:
    task, selection = result.setup.task, result.final.selection
    honest, tested = selection.honest, selection.tested
    if task.is_quantity:
        rows = tested.rows[honest.index]
        columns = result.setup.X[rows.tolist()]
        weights = tested.weights_at(honest.index)
        shown = task.row_numbers(rows) if result.setup.config.rows else None
        return residual_facts(tested.truth[honest.index], honest.predicted, columns, weights, shown)
    classes = [str(one) for one in task.classes.tolist()]
    predicted = None
    if task.costs is not None:
        actions = np.asarray([str(one) for one in task.costs.actions])
        predicted = actions[choose(np.ascontiguousarray(honest.predicted), task.costs.costs_of(task.classes))[0]]
    positive = None if task.positive is None else classes[task.positive]
    weights = tested.weights_at(honest.index)
    codes = tested.truth[honest.index]
    folds = tested.fold[honest.index]
    given = (codes, honest.predicted, classes, predicted, positive, weights, task.costs, folds)
    return {**prediction_facts(*given), "area_of": "folds"}


def final_facts(result: FitResult) -> dict[str, Any]:
    setup, final = result.setup, result.final
    members, trained = [], dict(zip(final.weights, trained_facts(result), strict=True))
    for i, weight in sorted(final.weights.items(), key=lambda one: -one[1]):
        one = final.selection.candidates[i]
        settings = settings_shown(setup.params(one.batch, one.setting))
        about = {"title": setup.specs[one.model].title, "weight": weight, "settings": settings}
        members.append({**about, **trained[i]})
    inverse, quantity = getattr(final.selection.chosen.calibration, "inverse", 1.0), setup.task.is_quantity
    decides = "Predictions are the most probable class."
    if quantity:
        decides = " ".join(["Predictions are the expected value of the target in each row.", *smearing(result)])
    elif setup.task.costs is not None:
        decides = "The model takes the action with the lowest expected cost."
    n_models = len({member["title"] for member in members})
    models = str(members[0]["title"]) if n_models == 1 else f"{n_models} models"
    what = models if len(members) == 1 else f"a weighted mean of {len(members)} settings of {models}"
    rungs = {final.selection.candidates[i].batch.rung for i in final.weights}
    samples = [rows for rung in rungs if (rows := setup.samples.refit(rung)) is not None]
    task = setup.task
    kept_out = task.aside is not None or (task.test is not None and task.test.share is not None)
    fitted = f"fitted again on all {task.n_rows:,} {'training rows' if kept_out else 'rows'}"
    if samples:  # a tall table, of which some member learned from a part
        most = max(map(len, samples)) if len(samples) == len(rungs) else setup.task.n_rows
        fitted = f"fitted again on {min(map(len, samples)):,} to {most:,} of {setup.task.n_rows:,} rows"
    if setup.task.large is not None:
        fitted = trained_words(result)
    return {
        "words": f"{what[0].upper()}{what[1:]}, {fitted}.",
        "members": members,
        "calibration": ""
        if quantity
        else f"Calibrated with temperature {1 / inverse:.3g}, fitted to out-of-fold predictions.",
        "description": f"{what}, {fitted}",
        "decides": decides,
        "n_rows": setup.task.n_rows,
    }


def smearing(result: FitResult) -> list[str]:
    """Say how predictions of members that were fitted to a transformed target become predictions of its mean."""
    setup, final = result.setup, result.final
    members = [final.selection.candidates[i] for i in final.weights]
    found = {setup.params(one.batch, one.setting).get("model__transform", "none") for one in members}
    named = sorted(found - {"none", "scale"})
    if not named:
        return []
    return [
        f"Some members were fitted to a transformed target ({', '.join(named)}). Their predictions are converted back "
        "and corrected from the median to the mean (Duan's smearing)."
    ]


def nomogram_facts(result: FitResult, lines: list[LeaderboardRow]) -> dict[str, Any] | None:
    """Describe the nomogram of naive Bayes fitted on all rows, with class names instead of codes.

    Its probabilities are calibrated by a temperature. Where they are worse than class frequencies, it is not shown.
    """
    pipeline = result.final.bayes
    if pipeline is None:
        return None
    row = next((line for line in lines if line.name == "naive_bayes" and line.best is not None), None)
    if row is None:
        return {"hidden": "naive Bayes was not scored on every fold in time"}
    own, base = bayes_losses(result, row, lines[-1])
    inverse = bayes_temperature(result, row).inverse
    compared = (
        f"The probabilities of naive Bayes are calibrated: all evidence is divided by {number(1 / inverse)}, a number "
        f"chosen on the held-out rows of all folds. If settings and this number are chosen for each fold on the other "
        f"folds, the log loss is {number(own)}. The log loss of the baseline is {number(base)}."
    )
    if own > base:
        return {"hidden": "naive Bayes predicts worse probabilities than the baseline on this table", "words": compared}
    if result.setup.X.width > NOMOGRAM_COLUMNS:
        return {"hidden": f"the table has more than {NOMOGRAM_COLUMNS:,} columns"}
    try:
        X = result.setup.X.gather_every(-(-result.setup.X.height // NOMOGRAM_ROWS))
        facts = nomogram(pipeline[-1], pipeline[:-1].transform(X))
    except InputError:
        return None
    classes = [str(one) for one in result.setup.task.classes.tolist()]
    return {**facts, "words": compared, "classes": classes, "inverse": inverse}


def bayes_losses(result: FitResult, row: LeaderboardRow, base: LeaderboardRow) -> tuple[float, float]:
    """The log loss of naive Bayes on held-out rows, calibrated by the other folds; and of the baseline."""
    tested, metric = result.final.selection.tested, class_metric("log_loss", result.setup.task.classes)
    assert row.honest is not None
    assert base.honest is not None
    if result.setup.metric.name == metric.name and row.estimate is not None and base.estimate is not None:
        return row.estimate.value, base.estimate.value  # as on the leaderboard
    return score_of(row.honest, tested, metric), score_of(base.honest, tested, metric)


def bayes_temperature(result: FitResult, row: LeaderboardRow) -> Temperature:
    """The temperature that calibrates naive Bayes, found from its out-of-fold predictions."""
    assert row.best is not None
    tested = result.final.selection.tested
    proba = result.predictions.out_of_fold(*row.best).astype(np.float64)
    weights = np.ones(len(proba)) if tested.weights is None else tested.weights
    return cautious_temperature(CalibrationData(ClassScores(np.log(proba), True), tested.truth, weights))


def importance_facts(result: FitResult) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = []
    for name, rises in (result.final.importance or {}).items():
        mean = float(np.mean(rises))
        spread = float(np.std(rises, ddof=1) / np.sqrt(len(rises))) if len(rises) > 1 else 0.0
        facts.append({"column": name, "mean": mean, "low": mean - 2 * spread, "high": mean + 2 * spread})
    return sorted(facts, key=lambda one: -one["mean"])[:MOST_IMPORTANCES]


def importance_words(result: FitResult) -> str:
    if result.final.importance is None:
        return ""
    spec = result.setup.specs[result.final.importance_model]
    what = {"probabilities": "log loss", "decision": "error rate", "values": "root mean squared error"}[spec.answers]
    measured, every = len(result.final.importance), result.setup.X.width
    some = f" {measured:,} of {every:,} columns were measured, chosen at random." if measured < every else ""
    member, of, weight = importance_member(result), spec.title, ""
    if member is not None:
        of = f"one setting of {spec.title}"
        weight = f" This setting has {member['weight']:.0%} of the weight in the final model."
    return f"Measured on held-out rows by the {what} of {of}.{weight}{some}"


def importance_member(result: FitResult) -> dict[str, Any] | None:
    """The member of the final model whose columns were shuffled, if it has several members."""
    if result.final.importance is None or len(result.final.weights) == 1:
        return None
    title = result.setup.specs[result.final.importance_model].title
    return {"title": title, "weight": float(max(result.final.weights.values()))}
