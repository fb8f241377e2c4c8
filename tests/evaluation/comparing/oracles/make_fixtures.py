"""Asks Weka and R what `test_oracles.py` compares with, and writes their answers beside this file.

    make oracles WEKA=path/to/weka.jar

Needs `Rscript`, a JDK and Weka. demsar.csv is the worked example of Demšar (2006), table 6; the paper ranks voting by
more digits than it prints, so one of its two 0.975 is written 0.9749.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def main(weka_jar: str) -> None:
    (HERE / "weka.json").write_text(as_lines(ask_weka(weka_jar)))
    run = ["Rscript", HERE / "ranks.R", HERE / "demsar.csv"]
    answer = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    (HERE / "r.json").write_text(json.dumps(answer, indent=1) + "\n")


def ask_weka(jar: str) -> dict[str, object]:
    rng = np.random.default_rng(40)
    cases = []
    for n_splits, share in [(10, 1 / 9), (100, 1 / 9), (50, 1 / 4), (2, 1.0), (30, 1 / 9)]:
        first = rng.normal(0.85, 0.03, n_splits).round(4)
        second = (first - rng.normal(0.012, 0.02, n_splits)).round(4)
        cases.append({"test_share": share, "first": first.tolist(), "second": second.tolist()})
    lines = []
    for case in cases:
        pairs = zip(case["first"], case["second"], strict=True)
        lines.append(" ".join([repr(case["test_share"]), *(f"{a} {b}" for a, b in pairs)]))
    run = ["java", "-cp", jar, HERE / "Corrected.java"]
    text = subprocess.run(run, check=True, capture_output=True, text=True, input="\n".join(lines)).stdout
    head, *answers = map(json.loads, text.splitlines())
    return {**head, "cases": [case | answer for case, answer in zip(cases, answers, strict=True)]}


def as_lines(facts: dict[str, object]) -> str:
    cases = ",\n".join(json.dumps(case) for case in facts["cases"])
    return f'{{"made_by": {json.dumps(facts["made_by"])}, "cases": [\n{cases}\n]}}\n'


if __name__ == "__main__":
    main(*sys.argv[1:])
