"""Which search strategy the race of `fit` should use. Writes benchmarks/race_strategies.md.

`fit` draws new settings of a model by a strategy. Here the same tables are fitted with each of some strategies, and the
final models are compared on rows that they have not seen. Every run is a process of its own. Run it by hand on a quiet
machine: `python benchmarks/race_strategies.py --cache PATH`; what the cache holds is not run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, wilcoxon

from shapes import halves, of_foldwise, read, real_tables

HERE = Path(__file__).parent
STRATEGIES = ("Random", "Bayesian", "Evolutionary")
TABLES = {
    30: ("credit_g", "vehicle", "diabetes_pima", "segment", "wine_quality", "phishing", "eucalyptus", "attrition"),
    120: ("credit_g", "vehicle", "wine_quality", "eucalyptus"),
}
RUN = """
import functools, sys
import foldwise.app.search as search
from foldwise import tuning
from foldwise.app.cli import main
search.Schedule = functools.partial(search.Schedule, strategy=getattr(tuning, sys.argv.pop(1))())
sys.argv[0] = "foldwise"
main()
"""


def fitted(table: str, budget: int, strategy: str) -> dict[str, Any]:
    """Fit a table in a process of its own and score the model on held-out rows."""
    path, target = real_tables()[table]
    train, test = halves(read(path, target), target, 0.3)
    with tempfile.TemporaryDirectory() as folder:
        train.write_csv(f"{folder}/train.csv")
        words = ["fit", f"{folder}/train.csv", "--target", target, "--budget", f"{budget}s", "--out", f"{folder}/run"]
        subprocess.run([sys.executable, "-c", RUN, strategy, *words, "--quiet"], check=True)
        facts = json.loads(Path(folder, "run", "run.json").read_text())
        losses = of_foldwise(Path(folder, "run"), test, target)
    return {
        "table": table,
        "budget": budget,
        "strategy": strategy,
        "loss": float(losses["log loss"].mean()),
        "settings": sum(line["n_settings"] for line in facts["leaderboard"]),
        "estimate": facts["headline"]["estimate"],
    }


def page(runs: list[dict[str, Any]]) -> str:
    lines = [
        "# The search strategy of `fit`\n",
        "Log loss on 30% of the rows, which the model has not seen, by the strategy that draws new settings. In "
        "brackets: how many settings were scored. Made by `benchmarks/race_strategies.py`.\n",
    ]
    for budget in TABLES:
        names = [one for one in STRATEGIES if any(r["strategy"] == one and r["budget"] == budget for r in runs)]
        found = {(r["table"], r["strategy"]): r for r in runs if r["budget"] == budget}
        tables = [one for one in TABLES[budget] if all((one, name) in found for name in names)]
        if not tables or not names:
            continue
        losses = np.array([[found[table, name]["loss"] for name in names] for table in tables])
        ranks = np.array([rankdata(row) for row in losses]).mean(axis=0)
        lines += [f"## {budget} s\n", f"| table | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
        for table in tables:
            cells = [f"{found[table, name]['loss']:.4f} ({found[table, name]['settings']})" for name in names]
            lines.append(f"| {table} | {' | '.join(cells)} |")
        lines.append(f"| mean rank | {' | '.join(f'{rank:.2f}' for rank in ranks)} |\n")
        for i, name in enumerate(names[1:], 1):
            p = wilcoxon(losses[:, 0], losses[:, i]).pvalue
            lines.append(f"{names[0]} against {name}: p = {p:.2g} (Wilcoxon signed-rank test over tables).\n")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "foldwise_race_strategies.jsonl")
    parser.add_argument("--budgets", type=int, nargs="*", default=list(TABLES))
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    options = parser.parse_args()
    runs = [json.loads(line) for line in options.cache.read_text().splitlines()] if options.cache.exists() else []
    known = {(one["table"], one["budget"], one["strategy"]) for one in runs}
    for budget in options.budgets:
        for table in TABLES[budget]:
            for strategy in options.strategies:
                if (table, budget, strategy) not in known:
                    runs.append(fitted(table, budget, strategy))
                    with options.cache.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(runs[-1]) + "\n")
    text = page(runs)
    (HERE / "race_strategies.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
