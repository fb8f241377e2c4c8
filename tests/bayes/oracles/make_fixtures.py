"""Asks R's e1071 and Weka the questions of `test_oracles.py` and writes their answers beside this file.

    make oracles WEKA=path/to/weka.jar

Needs `Rscript` with e1071, a JDK and Weka (Debian: r-cran-e1071, default-jdk-headless, weka). Tables are made by a
seed or ship with R or scikit-learn, and travel inside the fixtures, so that tests need none of these programs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

HERE = Path(__file__).parent
Table = dict[str, Any]


def main(weka_jar: str) -> None:
    answer = subprocess.run(["Rscript", HERE / "e1071.R"], check=True, capture_output=True, text=True).stdout
    write(HERE / "e1071.json", json.loads(answer))
    write(HERE / "weka.json", ask_weka(weka_jar, {**nominal_tables(), **numeric_tables()}))


def nominal_tables() -> dict[str, Table]:
    """Categories with missing cells, levels that no row has, and a class of few rows."""
    rng = np.random.default_rng(30)
    tables = {}
    for name, n_classes, n_levels in [("two classes", 2, [2, 3, 5]), ("four classes", 4, [3, 3, 2, 9, 4])]:
        y = np.minimum(rng.geometric(0.4, 90) - 1, n_classes - 1)
        X = {}
        for j, k in enumerate(n_levels):
            codes = np.minimum(rng.poisson(0.5 + 0.5 * y), k - 1)
            cells = [f"v{code}" if rng.random() > 0.1 else None for code in codes.tolist()]
            X[f"x{j}"] = {"kind": "categorical", "levels": [f"v{i}" for i in range(k + j % 2)], "cells": cells}
        tables[name] = parted(X, [f"c{c}" for c in y], 60)
    return tables


def numeric_tables() -> dict[str, Table]:
    """Numbers: of scikit-learn, on coarse and fine grids, with missing cells, and columns that say nothing."""
    rng = np.random.default_rng(31)
    tables = {}
    for name, (X, y), wanted in [
        ("iris", load_iris(return_X_y=True), slice(None)),
        ("wine", load_wine(return_X_y=True), [0, 6, 9, 12]),
    ]:
        tables[name] = of_numbers(X[:, wanted], y, rng)
    y = rng.integers(0, 3, 120)
    tables["coarse"] = of_numbers(np.round(rng.normal(y[:, None], [0.5, 1.0, 9.0], (120, 3))), y, rng)
    tables["fine"] = of_numbers(np.round(rng.normal(y[:, None], [0.5, 1.0, 9.0], (120, 3)), 4), y, rng)
    tables["whole"] = whole_numbers(rng)
    return tables


def whole_numbers(rng: np.random.Generator) -> Table:
    """Columns in which every number from 0 to 99 occurs once: on the grid that Weka infers, fine for their spread."""
    y = rng.integers(0, 2, 100)
    X = [np.argsort(np.argsort(rng.normal(y, 1.0))) for _ in range(2)]
    new = rng.integers(0, 100, (2, 30))
    learn, ask = (
        {f"x{j}": {"kind": "numeric", "cells": [float(v) for v in cells]} for j, cells in enumerate(part)}
        for part in (X, new)
    )
    return {"X": learn, "y": [f"c{c}" for c in y], "new": ask, "classes": ["c0", "c1"]}


def of_numbers(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Table:
    X = np.where(rng.random(X.shape) < 0.08, np.nan, X)
    order = rng.permutation(len(y))
    columns = {
        f"x{j}": {"kind": "numeric", "cells": [None if v != v else v for v in X[order, j].tolist()]}
        for j in range(X.shape[1])
    }
    return parted(columns, [f"c{c}" for c in y[order]], len(y) - 30)


def parted(X: dict[str, Any], y: list[str], n: int) -> Table:
    """The first n rows to learn, the others to predict."""
    learn = {name: {**column, "cells": column["cells"][:n]} for name, column in X.items()}
    new = {name: {**column, "cells": column["cells"][n:]} for name, column in X.items()}
    return {"X": learn, "y": y[:n], "new": new, "classes": sorted(set(y))}


def ask_weka(jar: str, tables: dict[str, Table]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        paths = []
        for i, table in enumerate(tables.values()):
            for part in "X", "new":
                paths.append(Path(folder) / f"{i}_{part}.arff")
                paths[-1].write_text(arff(table, part))
        run = ["java", "-cp", jar, HERE / "Weka.java", *paths]
        first, *lines = subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    answers = [json.loads(line) for line in lines]
    asked = {name: {**table, **answer} for (name, table), answer in zip(tables.items(), answers, strict=True)}
    return {**json.loads(first), "tables": asked}


def arff(table: Table, part: str) -> str:
    """The rows of a part of a table; those to predict have no class."""
    columns = table[part]
    lines = ["@relation oracle"]
    for name, column in columns.items():
        lines.append(f"@attribute {name} {'{' + ','.join(column['levels']) + '}' if 'levels' in column else 'numeric'}")
    lines += [f"@attribute class {{{','.join(table['classes'])}}}", "@data"]
    cells = [column["cells"] for column in columns.values()]
    labels = table["y"] if part == "X" else [None] * len(cells[0])
    for row in zip(*cells, labels, strict=True):
        lines.append(",".join("?" if cell is None else str(cell) for cell in row))
    return "\n".join(lines) + "\n"


def write(path: Path, facts: dict[str, Any]) -> None:
    """One line a table: a change of one is a change of one line."""
    tables = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in facts["tables"].items())
    path.write_text(f'{{"made_by": {json.dumps(facts["made_by"])}, "tables": {{\n{tables}\n}}}}\n')


if __name__ == "__main__":
    main(*sys.argv[1:])
