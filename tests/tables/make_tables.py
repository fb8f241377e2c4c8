"""Writes the tables of this folder, the same files of other dialects in raw/, and CATALOG.csv, which describes them.

python -m tests.tables.make_tables; penguins.csv is the one table that is not made here. README.md names all sources.
"""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

HERE = Path(__file__).parent
Rows = list[list[Any]]
CATALOG = (
    *("name", "file", "rows", "columns", "target", "n_classes", "missing_cells", "task"),
    *("minority_rows", "majority_share", "duplicate_rows", "constant_columns"),
)


def from_sklearn(load: Callable[..., Any], target: str, rows: int | None = None) -> Rows:
    """One of scikit-learn's bundled sets; labels are words where the set names its classes."""
    found = load()
    names = [str(name).replace(" ", "_").replace("(cm)", "cm") for name in found.feature_names]
    labels = found.target.tolist()
    if hasattr(found, "target_names") and isinstance(found.target_names[0], str):
        labels = [str(found.target_names[label]) for label in labels]
    cells = [[f"{cell:.6g}" for cell in row] for row in found.data.tolist()]
    return [
        [*names, target],
        *([*row, label] for row, label in itertools.islice(zip(cells, labels, strict=True), rows)),
    ]


DAYS = """
sunny    hot  85 high   85 False no
sunny    hot  80 high   90 True  no
overcast hot  83 high   86 False yes
rainy    mild 70 high   96 False yes
rainy    cool 68 normal 80 False yes
rainy    cool 65 normal 70 True  no
overcast cool 64 normal 65 True  yes
sunny    mild 72 high   95 False no
sunny    cool 69 normal 70 False yes
rainy    mild 75 normal 80 False yes
sunny    mild 75 normal 70 True  yes
overcast mild 72 high   90 True  yes
overcast hot  81 normal 75 False yes
rainy    mild 71 high   91 True  no
"""


def weather(numeric: bool) -> Rows:
    """Quinlan's fourteen days, on which one may play or not; temperature and humidity in words or numbers."""
    columns = (0, 2, 4, 5, 6) if numeric else (0, 1, 3, 5, 6)
    days = [day.split() for day in DAYS.strip().splitlines()]
    return [["outlook", "temperature", "humidity", "windy", "play"], *([day[j] for j in columns] for day in days)]


def contact_lenses() -> Rows:
    """Cendrowska's decision of an optician, for every one of the 24 possible patients."""
    rows: Rows = [["age", "prescription", "astigmatism", "tears", "lenses"]]
    for patient in itertools.product(
        ("young", "pre-presbyopic", "presbyopic"), ("myope", "hypermetrope"), ("no", "yes"), ("reduced", "normal")
    ):
        age, prescription, astigmatism, tears = patient
        if tears == "reduced":
            lenses = "none"
        elif astigmatism == "no":
            lenses = "none" if (age, prescription) == ("presbyopic", "myope") else "soft"
        else:
            lenses = "hard" if prescription == "myope" or age == "young" else "none"
        rows.append([*patient, lenses])
    return rows


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def tic_tac_toe() -> Rows:
    """Every board at which a game that x began can end: positive where x has won."""
    names = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]

    def won(board: str, player: str) -> bool:
        return any(all(board[i] == player for i in line) for line in LINES)

    def ends(board: str, player: str) -> Iterator[str]:
        if won(board, "x") or won(board, "o") or "b" not in board:
            yield board
            return
        for i in range(9):
            if board[i] == "b":
                yield from ends(board[:i] + player + board[i + 1 :], "o" if player == "x" else "x")

    boards = sorted(set(ends("b" * 9, "x")), reverse=True)
    return [[*names, "class"], *([*board, "positive" if won(board, "x") else "negative"] for board in boards)]


def survey(n: int = 600) -> Rows:
    """Invented guests of a hotel: columns of every kind, missing cells, a constant, rows that are there twice."""
    rng = np.random.default_rng(16)
    nights = rng.poisson(2.0, n) + 1
    rating = rng.choice(["poor", "fair", "good", "superb"], n, p=[0.1, 0.25, 0.45, 0.2])
    price = np.exp(rng.normal(4.6, 0.4, n)).round(2)
    odds = 1.5 * (rating == "superb") + 0.6 * (rating == "good") - 0.01 * (price - 100) + 0.2 * nights
    odds += rng.logistic(size=n)
    columns: dict[str, list[Any]] = {
        "country": [f"country {i:02d}" for i in np.minimum(rng.geometric(0.08, n), 40)],
        "age": np.clip(rng.normal(45, 15, n), 18, 90).round().astype(int).tolist(),
        "price": price.tolist(),
        "nights": nights.tolist(),
        "member": rng.choice(["true", "false"], n).tolist(),
        "rating": rating.tolist(),
        "arrived": [str(np.datetime64("2025-01-01") + int(day)) for day in rng.integers(0, 365, n)],
        "hotel": ["Grand"] * n,
    }
    for name, share in {"country": 0.03, "age": 0.15, "price": 0.1, "member": 0.3, "rating": 0.05}.items():
        for i in np.flatnonzero(rng.random(n) < share):
            columns[name][i] = ""
    again = np.select([odds > 2.2, odds > 0.2], ["surely", "perhaps"], "never").tolist()
    rows = [[*row, label] for *row, label in zip(*columns.values(), again, strict=True)]
    return [[*columns, "returns"], *rows, *rows[:7]]


WORDS = {
    "both": "you now today please call the a to we is on our time me",
    "ham": "lunch home tomorrow sorry later mum train meeting dinner love thanks sleep school rain",
    "spam": "win cash prize free claim urgent offer txt ringtone voucher winner £1000 guaranteed mobile",
}


def messages(n: int = 400) -> Rows:
    """Invented messages, a third of them advertising; some words are in both kinds."""
    rng = np.random.default_rng(17)
    words = {kind: text.split() for kind, text in WORDS.items()}
    rows: Rows = [["label", "message"]]
    for _ in range(n):
        label = str(rng.choice(["ham", "spam"], p=[0.67, 0.33]))
        other = "spam" if label == "ham" else "ham"
        pool = 3 * words["both"] + 2 * words[label] + words[other][:3]
        text = " ".join(rng.choice(pool, rng.integers(5, 20)))
        rows.append([label, text.capitalize() + str(rng.choice([".", "!", "", ", ok?"]))])
    return rows


def written(path: Path, rows: Iterable[Iterable[Any]], encoding: str = "utf-8", **dialect: Any) -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, lineterminator="\n", **dialect).writerows(rows)


def described(name: str, target: str, task: str = "classification") -> dict[str, Any]:
    """A row of the catalog, counted cell by cell so that it can check a reader."""
    with (HERE / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    j = header.index(target)
    features = [[cell for i, cell in enumerate(row) if i != j] for row in rows]
    counts = Counter(row[j] for row in rows) if task != "regression" else {}
    return {
        "name": name,
        "file": f"{name}.csv",
        "rows": len(rows),
        "columns": len(header),
        "target": target,
        "n_classes": len(counts) or "",
        "missing_cells": sum(cell in ("", "NA") for row in features for cell in row),
        "task": task,
        "minority_rows": min(counts.values(), default=""),
        "majority_share": round(max(counts.values()) / len(rows), 3) if counts else "",
        "duplicate_rows": len(rows) - len(set(map(tuple, rows))),
        "constant_columns": sum(len(set(column)) == 1 for column in zip(*features, strict=True)),
    }


def dialects() -> None:
    """Penguins and guests as other programs would write them."""
    with (HERE / "penguins.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    raw = HERE / "raw"
    comma = [[cell.replace(".", ",") for cell in row] for row in rows]
    written(raw / "penguins_decimal_comma.csv", [header, *comma], "utf-8-sig", delimiter=";")
    written(raw / "penguins_utf16.tsv", [header, *rows], "utf-16", delimiter="\t")
    written(raw / "penguins_no_names.csv", [["?" if cell == "NA" else cell for cell in row] for row in rows])
    foreign = [[cell.replace("male", "mâle") for cell in row] for row in rows]  # females too: femâle
    written(raw / "penguins_latin1.csv", [header, *foreign], "latin-1", quoting=csv.QUOTE_ALL)
    title = ["Size measurements of penguins"], []
    written(raw / "penguins_title.csv", [*title, header, *rows, ["Source: Palmer Station"]])
    nominal = {name: sorted({row[i] for row in rows} - {"NA"}) for i, name in enumerate(header) if i in (0, 1, 6)}
    kinds = {name: "{" + ",".join(levels) + "}" for name, levels in nominal.items()}
    declared = [f"@attribute {name} {kinds.get(name, 'numeric')}" for name in header]
    body = [",".join("?" if cell == "NA" else cell for cell in row) for row in rows]
    text = "\n".join(["% penguins", "@relation penguins", *declared, "@data", *body, ""])
    (raw / "penguins.arff").write_text(text, encoding="utf-8")


def main() -> None:
    tables: list[tuple[str, Rows, str, str]] = [
        ("iris", from_sklearn(datasets.load_iris, "species"), "species", "classification"),
        ("wine", from_sklearn(datasets.load_wine, "cultivar"), "cultivar", "classification"),
        ("breast_cancer", from_sklearn(datasets.load_breast_cancer, "diagnosis"), "diagnosis", "classification"),
        ("digits", from_sklearn(datasets.load_digits, "digit", 400), "digit", "classification"),
        ("diabetes", from_sklearn(datasets.load_diabetes, "progression"), "progression", "regression"),
        ("weather_nominal", weather(numeric=False), "play", "classification"),
        ("weather_numeric", weather(numeric=True), "play", "classification"),
        ("contact_lenses", contact_lenses(), "lenses", "classification"),
        ("tic_tac_toe", tic_tac_toe(), "class", "classification"),
        ("survey", survey(), "returns", "classification"),
        ("messages", messages(), "label", "text"),
    ]
    for name, rows, _, _ in tables:
        written(HERE / f"{name}.csv", rows)
    lines = [described(name, target, task) for name, _, target, task in tables]
    lines.append(described("penguins", "species"))
    with (HERE / "CATALOG.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CATALOG, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    dialects()


if __name__ == "__main__":
    main()
