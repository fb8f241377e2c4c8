"""The families side by side: what each is worth, and which are tied with the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foldwise.app.choice import Honest, Stack, crossed_family, prior_only
from foldwise.app.entries import Entry, Family
from foldwise.app.measures import Floats
from foldwise.app.worth import differs, estimate_of, fold_scores
from foldwise.evaluation.comparing.paired import holm
from foldwise.evaluation.estimates import Estimate

if TYPE_CHECKING:
    from foldwise.app.run import Found, Session

LEVEL = 0.05
CHOSEN = "the family's settings chosen again without the rows of each fold"


@dataclass(frozen=True)
class Line:
    """One line of the leaderboard."""

    name: str
    title: str
    family: Family | None
    honest: Honest | None
    estimate: Estimate | None
    folds: Floats | None
    best: tuple[Entry, int] | None
    status: str
    why: str
    p: float | None
    tied: bool
    weight: float


def leaderboard(session: Session, found: Found) -> list[Line]:
    """The final model first, then families from the best to the worst, then what did not finish, then the baseline."""
    stack, measure, splits = found.stack, session.measure, session.splits
    groups = session.task.groups
    n_splits = len(splits)

    def worth(honest: Honest, naive: float | None, method: str | None = None) -> tuple[Estimate, Floats]:
        given = {} if method is None else {"method": method}
        return (
            estimate_of(honest, stack, measure, splits, naive=naive, groups=groups, **given),
            fold_scores(honest, stack, measure),
        )

    lines: list[Line] = []
    for family in session.contest.families:
        done = [e for e in family.entries if e.complete(n_splits) and e.usable()]
        if not done:
            why = family.why or ("the time was over" if family.entries else "there was no time for it")
            status = family.status if family.why else "not finished"
            lines.append(
                Line(family.spec.name, family.spec.title, family, None, None, None, None, status, why, None, False, 0.0)
            )
            continue
        honest, entry, i = crossed_family(stack, done, session.keeper)
        naive = float(np.mean([entry.scores[k][i] for k in stack.scored]))
        estimate, folds = worth(honest, naive if measure.greater else -naive, CHOSEN)
        weight = sum(w for i, w in session.members.items() if found.kept[i].family is family)
        lines.append(
            Line(
                family.spec.name,
                family.spec.title,
                family,
                honest,
                estimate,
                folds,
                (entry, i),
                "ok",
                "",
                None,
                False,
                weight,
            )
        )
    for spec, why in session.skipped:
        lines.append(Line(spec.name, spec.title, None, None, None, None, None, "failed", why, None, False, 0.0))
    prior = prior_only(stack, session.keeper)
    base, base_folds = worth(prior, None, "shares of the classes among training rows")
    baseline = Line(
        "baseline", "always the shares of classes", None, prior, base, base_folds, None, "ok", "", None, False, 0.0
    )
    rated = [line for line in lines if line.estimate is not None]
    rated.sort(key=lambda line: -measure.better(line.estimate.value))  # type: ignore[union-attr]
    rest = [line for line in lines if line.estimate is None]
    best = rated[0]
    lines = [tested(line, best, session, stack) for line in [*rated, baseline]]
    return [*judged(lines)[:-1], *rest, judged(lines)[-1]]


def judged(lines: list[Line]) -> list[Line]:
    """The lines with p adjusted for all comparisons with the first (Holm), and what that leaves tied with it."""
    known = [at for at, line in enumerate(lines) if line.p is not None]
    adjusted = dict(zip(known, holm([lines[at].p or 0.0 for at in known]).tolist(), strict=True)) if known else {}
    return [
        Line(**{**vars(line), "p": adjusted.get(at), "tied": at == 0 or adjusted.get(at, 0.0) > LEVEL})
        for at, line in enumerate(lines)
    ]


def tested(line: Line, best: Line, session: Session, stack: Stack) -> Line:
    """The line with what the corrected test says of it and the best."""
    assert line.honest is not None
    assert best.honest is not None
    test = None if line is best else differs(best.honest, line.honest, stack, session.measure, session.splits)
    p = None if test is None or not np.isfinite(test.p) else float(test.p)
    return Line(**{**vars(line), "p": p})
