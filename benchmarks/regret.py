"""Regret of search strategies on known functions and real tuning problems. Writes benchmarks/regret.md.

    OMP_NUM_THREADS=1 nice python benchmarks/regret.py [--seeds 20] [--trials 100] [--gp-python PATH] [--cache PATH]

Optuna's GP sampler needs torch. `--gp-python` is the interpreter of an environment with optuna and torch; without it,
that method is left out. Every run is kept in the cache file, so that an interrupted benchmark goes on where it was.
`make_tuning_problems.py` makes the tables of real tuning problems.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from foldwise.evaluation import critical_difference, friedman_test
from foldwise.tuning import Bayesian, Choice, Evolutionary, Float, Int, Random, Trial
from foldwise.tuning.strategies.protocol import trial_generator
from tuning_problems import Parameter, Problem, problems, regrets

HERE = Path(__file__).parent
AFTER = (20, 50, 100)
OURS = {"Bayesian": Bayesian, "Evolutionary": Evolutionary, "Random": Random}
PEERS = ("Optuna TPE", "Optuna GP")
COMPARED = ("Bayesian", "Optuna GP", "Optuna TPE", "Random")
Job = tuple[str, str, int, int]  # method, problem, seed, trials


def dimension(one: Parameter) -> Any:
    when = None if one.when is None else dict([one.when])
    if one.kind == "choice":
        return Choice(one.values, when=when)
    if one.kind == "int":
        return Int(int(one.low), int(one.high), log=one.log, when=when)
    return Float(one.low, one.high, log=one.log, when=when)


def run_ours(job: Job) -> dict[str, Any]:
    """Search with one of our strategies, one setting at a time."""
    method, name, seed, n_trials = job
    problem, strategy = problems()[name], OURS[method]()
    space = {one.name: dimension(one) for one in problem.parameters}
    trials: list[Trial] = []
    seconds = []
    while len(trials) < n_trials:
        start = time.process_time()
        [setting, *_] = strategy.propose(space, trials, trial_generator(seed, len(trials)))
        seconds.append(round(time.process_time() - start, 4))
        trials.append(Trial(setting, problem.score(setting)))
    return {"job": list(job), "settings": [dict(one.setting) for one in trials], "seconds": seconds}


def run_peers(jobs: list[Job], python: str) -> Iterator[dict[str, Any]]:
    """Search with Optuna, in an environment of its own."""
    command = [python, str(HERE / "regret_optuna.py")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(jobs))
        process.stdin.close()
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}.")


def read_runs(cache: Path) -> dict[tuple[str, str, int], dict[str, Any]]:
    """All runs in the cache; of two with the same seed, the longer one."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for line in cache.read_text(encoding="utf-8").splitlines() if cache.exists() else ():
        run = json.loads(line)
        key = (run["job"][0], run["job"][1], run["job"][2])
        if key not in found or len(run["settings"]) > len(found[key]["settings"]):
            found[key] = run
    return found


def missing(options: argparse.Namespace, methods: list[str]) -> list[Job]:
    known = read_runs(options.cache)
    return [
        (method, name, seed, options.trials)
        for seed in range(options.seeds)
        for method in methods
        for name in problems()
        if len(known.get((method, name, seed), {"settings": ()})["settings"]) < options.trials
    ]


def run_missing(options: argparse.Namespace) -> None:
    """Run what is not in the cache."""
    with options.cache.open("a", encoding="utf-8") as file:

        def keep(run: dict[str, Any]) -> None:
            file.write(json.dumps(run) + "\n")
            file.flush()

        for job in missing(options, [one for one in OURS if one in options.methods]):
            keep(run_ours(job))
        for method in (one for one in PEERS if one in options.methods):
            python = options.gp_python if method == "Optuna GP" else sys.executable
            if python is None:
                print("Optuna GP is left out: --gp-python names no interpreter with torch.", file=sys.stderr)
                continue
            if jobs := missing(options, [method]):
                for run in run_peers(jobs, python):
                    keep(run)


class Results:
    """Regrets by method, problem and seed."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.problems = problems()
        self.runs = {
            key: run
            for key, run in read_runs(options.cache).items()
            if key[1] in self.problems and key[2] < options.seeds
        }

    def regrets(self, method: str, problem: Problem, after: int, kind: str) -> np.ndarray:
        """One regret per seed that has so many trials."""
        found = [
            regrets(problem, run["settings"], (after,))[kind][0]
            for (one, name, _), run in self.runs.items()
            if one == method and name == problem.name and len(run["settings"]) >= after
        ]
        return np.array(found)

    def table(self, after: int, kind: str) -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
        """Methods, problems, and mean regrets and numbers of seeds; NaN where a method did not run.

        The problems are those that our strategy ran on.
        """
        named = [
            one
            for one in self.problems.values()
            if (kind == "cv" or one.held_out is not None) and len(self.regrets("Bayesian", one, after, kind))
        ]
        methods = [*COMPARED, "Evolutionary"]
        found = [[self.regrets(method, one, after, kind) for method in methods] for one in named]
        counts = np.array([[len(some) for some in row] for row in found]).reshape(len(named), len(methods))
        means = np.array([[some.mean() if len(some) else np.nan for some in row] for row in found])
        ran = counts.any(axis=0)
        kept = [method for method, some in zip(methods, ran, strict=True) if some]
        return kept, [one.name for one in named], means[:, ran] if len(named) else means, counts[:, ran]


def proposal_seconds(n_trials: int = 100, repeats: int = 15) -> float:
    """The median CPU time of a proposal in six dimensions, with default options."""
    problem = problems()["Hartmann 6"]
    space = {one.name: dimension(one) for one in problem.parameters}
    seconds = []
    for seed in range(repeats):
        drawn = [Random().propose(space, [], trial_generator(seed, number))[0] for number in range(n_trials)]
        trials = [Trial(one, problem.score(one)) for one in drawn]
        start = time.process_time()
        Bayesian().propose(space, trials, trial_generator(seed, n_trials))
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def markdown(rows: list[list[str]]) -> str:
    head, *rest = rows
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rest])


def section(results: Results, after: int, kind: str) -> str:
    methods, names, means, counts = results.table(after, kind)
    if len(methods) < 2 or not names:
        return ""
    where = "held-out rows" if kind == "held_out" else "the score that is searched"
    seeds = ", ".join(f"{method} {spread(column)}" for method, column in zip(methods, counts.T, strict=True))
    rows = [["problem", *methods]]
    rows += [
        [name, *("not run" if np.isnan(value) else f"{value:.3g}" for value in row)]
        for name, row in zip(names, means, strict=True)
    ]
    return (
        f"## After {after} trials, by {where}\n\nMean regret over seeds. Number of seeds: {seeds}.\n\n{markdown(rows)}"
        f"\n\n{tests(methods, names, means)}"
    )


def spread(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def tests(methods: list[str], names: list[str], means: np.ndarray) -> str:
    """Friedman's test on the problems that all compared methods ran on, and what would be a significant difference."""
    at = [methods.index(one) for one in COMPARED if one in methods]
    complete = ~np.isnan(means[:, at]).any(axis=1)
    if len(at) < 3 or complete.sum() < 3:
        return ""
    kept = np.round(means[complete][:, at], 12)  # equal regrets are equal ranks
    found = friedman_test(-kept)
    ranks = np.array([rankdata(row) for row in kept]).mean(axis=0)
    difference = critical_difference(len(at), len(kept))
    listed = ", ".join(f"{methods[i]} **{rank:.2f}**" for i, rank in zip(at, ranks, strict=True))
    absent = [name for name, whole in zip(names, complete, strict=True) if not whole]
    return (
        f"Mean ranks over {len(kept)} problems: {listed}. Friedman test (seeds averaged): p = {found.p:.2g}. Ranks "
        f"that differ by less than {difference:.2f} are statistically tied (Nemenyi, 5%)."
        + (f" Left out, because not all methods ran on them: {'; '.join(absent)}." if absent else "")
        + "\n\n"
    )


def report(options: argparse.Namespace) -> str:
    results = Results(options)
    parts = [
        "# Regret of search strategies\n",
        "Regret is how far the best setting found so far is behind the best there is. Lower is better. The strategies "
        "have their default options, and score one setting at a time. The tables are grids of settings scored by "
        "3-fold cross-validation; *held-out rows* shows the regret of the setting with the best cross-validated score "
        "on rows that tuning never used. Made by `benchmarks/regret.py`; the tables by "
        "`benchmarks/make_tuning_problems.py`.\n",
        "Three defaults of our Bayesian search (the prior of the warping, which trials set the scale of scores, the "
        "second start of the fit) were chosen after runs on the four functions, *SVM, glass* and *Boosting, diabetes* "
        "with seeds 0 to 7. On these problems the comparison is not blind.\n",
        "A proposal of our Bayesian search with default options after 100 trials in six dimensions takes "
        f"{proposal_seconds():.3f} s of CPU time (median of 15, BLAS threads: "
        f"{os.environ.get('OMP_NUM_THREADS', 'as many as there are cores')}, {platform.machine()}).\n",
        *(section(results, after, "cv") for after in AFTER),
        *(section(results, after, "held_out") for after in AFTER),
    ]
    return "\n".join(one for one in parts if one).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--gp-python", default=None, help="interpreter of an environment with optuna and torch")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "foldwise_regret.jsonl")
    parser.add_argument("--methods", nargs="*", default=[*OURS, *PEERS])
    parser.add_argument("--print-only", action="store_true", help="report what is in the cache")
    options = parser.parse_args()
    options.cache.parent.mkdir(parents=True, exist_ok=True)
    if not options.print_only:
        run_missing(options)
    text = report(options)
    (HERE / "regret.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
