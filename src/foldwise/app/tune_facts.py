"""The facts of `foldwise tune` for its report."""

from __future__ import annotations

import base64
import datetime
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from foldwise.app.facts import FORMAT, as_number, settings_shown, short_name, shown_trials
from foldwise.app.plain_values import plain
from foldwise.data.notes import counted
from foldwise.errors import PlotError
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.nested import NestedResult
from foldwise.evaluation.tables import capitalized, number
from foldwise.storage.model_file import versions
from foldwise.tuning.default_setting import default_words

DPI = 130


@dataclass(frozen=True)
class TunedModel:
    """What `foldwise tune` did and found."""

    task: Any  # TuneTask
    search: Any
    nested: NestedResult
    baseline: Estimate
    sign: int  # turns a score of scikit-learn into the value of the metric
    metric_title: str
    n_folds: int  # of each search
    method: str  # of the estimate, in words
    splitter: str
    made: dict[str, Any]  # command, strategy, seed, budget, seconds


def baseline_of(quantity: bool) -> Any:
    """The model that predicts a constant."""
    return DummyRegressor() if quantity else DummyClassifier(strategy="prior")


def tune_facts(tuned: TunedModel) -> dict[str, Any]:
    """Collect what the report shows."""
    search, task = tuned.search, tuned.task
    n_settings = len(search.cv_results_["params"])
    made = {
        **tuned.made,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "n_models": tuned.nested.models_scored + search.models_scored_,
        "n_settings": n_settings,
    }
    facts = {
        "format": FORMAT,
        "kind": "tune",
        "title": task.table.name,
        "task": {
            "task": task.outline.task,
            "target": task.table.target,
            "classes": [] if task.is_quantity else np.unique(np.asarray(task.table.y).astype(str)).tolist(),
            "metric_title": tuned.metric_title,
            "greater_is_better": tuned.sign > 0,
            "n_rows": task.table.X.height,
            "n_columns": task.table.X.width,
            "n_folds": tuned.n_folds,
            "splitter": tuned.splitter,
        },
        "headline": headline(tuned, n_settings),
        "final": {
            "title": task.spec.title,
            "settings": settings_shown(search.best_params_),
            "words": f"{capitalized(task.spec.title)} with the best setting was fitted again on all rows.",
        },
        "searches": [search_facts(tuned)],
        "made": made,
        **pictures(search),
    }
    return plain(facts)  # type: ignore[no-any-return]


def headline(tuned: TunedModel, n_settings: int) -> dict[str, Any]:
    """The honest estimate and the baseline, in figures and words."""
    found = estimate_facts(tuned.nested.estimate, tuned.sign)
    low, high, was = number(found["low"]), number(found["high"]), "was" if n_settings == 1 else "were"
    ends = f"95% interval {low} to {high}" if math.isfinite(found["low"]) else "one split has no interval"
    words = [
        f"Expected {tuned.metric_title} on new data: {number(found['value'])} ({ends}).",
        f"{counted(n_settings, 'setting')} {was} tried (strategy: {tuned.made['strategy']}). The estimate repeats the "
        "search without the rows that are scored, so it does not benefit from the choice among settings.",
    ]
    if tuned.made["budget"] is not None:
        words.append("Each search had the same time, so the repeated searches may have tried fewer settings.")
    words += filter(None, [default_words(tuned.search, "the best setting")])
    estimate = {**found, "search_score": tuned.sign * float(tuned.search.best_score_), "method": tuned.method}
    return {"words": words, "estimate": estimate, "baseline": estimate_facts(tuned.baseline, tuned.sign)}


def estimate_facts(estimate: Estimate, sign: int) -> dict[str, float]:
    """An estimate with its interval, as the metric counts."""
    low, high = sorted(sign * end for end in estimate.interval())
    return {"value": sign * estimate.value, "low": low, "high": high}


def search_facts(tuned: TunedModel) -> dict[str, Any]:
    """The settings that were tried, with their scores."""
    found = tuned.search.cv_results_
    trials = [
        {
            "settings": {short_name(name): as_number(value) for name, value in setting.items()},
            "score": tuned.sign * float(score) if np.isfinite(score) else None,
            "folds": tuned.n_folds,
        }
        for setting, score in zip(found["params"], found["mean_test_score"], strict=True)
    ]
    shown = shown_trials(trials, lambda score: tuned.sign * score)
    return {"title": tuned.task.spec.title, "n_settings": len(trials), "trials": shown}


def pictures(search: Any) -> dict[str, Any]:
    """The pictures that suit the search, or why there are none."""
    try:
        drawn = [{"kind": kind, "png": encoded(search.plot(kind).figure)} for kind in search.plot_kinds()]
    except PlotError as error:
        return {"no_pictures": f"There are no pictures of the strategy: {error}"}
    return {"pictures": drawn}


def encoded(figure: Any) -> str:
    """A figure as the base64 text of a PNG file."""
    import matplotlib.pyplot as plt

    held = io.BytesIO()
    figure.savefig(held, dpi=DPI, format="png")
    plt.close(figure)
    return base64.b64encode(held.getvalue()).decode()
