"""Everything a report shows, as plain facts: made once, when a run ends. Reports never compute."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from foldwise.app.choice import Honest
from foldwise.app.leaderboard import Line
from foldwise.app.measures import MEASURES, SHOWN, Measure, cost_measure
from foldwise.app.plainly import plain
from foldwise.app.worth import estimate_of, score_of
from foldwise.data.audit import Concern
from foldwise.evaluation.cost import choose
from foldwise.evaluation.estimates import Estimate
from foldwise.evaluation.prediction_curves import prediction_facts
from foldwise.evaluation.tables import number
from foldwise.models.selecting import ColumnsThatTell
from foldwise.storage.file import versions

if TYPE_CHECKING:
    from foldwise.app.blend import Blend
    from foldwise.app.run import Found, Session

FORMAT = 1
MOST_TRIALS = 400  # shown of a family
MANY_LEVELS = 12
SHARED = 0.05  # of a test's rows: fewer may be alike by chance
HOLDING_ROWS = ("knn", "rbf_svm")  # families whose models are made of training rows


def facts_of(
    session: Session,
    found: Found,
    model: Blend,
    lines: list[Line],
    *,
    rows: bool,
    command: str | None,
    asked: str,
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """All facts of a run, but those that take another look at the model (`extra`)."""
    task = session.task
    facts: dict[str, Any] = {
        "format": FORMAT,
        "title": task.table.name,
        "made": made(session, command, asked, rows),
        "task": task_facts(session),
        "audit": audit_facts(session, found, rows),
        "headline": headline(session, found, model, lines),
        "leaderboard": [line_facts(line, session) for line in lines],
        "searches": [search_facts(line, session) for line in lines if line.family is not None and line.family.entries],
        "predictions": said_facts(session, found),
        "final": final_facts(session, found),
        **extra,
    }
    return plain(facts)  # type: ignore[no-any-return]


def made(session: Session, command: str | None, asked: str, rows: bool) -> dict[str, Any]:
    entries = list(session.contest.entries)
    return {
        "command": command,
        "python": asked,
        "seed": session.seed,
        "budget": session.clock.budget,
        "seconds": session.clock.elapsed,
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "rows_included": rows,
        "interrupted": session.interrupted,
        "phases": [list(one) for one in session.clock.spent()],
        "n_models": sum(len(e.settings) * len(e.scores) for e in entries),
        "n_settings": sum(len(e.settings) for e in entries if e.scores),
    }


def task_facts(session: Session) -> dict[str, Any]:
    task, measure = session.task, session.measure
    named = task.named or {}
    costs = task.costs
    return {
        "target": task.table.target,
        "classes": [str(one) for one in task.classes.tolist()],
        "class_counts": task.counts.tolist(),
        "positive": None if task.positive is None else str(task.classes[task.positive]),
        "metric": measure.name,
        "metric_title": measure.title,
        "greater": measure.greater,
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
        "n_rows": task.n_rows,
        "n_columns": task.table.X.width,
        "n_folds": len(session.splits),
        "splitter": session.splitter,
    }


def audit_facts(session: Session, found: Found, rows: bool) -> dict[str, Any]:
    task = session.task
    audit = task.table.audit()
    columns = [column_facts(task.table.X[name], session) for name in task.table.X.columns]
    warnings = [warning(c) for c in audit if c.check in ("target", "duplicates", "alike")]
    if task.n_unlabelled:
        warnings.append(f"{task.n_unlabelled:,} rows without {task.table.target!r} were left out.")
    if session.lost:
        warnings.append(lost_words(session))
    warnings += unfinished_words(session)
    warnings += shared_words(session)
    specs = [found.kept[i].family.spec for i in session.members]
    inside = sorted({spec.title for spec in specs if spec.name in HOLDING_ROWS})
    if inside and not rows:
        warnings.append(f"The model file holds rows of data: {', '.join(inside)} cannot do without them.")
    few = [str(c) for c, n in zip(task.classes.tolist(), task.counts, strict=True) if n < len(session.splits)]
    if few:
        warnings.append(f"{', '.join(few)}: fewer rows than folds, so some models never saw one.")
    return {"columns": columns, "notes": [str(note) for note in task.table.notes], "warnings": warnings}


def lost_words(session: Session) -> str:
    """Members that were chosen and not fitted in time."""
    lost = ", ".join(f"{title} ({n})" if n > 1 else title for title, n in Counter(session.lost).items())
    are = "were" if len(session.lost) > 1 else "was"
    return (
        f"{lost} {are} chosen, but not fitted on all rows in time: the final model and its estimate are of the others. "
        "Give more time."
    )


def shared_words(session: Session) -> list[str]:
    """Rows of the separate test that the model has learned from, as far as cells tell."""
    test = session.task.test
    if test is None:
        return []
    learned = session.task.table.X.cast(pl.String).unique()
    shared = test.X.cast(pl.String).join(learned, on=learned.columns, how="semi", nulls_equal=True).height
    if shared < SHARED * test.X.height:
        return []
    return [
        f"{shared:,} of the {test.X.height:,} rows of the separate test stand in the table too, equal in every column: "
        "what was learned by heart is right there."
    ]


def unfinished_words(session: Session) -> list[str]:
    """A budget that was too short for most families."""
    families, n_splits = session.contest.families, len(session.splits)
    done = sum(any(e.complete(n_splits) for e in family.entries) for family in families)
    if 2 * done >= len(families):
        return []
    return [f"There was time for {done} of {len(families)} families of models only; with more time others may win."]


def warning(concern: Concern) -> str:
    """A concern of the audit as a sentence."""
    if concern.check == "duplicates":
        return f"{concern.rows:,} rows are there more than once ({concern.detail}); a copy may be tested by its twin."
    start = {"target": "may give the target away", "alike": "has categories that may be one"}[concern.check]
    return f"{concern.column} {start}: {concern.detail}."


def column_facts(column: pl.Series, session: Session) -> dict[str, Any]:
    about = session.task.outline
    left_out = about.left_out.get(column.name)
    return {
        "name": column.name,
        "role": about.roles.get(column.name, "left out"),
        "missing": column.null_count() / max(1, len(column)),
        "n_distinct": column.drop_nulls().n_unique(),
        "summary": summary(column),
        "left_out": left_out,
    }


def summary(column: pl.Series) -> str:
    """A column in a few words."""
    cells = column.drop_nulls()
    if not len(cells):
        return "empty"
    if cells.dtype.is_integer():
        low, mid, high = (f"{float(q):,.12g}" for q in np.quantile(cells.to_numpy(), [0, 0.5, 1]))
        return f"{low} to {high}, median {mid}"
    if cells.dtype.is_numeric():
        low, mid, high = (number(float(q)) for q in np.quantile(cells.to_numpy(), [0, 0.5, 1]))
        return f"{low} to {high}, median {mid}"
    if cells.dtype.is_temporal():
        return f"{cells.min()!s} to {cells.max()!s}"
    top = cells.cast(pl.String).value_counts(sort=True)
    if top.height > MANY_LEVELS and top["count"][0] < 0.02 * len(cells):
        return f"{top.height:,} different values"
    shown = [f"{name[:24]} {100 * n / len(cells):.0f} %" for name, n in top.head(3).iter_rows()]
    return ", ".join(shown) + (", …" if top.height > 3 else "")


def estimate_facts(estimate: Estimate, measure: Measure) -> dict[str, Any]:
    low, high = estimate.interval()
    return {
        "value": estimate.value,
        "low": low,
        "high": high,
        "naive": estimate.naive,
        "method": estimate.method,
        "title": measure.title,
        "greater": measure.greater,
        "text": str(estimate),
    }


def shown_measures(session: Session) -> list[Measure]:
    """The measure that chose, the cost where costs are given, then the usual ones."""
    task = session.task
    costs = [] if task.costs is None else [cost_measure(task.costs, task.classes)]
    others = [*costs, *(MEASURES[name] for name in SHOWN)]
    return [session.measure, *(one for one in others if one.name != session.measure.name)]


def worth_of(session: Session, found: Found, measure: Measure) -> Estimate:
    """What the whole choice is worth, and beside it the score by the choice that saw all folds."""
    stack = found.stack
    seen = Honest(found.honest.places, found.naive, found.honest.folds)  # the same rows, by the choice that saw them
    naive = score_of(seen, stack, measure)
    worth = estimate_of(found.honest, stack, measure, session.splits, naive=naive, groups=session.task.groups)
    gain = session.learning.gain(measure) if session.learning else 0.0
    if not gain:
        return worth
    share = len(session.splits[-1].train) / session.task.n_rows
    allowed = f"the interval allows for {number(abs(gain))} that the rest may be worth to the final model"
    return replace(
        worth, gain=gain, method=f"{worth.method}; of models that learned from {percent(share)} of the rows: {allowed}"
    )


def headline(session: Session, found: Found, model: Blend, lines: list[Line]) -> dict[str, Any]:
    stack, splits = found.stack, session.splits
    base = lines[-1]
    assert base.honest is not None
    others = []
    estimates: dict[str, Estimate] = {}
    bases: dict[str, Estimate] = {}
    for measure in shown_measures(session):
        estimates[measure.name] = worth_of(session, found, measure)
        bases[measure.name] = estimate_of(base.honest, stack, measure, splits)
        if measure is not session.measure:
            others.append(
                {
                    "metric": measure.name,
                    "title": measure.title,
                    "greater": measure.greater,
                    "estimate": estimate_facts(estimates[measure.name], measure),
                    "baseline": bases[measure.name].value,
                }
            )
    return {
        "words": words(session, lines, estimates, bases),
        "estimate": estimate_facts(estimates[session.measure.name], session.measure),
        "baseline": estimate_facts(bases[session.measure.name], session.measure),
        "others": others,
        "test": test_facts(session, model),
    }


def words(
    session: Session, lines: list[Line], estimates: Mapping[str, Estimate], bases: Mapping[str, Estimate]
) -> list[str]:
    """What to tell somebody who will not read further."""
    task = session.task
    right, usual = estimates["accuracy"], bases["accuracy"]
    low, high = right.interval()
    said = []
    start = "On new rows the model is"
    if task.costs is not None:
        said.append(
            f"Deciding by least expected cost, the model is expected to cost {number(estimates['cost'].value)} a new "
            f"row; the same action for every row costs {number(bases['cost'].value)}."
        )
        start = "Naming the likeliest class instead, it would be"
    said.append(
        f"{start} {'' if said else 'expected to be '}right in {percent(right.value)} of cases ({percent(low)} to "
        f"{percent(high)}); always naming the most frequent class is right in {percent(usual.value)}."
    )
    own, base = estimates[session.measure.name], bases[session.measure.name]
    worse = session.measure.better(own.value) <= session.measure.better(base.value)
    if worse:
        said.append(
            "That is no better than guessing by the shares of the classes: these columns do not tell the target."
        )
    tied = [line.title for line in lines if line.tied and line.family is not None]
    if len(tied) > 1:
        said.append(f"The best single family is {tied[0]}; not to be told apart from it: {', '.join(tied[1:])}.")
    if session.interrupted:
        said.append("The run was stopped early; with more time it might have found better models.")
    return said


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def test_facts(session: Session, model: Blend) -> dict[str, Any] | None:
    """Scores on a separate test."""
    if session.task.test is None:
        return None
    test = session.task.test
    proba = model.predict_proba(test.X.select(session.X.columns))
    scores = [
        {"title": m.title, "metric": m.name, "value": m(test.codes, proba, test.weights)}
        for m in shown_measures(session)
    ]
    return {"n_rows": len(test.codes), "scores": scores}


def line_facts(line: Line, session: Session) -> dict[str, Any]:
    entry = line.best
    return {
        "family": line.name,
        "title": line.title,
        "status": line.status,
        "why": line.why,
        "settings": {} if entry is None else settings_shown(entry[0].settings[entry[1]]),
        "estimate": None if line.estimate is None else estimate_facts(line.estimate, session.measure),
        "folds": None if line.folds is None else line.folds.tolist(),
        "tied": line.tied,
        "p": line.p,
        "seconds": 0.0 if line.family is None else line.family.spent,
        "n_settings": 0 if line.family is None else sum(len(e.settings) for e in line.family.entries if e.scores),
        "weight": line.weight,
    }


def settings_shown(setting: Mapping[str, Any]) -> dict[str, str]:
    """Settings by their own names, values in short."""
    return {short_name(name): short_value(value) for name, value in setting.items()}


def short_name(name: str) -> str:
    return name.removeprefix("model__").removeprefix("estimator__")


def short_value(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.3g}"
    if isinstance(value, ColumnsThatTell):
        return f"{100 * value.share:.0f} % of the columns"
    if isinstance(value, Mapping):
        kinds = sorted({str(one) for one in value.values()})
        return ", ".join(kinds)
    return str(value)


def search_facts(line: Line, session: Session) -> dict[str, Any]:
    assert line.family is not None
    sign = 1.0 if session.measure.greater else -1.0
    trials = []
    for entry in line.family.entries:
        if not entry.scores:
            continue
        table = np.array([entry.scores[k] for k in sorted(entry.scores)])
        for i, setting in enumerate(entry.settings):
            score = float(table[:, i].mean())
            trials.append(
                {
                    "settings": {short_name(n): as_number(v) for n, v in setting.items()},
                    "score": sign * score if np.isfinite(score) else None,
                    "folds": len(entry.scores),
                    "seconds": float(np.mean(list(entry.seconds.values()))) / len(entry.settings),
                    "at": entry.at,
                }
            )
    trials.sort(key=lambda one: (-one["folds"], one["at"]))  # type: ignore[operator]
    return {"family": line.name, "title": line.title, "trials": trials[:MOST_TRIALS]}


def as_number(value: Any) -> float | int | str:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return short_value(value)
    return int(value) if isinstance(value, int | np.integer) else float(value)


def said_facts(session: Session, found: Found) -> dict[str, Any]:
    task, honest = session.task, found.honest
    codes = found.stack.codes[honest.places]
    classes = [str(one) for one in task.classes.tolist()]
    said = None
    if task.costs is not None:
        table = task.costs.costs_of(task.classes)
        said = np.asarray([str(one) for one in task.costs.actions])[
            choose(np.ascontiguousarray(honest.proba), table)[0]
        ]
    positive = None if task.positive is None else classes[task.positive]
    weights = found.stack.weighing(honest.places)
    costs = None if task.costs is None else task.costs
    return prediction_facts(codes, honest.proba, classes, said=said, positive=positive, weights=weights, costs=costs)


def final_facts(session: Session, found: Found) -> dict[str, Any]:
    members = []
    for i, weight in sorted(session.members.items(), key=lambda one: -one[1]):
        one = found.kept[i]
        members.append({"title": one.family.spec.title, "weight": weight, "settings": settings_shown(one.params)})
    inverse = getattr(found.chosen.map, "inverse", 1.0)
    what = str(members[0]["title"]) if len(members) == 1 else f"a weighted mean of {len(members)} models"
    return {
        "words": f"{what[0].upper()}{what[1:]}, fitted again on all {session.task.n_rows:,} rows.",
        "members": members,
        "calibration": f"temperature {1 / inverse:.3g}, learned from out-of-fold predictions",
        "what": what,
        "decides": "It takes the action of least expected cost."
        if session.task.costs is not None
        else "It names the likeliest class.",
        "n_rows": session.task.n_rows,
    }
