"""`foldwise tune`: one model, tuned by any search strategy, with a nested estimate of its performance on new data."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foldwise.app.cli.output import WIDTH, duration, print_json, typed_command
from foldwise.app.cli.paths import check_outputs, check_table
from foldwise.app.cli.table_options import TableOptions
from foldwise.app.cli.table_task import SpecialColumns, TableTask, chosen_specs, needs_probabilities, read_task
from foldwise.app.cli.tune_progress import TuneProgress
from foldwise.data.notes import counted
from foldwise.errors import InputError
from foldwise.fold_plan import FoldPlan

OUTER, INNER = FoldPlan(5), FoldPlan(5)  # folds that estimate, and folds inside them that select
PICTURES = (".png", ".svg", ".pdf")
WINNERS = 0.15  # of the time of the nested searches, in which their winners are scored
SHOWN = 5  # settings
SMOOTH = {False: ("logistic_regression", "naive_bayes"), True: ("ridge",)}  # models for gradient, by is_quantity
GRID = 5  # values of each parameter in a grid


@dataclass(frozen=True)
class TuneRequest:
    """The arguments of `foldwise tune`."""

    table: Path
    reading: TableOptions
    target: str
    model: str
    strategy: str
    trials: int | None
    budget: str | None
    metric: str | None
    seed: int
    jobs: int | None
    out: Path | None
    settings: Path | None
    plot: Path | None
    report: Path | None = None
    task: str | None = None
    cv: str | None = None
    test: Path | None = None
    special: SpecialColumns = field(default_factory=SpecialColumns)

    @property
    def outer(self) -> FoldPlan:
        """The folds that estimate."""
        return OUTER if self.cv is None else FoldPlan.of(self.cv)

    @property
    def n_outer(self) -> int:
        """The number of searches that estimate."""
        return self.outer.folds * self.outer.repeats


def tune(request: TuneRequest, *, as_json: bool, quiet: bool) -> None:
    """Tune a model and print what was found."""
    check_table(request.table, request.test)
    check_outputs({"out": request.out, "settings": request.settings, "plot": request.plot, "report": request.report})
    from sklearn.base import clone

    from foldwise.app.plain_values import plain
    from foldwise.app.table_facts import overrun
    from foldwise.app.timing import RunTimes, seconds_of
    from foldwise.evaluation import nested_cv
    from foldwise.evaluation.metrics.scoring import sign_and_title
    from foldwise.evaluation.plotting import pyplot
    from foldwise.folds.progress import counting_to
    from foldwise.tuning.strategies import NAMED

    if request.plot is not None and request.plot.suffix.lower() not in PICTURES:
        raise InputError(
            f"--plot must end in {PICTURES[0]}, {PICTURES[1]} or {PICTURES[2]}, got {request.plot.name!r}."
        )
    if request.plot is not None:
        pyplot()  # raises now rather than after the search if it is not installed
    seconds = None if request.budget is None else seconds_of(request.budget)
    if request.trials is not None and seconds is not None:
        raise InputError("--trials and --budget cannot be combined.", "pass one of them.")
    if request.trials is not None and request.trials < 1:
        raise InputError(f"--trials must be at least 1, got {request.trials}.")
    if request.strategy not in NAMED:
        raise InputError(f"--strategy must be one of {', '.join(NAMED)}, got {request.strategy!r}.")
    start = time.monotonic()
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # of fits in other processes, such as those of convergence
    task = task_of(request)
    search, rows = search_of(request, task), task.rows
    outer = rows.splits(request.outer, request.seed + 1)
    if not (quiet or as_json):
        rows.say_left_out()
    progress = TuneProgress(not (quiet or as_json), seconds)
    with progress, counting_to(progress.count), told_of_budget(request):
        n = request.n_outer
        progress.begin(f"estimating by nested cross-validation, {n} search{'es' if n > 1 else ''}")
        share = request.n_outer / (request.n_outer + 1)  # of the time: all searches get as much
        if seconds is not None:
            most = (1 - WINNERS) * share * (seconds - (time.monotonic() - start))
            search.set_params(timeout=max(0.1, most))
        given = {"groups": rows.split_by, **rows.weighted(search.estimator)}
        nested = nested_cv(clone(search), rows.table.X, rows.y, cv=outer, **given)
        progress.begin("searching on all rows")
        if seconds is not None:  # at least what was meant for it, if the others took longer
            search.set_params(timeout=max((1 - share) * seconds, seconds - (time.monotonic() - start)))
        search.fit(rows.table.X, rows.y, **given)
    elapsed = time.monotonic() - start
    late = (
        []
        if seconds is None
        else overrun(RunTimes(seconds, elapsed, progress.phases), "pass a smaller --budget or a faster --model")
    )
    tested = None if request.test is None else score_of_test(request, task, search)
    write_files(request, task, search)
    if request.report is not None:
        write_report(request, task, search, nested, elapsed)
    if as_json:
        sign, title = sign_and_title(nested.metric)
        best = {"setting": plain(search.best_params_), "score": sign * float(search.best_score_)}
        low, high = sorted(sign * end for end in nested.estimate.interval())
        honest = {"value": sign * nested.estimate.value, "low": low, "high": high, "metric": title, "test": tested}
        about = {"table": task.table.name, "target": request.target, "model": request.model}
        searched = {"strategy": request.strategy, "settings": len(search.cv_results_["params"])}
        print_json(
            {**about, **searched, "estimate": honest, "best": best, "default_tied": search.default_tied_, "notes": late}
        )
    elif not quiet:
        print(summary(request, task, search, nested, elapsed, tested))
        for words in late:
            print(f"\n{textwrap.fill(words, WIDTH)}")


@contextmanager
def told_of_budget(request: TuneRequest) -> Iterator[None]:
    """Say that the budget was too short, where a search only knows its own part of it."""
    from foldwise.tuning.running_search import ShortTimeoutError

    try:
        yield
    except ShortTimeoutError as error:
        raise InputError(
            f"--budget {request.budget} is too short: {request.n_outer + 1} searches share it, and one of them could "
            "not score a single setting.",
            "pass a longer --budget, or --trials instead.",
        ) from error


@dataclass(frozen=True)
class TuneTask:
    """The table and the model to tune."""

    rows: TableTask
    spec: Any
    outline: Any

    @property
    def table(self) -> Any:
        """The table of features, with its target."""
        return self.rows.table

    @property
    def is_quantity(self) -> bool:
        """Whether values are predicted, not classes."""
        return self.rows.is_quantity


def task_of(request: TuneRequest) -> TuneTask:
    """Read and check the input."""
    from foldwise.models import outline

    source = request.reading.source(request.table)
    rows = read_task(source, request.target, request.special, request.metric, request.task, request.outer)
    about = outline(rows.table, request.task)
    specs = chosen_specs(rows, about, [request.model])
    if not specs:
        raise InputError(f"--model {request.model!r} does not suit this table.", "choose another model.")
    return TuneTask(rows, specs[0], about)


def search_of(request: TuneRequest, task: TuneTask) -> Any:
    """The search that was asked for."""
    from foldwise.decisions import Calibrated
    from foldwise.tuning import SearchCV

    pipeline = task.spec.pipeline(task.outline, request.seed)
    space = {name: values for name, values in task.spec.space(task.outline).items() if name != "select"}
    if not space:
        raise InputError(f"--model {request.model!r} has nothing to tune on this table.", "choose another model.")
    if request.strategy == "grid":
        space = {name: values_of(name, values) for name, values in space.items()}
    if request.strategy == "gradient":
        check_smooth(request.model, pipeline, space, task.is_quantity)
    if task.spec.answers == "decision" and needs_probabilities(task.rows.scoring):
        pipeline, space = Calibrated(pipeline), {f"estimator__{name}": values for name, values in space.items()}
    return SearchCV(
        pipeline,
        space,
        strategy=request.strategy,
        n_trials=request.trials if request.budget is None else 100_000,
        scoring=task.rows.scoring,
        cv=task.rows.splitter(INNER, request.seed),
        n_jobs=-1 if request.jobs is None else request.jobs,
        random_state=request.seed,
    )


def check_smooth(model: str, pipeline: Any, space: Mapping[str, Any], is_quantity: bool) -> None:
    """Raise if no parameter of a model has a gradient."""
    from foldwise.tuning.smooth_losses import smooth_names

    if not smooth_names(pipeline) & space.keys():
        raise InputError(
            f"--strategy gradient cannot tune --model {model}, because its loss is not a smooth function of its "
            "parameters.",
            f"pass --model {' or '.join(SMOOTH[is_quantity])}, or another strategy such as bayesian.",
        )


def values_of(name: str, values: Any) -> Any:
    """The values of a parameter in a grid: of a distribution, some evenly spaced quantiles."""
    from foldwise.tuning.dimensions import dimension_of

    if not hasattr(values, "rvs"):
        return values
    dimension = dimension_of(name, values)
    return list(dict.fromkeys(dimension.from_unit(i / (GRID - 1)) for i in range(GRID)))


def write_files(request: TuneRequest, task: TuneTask, search: Any) -> None:
    """Write the model, the table of settings and the picture, as far as they were asked for."""
    if request.out is not None:
        from foldwise.decisions import Calibrated
        from foldwise.storage import save_model

        model = search.best_estimator_
        if not task.is_quantity and not hasattr(model, "predict_proba"):
            model = Calibrated(model).fit(task.table.X, task.table.y, sample_weight=task.rows.weights)
        metadata = {"reading": dict(task.table.reading)}
        save_model(request.out, model, task.table.X, target=request.target, metadata=metadata)
    if request.settings is not None:
        from foldwise.app.safe_cells import without_formulas

        without_formulas(search.to_frame()).write_csv(request.settings)
    if request.plot is not None:
        search.plot("overview").figure.savefig(request.plot, dpi=150)


def write_report(request: TuneRequest, task: TuneTask, search: Any, nested: Any, seconds: float) -> None:
    """Write the report: the honest estimate, the pictures of the strategy, and all settings."""
    from foldwise.app.run_folder import write_whole
    from foldwise.app.timing import seconds_of
    from foldwise.app.tune_facts import TunedModel, baseline_of, tune_facts
    from foldwise.evaluation import estimate
    from foldwise.evaluation.metrics.scoring import sign_and_title
    from foldwise.report import render

    assert request.report is not None
    sign, title = sign_and_title(nested.metric)
    rows, baseline = task.rows, baseline_of(task.is_quantity)
    cv, given = rows.splits(request.outer, request.seed + 1), rows.weighted(baseline)
    guessed = estimate(baseline, rows.table.X, rows.y, cv=cv, scoring=rows.scoring, groups=rows.split_by, **given)
    folds = (
        f"folds {rows.special.folds}"
        if rows.special.folds
        else f"{'random' if task.is_quantity else 'stratified'} folds"
    )
    made = {
        "command": typed_command(),
        "strategy": request.strategy,
        "seed": request.seed,
        "budget": None if request.budget is None else seconds_of(request.budget),
        "seconds": seconds,
    }
    tuned = TunedModel(
        task,
        search,
        nested,
        guessed,
        sign,
        title,
        INNER.folds,
        estimate_words(request.outer, request.special.folds),
        folds or "stratified folds",
        made,
    )
    write_whole(request.report, render(tune_facts(tuned)))


def score_of_test(request: TuneRequest, task: TuneTask, search: Any) -> float:
    """Score the best setting, fitted on all rows, on the separate test table."""
    from sklearn.base import clone

    from foldwise.evaluation import estimate
    from foldwise.evaluation.metrics.scoring import sign_and_title

    assert request.test is not None
    rows, cv = task.rows.with_test_rows(request.reading.source(request.test).read(request.target))
    model = clone(search.best_estimator_)
    found = estimate(model, rows.table.X, rows.y, cv=cv, scoring=rows.scoring, **rows.weighted(model))
    return float(sign_and_title(rows.scoring)[0] * found.value)


def summary(
    request: TuneRequest, task: TuneTask, search: Any, nested: Any, seconds: float, tested: float | None
) -> str:
    """What was found, the honest estimate first."""
    from foldwise.evaluation.metrics.scoring import sign_and_title
    from foldwise.evaluation.tables import number, numbers_of_column
    from foldwise.tuning.default_setting import default_words

    found, (sign, title) = search.cv_results_, sign_and_title(nested.metric)
    low, high = sorted(sign * end for end in nested.estimate.interval())
    ends = f"(95% interval {number(low)} to {number(high)})" if low == low else "(one split has no interval)"
    n_settings = len(found["params"])
    lines = [
        f"{task.spec.title} on {task.table.name}, target {request.target}",
        "",
        f"Honest estimate ({estimate_words(request.outer, request.special.folds)})",
        f"  {title} {number(sign * nested.estimate.value)} {ends}",
        f"  search score (optimistic): {number(sign * float(search.best_score_))}",
        *([] if tested is None else [f"  separate test table: {number(tested)}"]),
        "",
        f"Best of {counted(n_settings, 'setting')}, strategy {request.strategy}",
        *(f"  {name} = {shown(value)}" for name, value in named(search.best_params_).items()),
    ]
    lines += [f"  {words}" for words in [default_words(search, "it")] if words]
    order = found["rank_test_score"].argsort(kind="stable")[:SHOWN]
    lines += ["", f"{len(order)} best settings, by search score" if len(order) > 1 else "Its search score"]
    scores = {i: sign * float(found["mean_test_score"][i]) for i in order.tolist()}
    as_score = numbers_of_column(scores.values())
    lines += [
        f"  {as_score(scores[i]):>8}  "
        + ", ".join(f"{name} {shown(value)}" for name, value in named(found["params"][i]).items())
        for i in scores
    ]
    n_fits = nested.models_scored + search.models_scored_
    lines += ["", f"{n_fits:,} fits in {duration(seconds)}, including those that estimate the score."]
    files = {"model": request.out, "settings": request.settings, "plot": request.plot, "report": request.report}
    lines += [f"{what:9}{path}" for what, path in files.items() if path is not None]
    return "\n".join(lines)


def estimate_words(plan: FoldPlan, by: str = "") -> str:
    """How the estimate is made.

    >>> estimate_words(FoldPlan.of("2x3")), estimate_words(FoldPlan(5), "in order of day")
    ('nested cross-validation, 2 × 3 × 5 folds', 'nested cross-validation, 5 × 5 folds in order of day')
    """
    by = f" {by}" if by else ""
    if plan.held_out is not None:
        return (
            f"{plan.held_out:.0%} of the rows held out, settings selected by {INNER.folds} folds of the other rows{by}"
        )
    repeats = f"{plan.repeats} × " if plan.repeats > 1 else ""
    return f"nested cross-validation, {repeats}{plan.folds} × {INNER.folds} folds{by}"


def named(setting: dict[str, Any]) -> dict[str, Any]:
    """A setting by the short names of its parameters."""
    return {name.rpartition("__")[2]: value for name, value in setting.items()}


def shown(value: Any) -> str:
    """A value as text.

    >>> shown(0.123456), shown("rbf")
    ('0.1235', 'rbf')
    >>> shown({"age": "kde", "income": "kde"})
    'kde'
    """
    if isinstance(value, Mapping):
        return ", ".join(sorted({str(one) for one in value.values()}))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
