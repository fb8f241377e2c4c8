"""Run folders for tests, made of stored models without a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foldwise import save_model
from foldwise.models import catalogue, outline
from tests.models.tables import mixed

TABLE = mixed(120)
FACTS = {"format": 1, "title": "mixed"}
COSTS = {"actions": ["buy", "wait"], "classes": ["up", "down"], "matrix": [[-1.0, 3.0], [0.0, 0.0]]}


def folder_of(place: Path, model: Any, X: Any, *, background: bool = True, **metadata: Any) -> Path:
    """A folder as a run leaves it."""
    place.mkdir()
    about = {"target": "y", "costs": None, "positive": None, "estimate": None, **metadata}
    save_model(place / "model.foldwise", model, X, target="y", metadata=about)
    (place / "run.json").write_text(json.dumps(FACTS))
    if background:
        X[:40].write_parquet(place / "background.parquet")
    return place


def pipeline(name: str) -> Any:
    return catalogue()[name].pipeline(outline(TABLE)).fit(TABLE.X, TABLE.y)
