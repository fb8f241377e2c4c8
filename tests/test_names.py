"""What keeps the source easy to search: class names that occur once, short files, one spelling."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "foldwise"
FILES = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
LONGEST = 450
STEMS = "binar discret final general initial maxim memo minim normal optim organ penal quant random real regular serial"
STEMS += " standard summar symmetr token util vector"
BRITISH = re.compile(
    rf"neighbour|colour|behaviour|favour|centre|({STEMS.replace(' ', '|')})is(e|ing|ation)", re.IGNORECASE
)


def identifiers(text: str) -> set[str]:
    """Every name that a file defines or uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        for field in ("name", "id", "attr", "arg"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
    return found


def test_a_class_name_occurs_once():
    places = defaultdict(list)
    for path, text in FILES.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_files_are_short():
    lengths = {path: len(text.splitlines()) for path, text in FILES.items()}
    assert {path: n for path, n in lengths.items() if n > LONGEST} == {}


def test_names_are_spelled_as_in_american_english():
    found = {name: path for path, text in FILES.items() for name in identifiers(text) if BRITISH.search(name)}
    assert found == {}
