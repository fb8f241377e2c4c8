"""SQL of boosted trees: scikit-learn's histogram gradient boosting, LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldwise.exports.sql.forests import summed_values
from foldwise.exports.sql.outputs import ClassOutput, from_log_odds
from foldwise.exports.sql.program import Feature, Input, SqlProgram
from foldwise.exports.trees.readers import read_boosted


def raw_scores(model: Any, inputs: Sequence[Input], program: SqlProgram) -> list[str]:
    """Return one column per class, or a single one."""
    boosted = read_boosted(model)
    features = program.numbers(inputs)
    if boosted.known:
        known = [
            Feature(listed_only(feature, boosted.known[j], program)) if j in boosted.known else feature
            for j, feature in enumerate(features)
        ]
        features = program.numbers(known)
    return summed_values(boosted.forests, boosted.starts, features, program)


def listed_only(feature: Feature, values: Sequence[float], program: SqlProgram) -> str:
    """Return a cell, or NULL if it is none of some values."""
    cell = feature.as_value(program.dialect)
    return f"CASE WHEN {cell} IN ({', '.join(map(program.number, values))}) THEN {cell} END" if values else "NULL"


def classifier(model: Any, inputs: Sequence[Input], program: SqlProgram) -> ClassOutput:
    return from_log_odds(model.classes_, raw_scores(model, inputs, program), program)


def regressor(model: Any, inputs: Sequence[Input], program: SqlProgram) -> str:
    (found,) = raw_scores(model, inputs, program)
    return found
