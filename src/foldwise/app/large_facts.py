"""What the report says about a table that is larger than memory: which model was trained on how many rows."""

from __future__ import annotations

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
    parts = [
        f"{title} was trained on {' and '.join(f'{n:,}' for n in sorted(found))} rows" for title, found in sizes.items()
    ]
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    words = f"{large.words} In the final model, {listed}."
    if any(one.reason == CHANGED for one in result.final.trained):
        words += " The table changed during the run, so no model was trained on more than the sample."
    if tested_outside and test is not None:
        return f"{words} It was tested on {len(test.y):,} other rows. No model was trained on them."
    return f"{words} The estimate is that of models that were trained on the sample."


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
