"""The map: rows as points, with their cells at the pointer, colored by a cluster or any column."""

from __future__ import annotations

from typing import Any

from foldwise.report.facts import ReportFacts
from foldwise.report.markup import Html, el, embedded
from foldwise.report.pictures.scales import around
from foldwise.report.sections.elements import Section, paragraph
from foldwise.report.sections.exploration.answers import answer

WIDTH, HEIGHT, EDGE = 720, 480, 14


def map_section(facts: ReportFacts) -> Section | None:
    """What the table looks like."""
    found = facts.part("map")
    xs, ys, rows = found.numbers("x"), found.numbers("y"), found.items("rows")
    if found and not found.text("none") and (not xs or not len(xs) == len(ys) == len(rows)):
        return None
    body = [] if not xs else [paragraph(found.text("summary")), picture(found, xs, ys)]
    return answer("map", "Map", found, *body)


def picture(found: ReportFacts, xs: list[float], ys: list[float]) -> Html:
    """The points, and what the script needs to color them."""
    x, y = around(xs), around(ys)
    clusters = found.items("clusters")
    points = []
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        left = EDGE + (WIDTH - 2 * EDGE) * (a - x.low) / (x.high - x.low)
        down = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (b - y.low) / (y.high - y.low)
        group = f"f{(int(clusters[i]) - 1) % 6}" if i < len(clusters) else "f0"
        points.append(el("circle", cx=round(left, 1), cy=round(down, 1), r=3.2, class_=group))
    axes = found.texts("axes")
    names = [el("text", axes[0], x=WIDTH / 2, y=HEIGHT - 2, class_="label middle")] if axes and axes[0] else []
    if len(axes) > 1 and axes[1]:
        turned = f"rotate(-90 10 {HEIGHT / 2:.0f})"
        names.append(el("text", axes[1], x=10, y=HEIGHT / 2, transform=turned, class_="label middle"))
    about = f"{len(points):,} rows of the table as points"
    box = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "class_": "map", "id": "map-picture"}
    drawn = el("svg", el("title", "Map of the rows"), el("desc", about), el("g", *points), *names, **box)
    choice = el("label", "color by ", el("select", id="map-color"), class_="map-choice")
    tip = el("div", id="map-tip", class_="map-tip", hidden=True)
    legend = el("ul", id="map-legend", class_="legend")
    return el(
        "figure",
        choice,
        el("div", drawn, tip, class_="map-room"),
        legend,
        embedded(script_facts(found), "map-facts"),
        class_="card",
    )


def script_facts(found: ReportFacts) -> dict[str, Any]:
    """What the script shows at the pointer and colors by."""
    n = len(found.items("x"))
    colors: list[dict[str, Any]] = []
    if len(clusters := found.numbers("clusters")) == n:
        top = int(max(clusters))
        levels = [f"cluster {k}" for k in range(1, top + 1)]
        colors.append({"name": "cluster", "levels": levels, "values": [int(k) - 1 for k in clusters]})
    for one in found.records("colors"):
        values = one.items("values")
        if len(values) == n:
            kind = {"levels": one.texts("levels")} if one.items("levels") else {"ends": one.texts("ends")}
            colors.append({"name": one.text("name"), **kind, "values": values})
    cells = [[str(cell) for cell in line] for line in found.items("cells") if isinstance(line, list)]
    return {"rows": found.items("rows"), "names": found.texts("names"), "cells": cells, "colors": colors}
