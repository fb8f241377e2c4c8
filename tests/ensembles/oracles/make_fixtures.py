"""Asks Weka for the accuracies that `test_oracles.py` compares with, and writes them beside this file.

    python -m tests.ensembles.oracles.make_fixtures path/to/weka.jar

Needs a JDK and Weka 3.6. Tables are made here from those that ship with scikit-learn, or by a seed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

HERE = Path(__file__).parent


def tables() -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """Rows, labels, and whether the columns are categories; hard enough that models differ."""
    wine, kinds = load_wine(return_X_y=True)
    cancer, ill = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    levels = (rng.random((150, 6)) < 0.55) * y[:, None] + rng.integers(0, 2, (150, 6))
    return {
        "wine": (np.round(wine[:, [0, 1, 2]], 3), kinds, False),
        "cancer": (np.round(cancer[::4, [1, 4, 8, 9]], 5), ill[::4], False),
        "categories": (levels, y, True),
    }


def arff(X: Any, y: Any, categories: bool) -> str:
    def kind(column: Any) -> str:
        return "{" + ",".join(map(str, np.unique(column))) + "}" if categories else "numeric"

    lines = ["@relation oracle", *(f"@attribute x{j} {kind(X[:, j])}" for j in range(X.shape[1]))]
    lines += [f"@attribute class {{{','.join(map(str, np.unique(y)))}}}", "@data"]
    lines += [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    return "\n".join(lines) + "\n"


def main(jar: str) -> None:
    with TemporaryDirectory() as folder:
        paths = []
        for name, table in tables().items():
            paths.append(Path(folder) / f"{name}.arff")
            paths[-1].write_text(arff(*table))
        run = ["java", "-cp", jar, HERE / "Weka.java", *paths]
        first, *lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    found = ",\n".join(f"{json.dumps(name)}: {line}" for name, line in zip(tables(), lines, strict=True))
    (HERE / "weka.json").write_text(
        f'{{"made_by": {json.dumps(json.loads(first)["made_by"])}, "tables": {{\n{found}\n}}}}\n'
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
