"""What a search tried: score against one hyperparameter, and over time with the best so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from foldwise.report.formatting import number, short
from foldwise.report.markup import Html, el
from foldwise.report.pictures.canvas import Plot, svg
from foldwise.report.pictures.scales import Scale, around

SHOWN = 400  # trials per picture
NAMES = 8  # categories per picture
LEAST_SPAN = 0.01  # of a score axis, as a share of the scores


class TrialDot(NamedTuple):
    """A setting in a picture."""

    at: float  # on the horizontal axis
    score: float
    whole: bool  # evaluated on as many folds as any other
    best: bool  # the setting that the report names


def thinned(dots: Sequence[TrialDot]) -> list[TrialDot]:
    """At most `SHOWN` dots in their order, always with the best."""
    if len(dots) <= SHOWN:
        return list(dots)
    step = len(dots) / (SHOWN - 1)
    kept = {int(k * step) for k in range(SHOWN - 1)}
    return [dot for i, dot in enumerate(dots) if dot.best or i in kept]


def score_scale(dots: Sequence[TrialDot], greater: bool) -> Scale:
    """A scale for the good scores; the worst sixth, often far off, lies at its edge."""
    ranked = sorted((dot.score for dot in dots), reverse=greater)
    shown = ranked[: max(2, len(ranked) - len(ranked) // 6)]
    least = LEAST_SPAN * max(abs(score) for score in shown)
    if 0 < max(shown) - min(shown) < least:  # otherwise all marks of the axis would read alike
        middle = (max(shown) + min(shown)) / 2
        shown = [middle - least / 2, middle + least / 2]
    return around(shown)


def cloud(plot: Plot, dots: Sequence[TrialDot], at: Callable[[float], str]) -> list[Html]:
    """All dots as two paths, which keeps the page small, and the best with its figures. `at` writes where it is."""
    found = []
    for whole, look in ((False, "cloud part"), (True, "cloud")):
        path = "".join(f"M{plot.x(dot.at):.1f} {plot.y(dot.score):.1f}h0" for dot in dots if dot.whole == whole)
        found += [el("path", d=path, class_=look)] if path else []
    best = (plot.dot(x, y, f"best: {number(y)} {at(x)}", "best", 4) for x, y, _, is_best in dots if is_best)
    return [*found, *best]


def against_number(name: str, dots: Sequence[TrialDot], metric: str, greater: bool) -> Html:
    """Score against a numeric hyperparameter, on a logarithmic scale if it spans magnitudes."""
    dots = thinned(dots)
    values = [dot.at for dot in dots]
    low, high = min(values), max(values)
    x = Scale(low, high, log=True) if low > 0 and high / low >= 50 else around(values, 0.04)
    plot = Plot.over(x, score_scale(dots, greater))
    about = f"{metric} of each setting against {name}."
    shown = cloud(plot, dots, lambda value: f"with {name} = {short(value)}")
    return svg(f"{metric} against {name}", about, plot.axes(name, metric, 4), *shown)


def against_category(name: str, dots: Sequence[TrialDot], labels: Sequence[str], metric: str, greater: bool) -> Html:
    """Score against a categorical hyperparameter, with one label per dot. The label of the best is always shown."""
    names = list(dict.fromkeys(labels))
    best = [label for label, dot in zip(labels, dots, strict=True) if dot.best and label not in names[:NAMES]]
    names = [*names[: NAMES - len(best)], *best]
    labeled = zip(labels, dots, strict=True)
    dots = thinned([dot._replace(at=float(names.index(label))) for label, dot in labeled if label in names])
    plot = Plot.over(Scale(-0.5, len(names) - 0.5), score_scale(dots, greater))
    axes = plot.axes(name, metric, 4, names)
    about = f"{metric} of each setting, by {name}."
    shown = cloud(plot, dots, lambda index: f"with {name} = {names[int(index)]}")
    return svg(f"{metric} by {name}", about, axes, *shown)


def over_time(dots: Sequence[TrialDot], metric: str, greater: bool) -> Html:
    """Each trial when it was done, and the best so far among those on the most folds."""
    dots = thinned(sorted(dots))
    best: float | None = None
    steps: list[tuple[float, float]] = []
    for at, score, whole, _ in dots:
        if whole and (best is None or (score > best if greater else score < best)):
            steps += [] if best is None else [(at, best)]
            best = score
            steps.append((at, score))
    steps.append((dots[-1].at, steps[-1][1]))
    plot = Plot.over(around([dot.at for dot in dots], 0.04), score_scale(dots, greater))
    line = plot.line([x for x, _ in steps], [y for _, y in steps], "best so far", "s0 thin")
    about = f"{metric} of each setting over time, and the best so far."
    axes = plot.axes("seconds since the start", metric, 4)
    shown = cloud(plot, dots, lambda seconds: f"after {short(round(seconds))} s")
    return svg(f"{metric} over time", about, axes, line, *shown)
