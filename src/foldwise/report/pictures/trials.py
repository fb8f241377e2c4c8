"""What a search tried: score against one hyperparameter, and over time with the best so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foldwise.report.formatting import number, short
from foldwise.report.markup import Html, el
from foldwise.report.pictures.canvas import Plot, svg
from foldwise.report.pictures.scales import Scale, around

SHOWN = 400  # trials per picture
NAMES = 8  # categories per picture
Point = tuple[float, float]


def thinned(points: Sequence[Point], greater: bool) -> list[Point]:
    """At most `SHOWN` points in their order, always with the best."""
    if len(points) <= SHOWN:
        return list(points)
    best = max(range(len(points)), key=lambda i: points[i][1] if greater else -points[i][1])
    step = len(points) / (SHOWN - 1)
    return [points[i] for i in sorted({best, *(int(k * step) for k in range(SHOWN - 1))})]


def score_scale(scores: Sequence[float], greater: bool) -> Scale:
    """A scale for the good scores; the worst sixth, often far off, lies at its edge."""
    ranked = sorted(scores, reverse=greater)
    return around(ranked[: max(2, len(ranked) - len(ranked) // 6)])


def cloud(plot: Plot, points: Sequence[Point], greater: bool, at: Callable[[float], str]) -> list[Html]:
    """All points as one path, which keeps the page small, and the best with its figures. `at` writes where it is."""
    dots = "".join(f"M{plot.x(x):.1f} {plot.y(y):.1f}h0" for x, y in points)
    x, y = (max if greater else min)(points, key=lambda point: point[1])
    return [el("path", d=dots, class_="cloud"), plot.dot(x, y, f"best: {number(y)} {at(x)}", "best", 4)]


def against_number(name: str, points: Sequence[Point], metric: str, greater: bool) -> Html:
    """Score against a numeric hyperparameter, on a logarithmic scale if it spans magnitudes."""
    points = thinned(points, greater)
    values = [x for x, _ in points]
    low, high = min(values), max(values)
    x = Scale(low, high, log=True) if low > 0 and high / low >= 50 else around(values, 0.04)
    plot = Plot.over(x, score_scale([y for _, y in points], greater))
    about = f"{metric} of each setting against {name}."
    dots = cloud(plot, points, greater, lambda value: f"with {name} = {short(value)}")
    return svg(f"{metric} against {name}", about, plot.axes(name, metric, 4), *dots)


def against_category(name: str, points: Sequence[tuple[str, float]], metric: str, greater: bool) -> Html:
    """Score against a categorical hyperparameter."""
    names = list(dict.fromkeys(label for label, _ in points))[:NAMES]
    points_at = [(float(names.index(label)), y) for label, y in points if label in names]
    points_at = thinned(points_at, greater)
    plot = Plot.over(Scale(-0.5, len(names) - 0.5), score_scale([y for _, y in points_at], greater))
    axes = plot.axes(name, metric, 4, names)
    about = f"{metric} of each setting, by {name}."
    dots = cloud(plot, points_at, greater, lambda index: f"with {name} = {names[int(index)]}")
    return svg(f"{metric} by {name}", about, axes, *dots)


def over_time(points: Sequence[Point], metric: str, greater: bool) -> Html:
    """Each trial when it was done, and the best so far."""
    points = thinned(sorted(points), greater)
    best: float | None = None
    steps: list[Point] = []
    for at, score in points:
        if best is None or (score > best if greater else score < best):
            steps += [] if best is None else [(at, best)]
            best = score
            steps.append((at, score))
    steps.append((points[-1][0], steps[-1][1]))
    plot = Plot.over(around([at for at, _ in points], 0.04), score_scale([y for _, y in points], greater))
    line = plot.line([x for x, _ in steps], [y for _, y in steps], "best so far", "s0 thin")
    about = f"{metric} of each setting over time, and the best so far."
    axes = plot.axes("seconds since the start", metric, 4)
    dots = cloud(plot, points, greater, lambda seconds: f"after {short(round(seconds))} s")
    return svg(f"{metric} over time", about, axes, line, *dots)
