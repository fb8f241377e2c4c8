"""What the page of a result shows, read from its run folder. Runs in a worker process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foldwise.app.run_folder import read_facts

WANTED = ("title", "kind", "task", "headline", "leaderboard", "final", "made", "history")


def result_facts(folder: str) -> dict[str, Any]:
    """The facts of a run that the page shows."""
    facts = read_facts(Path(folder))
    return {name: facts.get(name) for name in WANTED}
