"""`foldwise fit`, killed with SIGKILL at random moments and resumed. Writes benchmarks/killed_fits.md.

    python benchmarks/killed_fits.py [--kills 25] [--budget 10] [--parts classes]

`tests/app/killed.py` says what is checked after every kill. The last session is not killed.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.app.killed import killed_run  # noqa: E402

PARTS = {
    "classes": ["--target", "repaid"],
    "a quantity, with weights": ["--target", "income", "--weights", "months"],
}
HEAD = """# Benchmarks: a run that is killed and resumed

Made by `benchmarks/killed_fits.py`: `foldwise fit` on examples/loans.csv with two workers. The process gets SIGKILL at
a random moment between its start and 5% after its budget, and the run is resumed.
"""
TEXT = """## {part}

| | |
|---|---|
| kills, in sessions of {budget:g} s | {kills} |
| phases in which they came | {phases} |
| folds recorded | {folds} |
| recorded folds that were lost or changed | {lost} |
| recorded folds that were started again | {repeated} |
| folds under way at a kill | {mean_open:.2f} on average, {most_open} at most |
| folds computed again, because they were under way | {again} |
| model and report after a kill, once a session had ended | {results} |
| time of the sessions that ended | {ended} |
| seconds of them spent in writing trials | {writing} |
"""


def section(part: str, n_kills: int, budget: float) -> str:
    """Kill a run so many times, and describe what was seen."""
    with tempfile.TemporaryDirectory() as place:
        run = killed_run(Path(place) / "run", PARTS[part], n_kills, budget)
        with closing(sqlite3.connect(run.folder / "trials.sqlite")) as connection:
            query = "select writing from fit_sessions where ended = 'finished'"
            writing = [row[0] for row in connection.execute(query)]
    names = dict.fromkeys(run.phases)
    return TEXT.format(
        part=f"{part[:1].upper()}{part[1:]}",
        budget=budget,
        kills=len(run.phases),
        phases=", ".join(f"{name} {run.phases.count(name)}" for name in names),
        folds=len(run.seen),
        lost=run.n_lost,
        repeated=run.n_repeated,
        mean_open=sum(run.n_open) / max(1, len(run.n_open)),
        most_open=max(run.n_open, default=0),
        again=sum(starts - 1 for _, starts in run.seen.values()),
        results=f"complete {sum(run.kept_results)} of {len(run.kept_results)} times",
        ended=", ".join(f"{one:.1f} s" for one in run.ended),
        writing=", ".join(f"{one:.2f}" for one in writing),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=25, help="per part")
    parser.add_argument("--budget", type=float, default=10.0)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    given = parser.parse_args()
    file = HERE / "killed_fits.md"
    made = file.read_text().split("\n## ")[1:] if file.exists() else []
    before = {text.splitlines()[0].lower(): f"## {text.strip()}\n" for text in made}
    now = {part: section(part, given.kills, given.budget) for part in given.parts}
    file.write_text("\n".join([HEAD, *(text for part in PARTS if (text := now.get(part) or before.get(part)))]))
    print(file.read_text())


if __name__ == "__main__":
    main()
