"""`foldwise ui`, killed with SIGKILL at random moments. Writes benchmarks/killed_workbench.md.

    python benchmarks/killed_workbench.py [--kills 20]

`tests/app/workbench/killed_server.py` says what is done before and checked after every kill.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.app.workbench.killed_server import BUDGET, killed_server  # noqa: E402

TEXT = """# Benchmarks: a workbench that is killed

Made by `benchmarks/killed_workbench.py`. The server of `foldwise ui` gets SIGKILL at a random moment, at most
{longest:g} s after its start, while a client uploads tables and starts and resumes runs of {budget}. Then it is started
again.

| | |
|---|---|
| kills of the server | {kills} |
| requests in the meantime | {requests} |
| tables that were confirmed, lost or half-written | {tables}, 0 |
| runs that were confirmed, lost | {runs}, 0 |
| recorded folds that were lost | 0 |
| runs under way at a kill that went on | {alive} |
| states of confirmed runs after the kills | {states} |
| how the runs ended under the last server | {ended} |
"""


def main() -> None:
    """Kill, look, write."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--kills", type=int, default=20)
    asked.add_argument("--longest", type=float, default=8.0)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found, ended = killed_server(Path(place) / "folder", given.kills, given.longest)
    text = TEXT.format(
        longest=given.longest,
        budget=BUDGET,
        kills=found.n_kills,
        requests=found.n_requests,
        tables=len(found.tables),
        runs=len(found.runs),
        alive=found.n_alive,
        states=", ".join(f"{state} {n}" for state, n in found.states.most_common()),
        ended=", ".join(f"{how} {n}" for how, n in ended.most_common()),
    )
    (HERE / "killed_workbench.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
