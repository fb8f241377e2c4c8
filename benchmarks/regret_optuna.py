"""Run Optuna's samplers on the problems of the regret benchmark; `regret.py` starts it, in another environment if told.

    python benchmarks/regret_optuna.py < jobs.json

Reads a list of [sampler, problem, seed, n_trials], and prints the settings of each run as a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import optuna

from tuning_problems import Parameter, problems

SAMPLERS = {
    "Optuna TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "Optuna GP": lambda seed: optuna.samplers.GPSampler(seed=seed),
}


def suggest(trial: Any, one: Parameter) -> Any:
    if one.kind == "choice":
        return trial.suggest_categorical(one.name, one.values)
    if one.kind == "int":
        return trial.suggest_int(one.name, int(one.low), int(one.high), log=one.log)
    return trial.suggest_float(one.name, one.low, one.high, log=one.log)


def run(sampler: str, name: str, seed: int, n_trials: int) -> dict[str, Any]:
    problem = problems()[name]
    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed))
    settings, seconds = [], []
    for _ in range(n_trials):
        start = time.process_time()
        trial = study.ask()
        setting: dict[str, Any] = {}
        for one in problem.parameters:
            if one.when is None or setting.get(one.when[0]) == one.when[1]:
                setting[one.name] = suggest(trial, one)
        seconds.append(time.process_time() - start)
        settings.append(setting)
        study.tell(trial, problem.score(setting))
    return {"job": [sampler, name, seed, n_trials], "settings": settings, "seconds": [round(s, 4) for s in seconds]}


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    for sampler, name, seed, n_trials in json.load(sys.stdin):
        print(json.dumps(run(sampler, name, seed, n_trials)), flush=True)


if __name__ == "__main__":
    main()
