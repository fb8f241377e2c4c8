"""The other questions, with the facts that the report shows: outliers, rules, factors, the map, remarkable rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from foldwise.app.exploring.answers import QuestionAnswer, cell_text, cells_of
from foldwise.folds.protocol import Rows
from foldwise.unsupervised.associations.rules import association_rules
from foldwise.unsupervised.factors.find import find_factors
from foldwise.unsupervised.lookalikes import similar
from foldwise.unsupervised.maps.make import map_table
from foldwise.unsupervised.matrix import is_nested, is_numeric
from foldwise.unsupervised.outliers.finding import find_outliers
from foldwise.unsupervised.outliers.tails import FEWEST
from foldwise.unsupervised.ranking import rank_rows

SHOWN_OUTLIERS = 20
SHOWN_CELLS = 4  # of an outlier
SHOWN_RULES = 20
SHOWN_FACTORS, SHOWN_LOADINGS = 6, 8
SHOWN_ROWS = 5  # of each kind of remarkable rows
LOOKALIKES = 3
MAP_COLORS = 30  # columns that may color the map
MAP_LEVELS = 9  # categories with a color of their own
FEW_NUMBERS = 5  # different numbers that are colored as categories
RANKED_AGAINST = 2_000  # rows that each row is compared with


def ask_outliers(frame: pl.DataFrame, rows: Rows, seed: int) -> QuestionAnswer:
    """Which rows do not look like the others?"""
    if frame.height < FEWEST:
        none = f"At least {FEWEST} rows are needed to find outliers, and the table has {frame.height}."
        return QuestionAnswer({"none": none}, rows)
    found = find_outliers(frame, random_state=seed, n_jobs=1)
    shown = [
        {
            "row": int(rows[one.row]),
            "p": one.p_value,
            "q": one.q_value,
            "cells": [
                {"column": c.column, "value": cell_text(c.value), "reason": c.reason} for c in one.cells[:SHOWN_CELLS]
            ],
        }
        for one in found.outliers[:SHOWN_OUTLIERS]
    ]
    facts = {"n": len(found), "n_checked": frame.height, "alpha": found.alpha, "rows": shown, "notes": found.notes}
    flags = np.zeros(frame.height, dtype=bool)
    flags[found.rows] = True
    return QuestionAnswer(facts, rows, {"outlier": flags, "outlier_p_value": found.p_values})


def ask_rules(frame: pl.DataFrame, rows: Rows, seed: int) -> QuestionAnswer:
    """What occurs together?"""
    found = association_rules(frame, random_state=seed)
    names = ("support", "confidence", "base_rate", "lift", "q_value")
    shown = [
        {"if": list(one.antecedent), "then": one.consequent, **{name: getattr(one, name) for name in names}}
        for one in found.confirmed[:SHOWN_RULES]
    ]
    facts = {"n": len(found.confirmed), "summary": found.summary, "rules": shown, "left_out": list(found.left_out)}
    return QuestionAnswer(facts, rows)


def ask_factors(frame: pl.DataFrame, rows: Rows, seed: int) -> QuestionAnswer:
    """Which columns vary together?"""
    found = find_factors(frame, random_state=seed)
    factors = []
    for f in range(min(found.n_factors, SHOWN_FACTORS)):
        loading = found.loadings[:, f]
        largest = np.argsort(-np.abs(loading), kind="stable")[:SHOWN_LOADINGS]
        named = [[found.columns[i], float(loading[i])] for i in largest]
        factors.append({"share": float(found.explained[f]), "words": found.sentences[f], "loadings": named})
    facts = {
        "n": found.n_factors,
        "summary": found.summary,
        "factors": factors,
        "share_of_sum": found.method == "nmf",
        "left_out": list(found.left_out),
    }
    return QuestionAnswer(facts, rows)


def ask_map(frame: pl.DataFrame, rows: Rows, seed: int) -> QuestionAnswer:
    """What does the table look like?"""
    found = map_table(frame, random_state=seed)
    facts = {
        "summary": found.summary,
        "axes": list(found.axis_names),
        "rows": rows,
        "x": found.points[:, 0].round(4),
        "y": found.points[:, 1].round(4),
        "colors": [color for name in frame.columns[:MAP_COLORS] if (color := color_of(frame[name])) is not None],
        "names": frame.columns[:8],
        "cells": [[cell_text(cell, 30) for cell in line] for line in frame[:, :8].iter_rows()],
    }
    return QuestionAnswer(facts, rows, {"map_x": found.points[:, 0], "map_y": found.points[:, 1]})


def color_of(column: pl.Series) -> dict[str, Any] | None:
    """The values of a column as colors: shares between the least and the greatest number, or codes of categories.

    None if there is a color for hardly any row, as with identifiers and texts.
    """
    if is_nested(column.dtype):
        return None
    if is_numeric(column) and column.dtype != pl.Boolean and column.n_unique() > FEW_NUMBERS:
        values = column.cast(pl.Float64).fill_nan(None).to_numpy()
        if not np.isfinite(values).any():
            return None
        # the extreme hundredths share a color, so that one outlier does not leave one color for all other rows
        low, high = np.nanquantile(values[np.isfinite(values)], [0.01, 0.99], method="nearest")
        ranks = np.clip((values - low) / (high - low), 0, 1).round(3) if high > low else np.zeros(len(values))
        return {"name": column.name, "ends": [cell_text(float(low)), cell_text(float(high))], "values": ranks}
    texts = column.cast(pl.String)
    counts = texts.drop_nulls().value_counts(sort=True, name="n").sort(["n", column.name], descending=[True, False])
    levels = counts[column.name].head(MAP_LEVELS).to_list()
    if not levels or counts["n"].head(MAP_LEVELS).sum() < 0.5 * len(column):
        return None
    code = {level: k for k, level in enumerate(levels)}
    codes = [code.get(text, -1) for text in texts.to_list()]
    return {"name": column.name, "levels": [cell_text(level, 30) for level in levels], "values": codes}


def ask_ranking(frame: pl.DataFrame, rows: Rows, seed: int) -> QuestionAnswer:
    """Which rows matter most, and what do the look-alikes of the most central one differ in?"""
    found = rank_rows(frame, max_rows=RANKED_AGAINST, random_state=seed)
    lists = {"central": found.most_central(SHOWN_ROWS), "influential": found.most_influential(SHOWN_ROWS)}
    facts: dict[str, Any] = {
        kind: [{"row": int(rows[i]), "cells": cells_of(frame, i)} for i in chosen] for kind, chosen in lists.items()
    }
    central = lists["central"][0]
    if frame.height > 1:
        alike = similar(frame, central, min(LOOKALIKES, frame.height - 1), n_jobs=1)
        facts["lookalikes"] = {
            "row": int(rows[central]),
            "rows": [
                {
                    "row": int(rows[i]),
                    "distance": float(d),
                    "differences": [
                        [one.column, cell_text(one.value), cell_text(one.other)] for one in differences[:SHOWN_CELLS]
                    ],
                    "n_differences": len(differences),
                }
                for i, d, differences in zip(alike.rows, alike.distances, alike.differences, strict=True)
            ],
        }
    facts["leverage"] = [float(found.leverages[i]) for i in lists["influential"]]
    facts["mean_leverage"] = float(found.leverages.mean())
    return QuestionAnswer(facts, rows, {"mean_distance": found.distances, "leverage": found.leverages})
