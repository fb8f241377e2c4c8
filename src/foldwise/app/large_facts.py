"""What the report says about a table that is larger than memory: which model was trained on how many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from foldwise.app.final_model import CHANGED

if TYPE_CHECKING:
    from foldwise.app.result import FitResult


def large_words(result: FitResult, *, tested_outside: bool) -> str:
    """Say at the top of the report what was trained on how many rows, and which rows the estimate uses."""
    large, test = result.setup.task.large, result.setup.task.test
    if large is None:
        return ""
    sizes: dict[str, set[int]] = {}
    for one in result.final.trained:
        sizes.setdefault(one.title, set()).add(one.n_rows)
    alike: dict[str, list[str]] = {}
    for title, found in sizes.items():
        alike.setdefault(" and ".join(f"{n:,}" for n in sorted(found)), []).append(title)
    parts = [f"{in_words(titles)} {was(titles)} trained on {rows} rows" for rows, titles in alike.items()]
    words = f"{large.words} In the final model, {in_words(parts)}."
    if any(one.reason == CHANGED for one in result.final.trained):
        words += " The table changed during the run, so no model was trained on more than the sample."
    for error in dict.fromkeys(one.reason for one in result.final.trained if one.failed):
        titles = list(dict.fromkeys(one.title for one in result.final.trained if one.reason == error))
        words += f" {in_words(titles)} {was(titles)} not trained on more rows because of an error: {error}."
    if tested_outside and test is not None:
        return f"{words} It was tested on {len(test.y):,} other rows. No model was trained on them."
    return f"{words} The estimate is that of models that were trained on the sample."


def in_words(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def trained_words(result: FitResult) -> str:
    """Say on how many rows of the whole table the members were fitted again."""
    large, sizes = result.setup.task.large, sorted({one.n_rows for one in result.final.trained})
    assert large is not None
    shown = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return f"fitted again on {shown} of {large.n_rows:,} rows"


def trained_facts(result: FitResult) -> list[dict[str, Any]]:
    """The number of training rows of each member, and why there are not more; nothing for other tables."""
    members = result.final.trained or [None] * len(result.final.weights)
    return [{} if one is None else {"rows": one.n_rows, "only_sample": one.reason} for one in members]
