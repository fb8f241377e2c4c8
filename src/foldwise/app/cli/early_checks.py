"""Refuse unknown names, impossible workers, and unreadable folds and budgets before any library is loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches

from foldwise.app.cli.known_names import (
    BOTH_TASKS,
    CLASS_METRICS,
    CLASS_MODELS,
    METRIC_ALIASES,
    MODELS,
    PINBALL,
    PLAIN_NAMES,
    SCORERS,
    STRATEGIES,
    TASKS,
    VALUE_METRICS,
    VALUE_MODELS,
)
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan
from foldwise.metric_names import METRICS_ELSEWHERE
from foldwise.model_names import nearest_model

MOST_JOBS_PER_CORE = 16


def check_models(names: Iterable[str] | None) -> None:
    """Raise if a name is neither in the catalog nor the import path of an estimator, or if there are no names."""
    if names is None:
        return
    names = list(names)
    if not names:
        raise InputError("--models must name at least one model.", "pass --models knn,naive_bayes, for example.")
    for name in names:
        if name not in MODELS and "." not in name:
            parts = name.split()
            if len(parts) > 1 and all(one in MODELS for one in parts):
                raise InputError(f"models are separated by commas, got {name!r}.", f"pass {','.join(parts)}.")
            raise InputError(
                f"there is no model called {name!r}.",
                f"{suggestion(name)}For classes, choose among {', '.join(CLASS_MODELS)}. For a quantity, choose among "
                f"{', '.join(VALUE_MODELS)}. Or pass the import path of an estimator, 'package.module.Class'.",
            )


def suggestion(name: str) -> str:
    """Ask whether a similar model was meant, and say if it serves one task only; empty without a similar one.

    >>> suggestion("forest"), suggestion("bayes"), suggestion("cobweb")
    ("did you mean 'random_forest'? ", "did you mean 'naive_bayes' (for classes)? ", '')
    """
    near = nearest_model(name, MODELS)
    if near is None:
        return ""
    only = "" if near in BOTH_TASKS else f" (for {'classes' if near in CLASS_MODELS else 'a quantity'})"
    return f"did you mean {near!r}{only}? "


def check_jobs(jobs: int | None) -> None:
    """Raise if there would be no worker, or far more than the machine can run."""
    cores = os.cpu_count() or 1
    if jobs is not None and jobs > MOST_JOBS_PER_CORE * cores:
        raise InputError(
            f"--jobs must be at most {MOST_JOBS_PER_CORE * cores} on this machine, which has {cores} "
            f"{'core' if cores == 1 else 'cores'}, got {jobs}.",
            "leave it out to use all cores.",
        )
    if jobs is not None and jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {jobs}.", "leave it out to use all cores.")


def check_folds(cv: str | None, *, test: bool = False, in_time: bool = False) -> None:
    """Raise if the folds cannot be read, or contradict a test table or the order of time."""
    plan = None if cv is None else FoldPlan.of(cv)
    if plan is not None and plan.held_out is not None and test:
        raise InputError(f"--cv {cv} and --test cannot be combined.", "pass one of them.")
    if plan is not None and plan.repeats > 1 and in_time:
        raise InputError(f"folds in order of time cannot be repeated, got --cv {cv}.", f"pass --cv {plan.folds}.")


def check_metric(name: str | None, *, scorers: bool) -> None:
    """Raise if there is no such metric. With `scorers`, those of scikit-learn are metrics too."""
    own = [*CLASS_METRICS, *VALUE_METRICS]
    known = [*own, *METRIC_ALIASES, *(one for one in SCORERS if scorers or one.removeprefix("neg_") in own)]
    runs_only = () if scorers else ("auto", "cost")
    if name is None or name in known or name in runs_only or is_pinball(name):
        return
    words = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    near = METRICS_ELSEWHERE.get(words) or next(iter(get_close_matches(words, known, 1, 0.6)), None)
    near = PLAIN_NAMES.get(near, near) if near else near
    start = f"did you mean {near!r}? The metrics are" if near else "choose among"
    others = ", or a scorer of scikit-learn" if scorers else ""
    raise InputError(
        f"there is no metric called {name!r}.",
        f"{start} {', '.join(own)} and {PINBALL}0.9{others}.",
    )


def is_pinball(name: str) -> bool:
    """Whether a name is that of a pinball loss with its quantile.

    >>> is_pinball("pinball_loss_0.9"), is_pinball("pinball_loss_x")
    (True, False)
    """
    return re.fullmatch(re.escape(PINBALL) + r"\d*\.?\d+", name) is not None


def check_choice(option: str, name: str | None, known: tuple[str, ...]) -> None:
    """Raise if a name is not among those known, and suggest the nearest."""
    if name is not None and name not in known:
        near = get_close_matches(name.lower().replace("_", "-"), known, 1, 0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"leave --{option} out."
        raise InputError(f"--{option} must be one of {', '.join(known)}, got {name!r}.", hint)


def check_task(name: str | None) -> None:
    """Raise if a task is neither classification nor regression."""
    check_choice("task", name, TASKS)


def check_strategy(name: str) -> None:
    """Raise if there is no such search strategy."""
    if name.lower() == "optuna":
        raise InputError(
            f"--strategy must be one of {', '.join(STRATEGIES)}, got {name!r}.",
            "pass tpe or cma-es, which are those of Optuna.",
        )
    check_choice("strategy", name, STRATEGIES)


def check_budget(budget: str | None) -> None:
    """Raise if a time limit cannot be read."""
    if budget is not None:
        from foldwise.app.timing import seconds_of

        seconds_of(budget)
