"""The summary of a run: as text for the terminal, and as a small HTML table for notebooks."""

from __future__ import annotations

import textwrap
from typing import Any

from foldwise.data.notes import counted
from foldwise.evaluation.estimates import SEARCH_SCORE
from foldwise.evaluation.tables import number, numbers_of_column
from foldwise.report.markup import Html, el, join
from foldwise.report.sections.elements import bullets, paragraph, table
from foldwise.report.sections.leaderboard import membership, two_estimates

SHOWN_MODELS = 8
SHOWN_LEFT_OUT = 6
SHOWN_SLICES = 2  # differences
WIDTH = 76  # of sentences on a terminal of 80 columns
TIED = "† statistically tied with the best estimate (p above 0.05)"
BULLET_PREFIX = ("  - ", "    ")
ABBREVIATIONS = {
    "area under the ROC curve": "ROC AUC",
    "mean absolute error": "MAE",
    "root mean squared error": "RMSE",
}


def summary_text(facts: dict[str, Any]) -> str:
    """Format the estimates, the leaderboard and the warnings of a run as text."""
    task, final = facts["task"], facts["final"]
    lines = [
        overview(facts),
        "",
        *textwrap.wrap(facts["headline"]["words"][0], WIDTH, initial_indent="  ", subsequent_indent="  "),
        "",
        *estimate_lines(facts),
        *test_lines(facts["headline"]["test"]),
        *coverage_lines(facts.get("coverage")),
        "",
        f"  {'model':<31} {model_score_title(task['metric_title']):>9}  {'95% interval':<18} tied†  weight",
        *(
            f"  {title[:31]:<31} {value:>9}  {ends:<18} {tied:<5}  {weight}"
            for title, value, ends, tied, weight in models(facts)
        ),
        *(f"  {words}" for words in (TIED, more_models(facts)) if words),
        *sentence_lines(without_weight(facts)),
        *slice_lines(facts.get("slices")),
        "",
        f"  {tried(facts)}",
        *textwrap.wrap(f"final model: {final['description']}", WIDTH, initial_indent="  ", subsequent_indent="    "),
        *left_out_lines(task.get("left_out") or []),
        *warning_lines(facts["audit"]["warnings"]),
    ]
    return "\n".join(line.rstrip() for line in lines)


def summary_html(facts: dict[str, Any]) -> str:
    """Format the same as HTML, with all text escaped."""
    task = facts["task"]
    heads = ["model", task["metric_title"], "95% interval", "tied with the best", "weight"]
    warnings, more = facts["audit"]["warnings"], more_models(facts)
    parts: list[Html | None] = [
        el("strong", overview(facts)),
        *map(paragraph, facts["headline"]["words"]),
        table(["metric", "estimate", "95% interval", SEARCH_SCORE, "baseline"], estimates(facts), left=(0, 2)),
        table(heads, models(facts), left=(0, 2)),
        paragraph(f"{more}.") if more else None,
        paragraph(f"{tried(facts)}. {facts['final']['words']}"),
        el("strong", "Warnings") if warnings else None,
        bullets(warnings),
    ]
    return el("div", join(parts))


def tried(facts: dict[str, Any]) -> str:
    """Say how many settings were evaluated."""
    made, n_folds = facts["made"], facts["task"]["n_folds"]
    settings = f"{made['n_settings']:,} setting{'s' * (made['n_settings'] != 1)}"
    seconds, n_sessions = made["seconds"] + made.get("seconds_before", 0.0), made.get("n_sessions", 1)
    sessions = f" over {n_sessions} sessions" if n_sessions > 1 else ""
    return f"{settings} tried on up to {n_folds} folds in {seconds:.0f} s{sessions}"


def overview(facts: dict[str, Any]) -> str:
    """One line on the table."""
    task = facts["task"]
    columns = f"{task['n_columns']:,} column{'s' * (task['n_columns'] != 1)}"
    what = f"{len(task['classes'])} classes of {task['target']!r}" if task["classes"] else f"target {task['target']!r}"
    held_out = (facts["headline"]["test"] or {}).get("share") or (facts.get("coverage") or {}).get("guaranteed")
    rows = "training rows" if held_out else "rows"  # the table has more rows than the models learn from
    return f"{facts['title']}: {task['n_rows']:,} {rows}, {columns}, {what}"


def estimates(facts: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Title, estimate, interval, search score and baseline of each metric, first of the one that chose the models."""
    head = facts["headline"]
    found = [(facts["task"]["metric_title"], head["estimate"], head["baseline"]["value"])]
    found += [(one["title"], one["estimate"], one["baseline"]) for one in head["others"]]
    rows = []
    for title, estimate, baseline in found:
        figures = [number(value) for value in (estimate["search_score"], baseline)]
        rows.append((title, number(estimate["value"]), interval_of(estimate), *figures))
    return rows


def interval_of(estimate: dict[str, Any]) -> str:
    return f"{number(estimate['low'])} to {number(estimate['high'])}"


def estimate_lines(facts: dict[str, Any]) -> list[str]:
    """Format the estimates as a table."""
    head = f"  {'':<25} {'estimate':>8}  {'95% interval':<16}  {'search score*':>13}  {'baseline':>8}"
    rows = [
        f"  {short_title(title)} {value:>8}  {ends:<16}  {search:>13}  {baseline:>8}"
        for title, value, ends, search, baseline in estimates(facts)
    ]
    return [head, *rows, "  * usually optimistic: cross-validated on the rows used to select the model"]


def models(facts: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Title, estimate, interval, tie and weight of the best models, those of the final model, and the baseline."""
    *others, baseline = [one for one in facts["leaderboard"] if one["estimate"]]
    rated = [*(one for i, one in enumerate(others) if i < SHOWN_MODELS or one["weight"]), baseline]
    shown = numbers_of_column(one["estimate"]["value"] for one in rated)
    rows = []
    for one in rated:
        estimate, weight = one["estimate"], f"{one['weight']:.2f}" if one["weight"] else ""
        interval = f"{shown(estimate['low'])} to {shown(estimate['high'])}"
        rows.append((one["title"], shown(estimate["value"]), interval, "yes" if one["tied"] else "", weight))
    return rows


def more_models(facts: dict[str, Any]) -> str:
    """Say how many models are not shown; empty if all are."""
    n_more = sum(bool(one["estimate"]) for one in facts["leaderboard"]) - len(models(facts))
    return f"{counted(n_more, 'more model')} {'is' if n_more == 1 else 'are'} in the report" if n_more else ""


def sentence_lines(words: str) -> list[str]:
    """Format a sentence after an empty line; nothing without words."""
    return ["", *textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="    ")] if words else []


def without_weight(facts: dict[str, Any]) -> str:
    """Say how the model with the best estimate is related to the final model, if that is not plain from its weight."""
    best, *others = [one for one in facts["leaderboard"] if one["estimate"]] or [{"weight": 1}]
    if best["weight"] == 1 and best.get("estimate"):
        differs = number(best["estimate"]["value"]) != number(facts["headline"]["estimate"]["value"])
        words = two_estimates(several_models=len(others) > 1)  # the baseline is one of them
        return f"The final model is {best['title']} alone. {words}" if differs else ""
    members = [one["title"] for one in others if one["weight"]]
    if best["weight"] or not members:
        return ""
    return membership(best["title"], members, quantity=facts["task"]["task"] == "regression")


def slice_lines(slices: dict[str, Any] | None) -> list[str]:
    """Say which slices differ most; nothing if no slices were requested."""
    if not slices:
        return []
    *clear, _ = slices["words"] or [""]
    if not slices.get("tests", 1):
        return sentence_lines("slices: none could be tested. The report says why, and shows all scores.")
    if not clear:
        return sentence_lines("slices: none differs clearly from the rest. All scores are in the report.")
    shown = clear[:SHOWN_SLICES]
    if len(clear) > SHOWN_SLICES:
        shown.append(f"{counted(len(clear) - SHOWN_SLICES, 'more difference')} in the report.")
    return ["", "  slices", *bullet_lines(shown)]


def short_title(title: str) -> str:
    """Pad the title of a metric to 25 characters, without how it averages over classes.

    >>> short_title("area under the ROC curve, mean over classes")
    'area under the ROC curve '
    """
    return f"{title.split(',')[0]:<25}"


def model_score_title(metric: str) -> str:
    """The head of the column of scores: the metric or its abbreviation, if that is short enough.

    >>> [model_score_title(metric) for metric in ("log loss", "root mean squared error", "balanced accuracy")]
    ['log loss', 'RMSE', 'estimate']
    """
    metric = ABBREVIATIONS.get(metric.split(",")[0], metric)
    return metric if len(metric) <= len("mean cost") else "estimate"


def left_out_lines(left_out: list[tuple[str, str]]) -> list[str]:
    """Name the columns that are not features, each with its reason."""
    if not left_out:
        return []
    named = "; ".join(f"{name!r} ({reason})" for name, reason in left_out[:SHOWN_LEFT_OUT])
    more = f"; and {len(left_out) - SHOWN_LEFT_OUT} more" if len(left_out) > SHOWN_LEFT_OUT else ""
    return textwrap.wrap(f"not used as features: {named}{more}", WIDTH, initial_indent="  ", subsequent_indent="    ")


def warning_lines(warnings: list[str]) -> list[str]:
    """Format the warnings as a list."""
    return ["", "  warnings", *bullet_lines(warnings)] if warnings else []


def bullet_lines(sentences: list[str]) -> list[str]:
    """Format sentences as a list."""
    first, other = BULLET_PREFIX
    wrapped = [textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=other) for words in sentences]
    return [line for lines in wrapped for line in lines]


def coverage_lines(coverage: dict[str, Any] | None) -> list[str]:
    """Format the coverage of intervals or sets."""
    if not coverage:
        return []
    found, quantity = coverage["measured"], coverage["quantity"]
    what = "intervals" if quantity else "sets"
    size = ""
    if found["size"] is not None:
        size = (
            f", mean width {number(found['size'])}" if quantity else f", {found['size']:.2f} classes per set on average"
        )
    promise = f"guaranteed by {coverage['rows']:,} rows that were set aside"
    promise = promise if coverage["guaranteed"] else "not guaranteed"
    ends = f"95% interval {100 * found['low']:.1f}% to {100 * found['high']:.1f}%"
    words = (
        f"prediction {what} with {100 * coverage['level']:g}% coverage ({promise}): measured coverage "
        f"{100 * found['value']:.1f}% ({ends}){size}"
    )
    return ["", *textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="    ")]


def test_lines(test: dict[str, Any] | None) -> list[str]:
    """Format the scores on a separate test table."""
    if test is None:
        return []
    scores = (
        f"  {short_title(one['title'])} {'–' if one['value'] is None else number(one['value'])}"
        for one in test["scores"]
    )
    unseen = f", {test['n_unseen']:,} of unseen classes" if test.get("n_unseen") else ""
    what = f"held-out {test['share']:.0%} of the rows" if test.get("share") else "separate test table"
    what = "rows that are not in the sample" if test.get("outside") else what
    return ["", f"  {what} ({counted(test['n_rows'], 'row')}{unseen})", *scores]
