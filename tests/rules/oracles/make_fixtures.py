"""Asks Weka's JRip for its accuracy in ten folds: python -m tests.rules.oracles.make_fixtures path/to/weka.jar"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from foldwise.data.table import Table
from tests.models.tables import real

TABLES = ("iris", "house_votes_84", "tic_tac_toe", "car", "zoo", "breast_w", "diabetes_pima", "soybean")
SEEDS = (1, 2, 3)


def quoted(value: object) -> str:
    return "?" if value is None else "'" + str(value).replace("'", "_") + "'"


def arff(table: Table) -> str:
    """The table as Weka reads it."""
    lines = ["@relation table"]
    cells = []
    for column in table.X:
        numeric = column.dtype.is_numeric()
        levels = sorted({quoted(value) for value in column.drop_nulls().to_list()})
        lines.append(f"@attribute {quoted(column.name)} {'numeric' if numeric else '{' + ','.join(levels) + '}'}")
        cells.append([repr(v) if numeric and v is not None else quoted(v) for v in column.to_list()])
    lines.append("@attribute class {" + ",".join(sorted({quoted(label) for label in table.y.tolist()})) + "}")
    rows = [",".join((*row, quoted(label))) for *row, label in zip(*cells, table.y.tolist(), strict=True)]
    return "\n".join([*lines, "@data", *rows, ""])


def main(jar: str) -> None:
    found = {}
    for name in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.arff"
            path.write_text(arff(real(name, 10**9)))
            scores = []
            for seed in SEEDS:
                command = [
                    "java",
                    "-cp",
                    jar,
                    "weka.classifiers.rules.JRip",
                    "-t",
                    str(path),
                    "-x",
                    "10",
                    "-s",
                    str(seed),
                ]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                scores.append(float(re.findall(r"Correctly Classified Instances\s+\d+\s+([\d.]+)", said)[-1]) / 100)
        found[name] = round(float(np.mean(scores)), 4)
    Path(__file__).with_name("jrip.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
