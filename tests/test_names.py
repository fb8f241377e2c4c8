"""What keeps the source easy to search: class names that occur once, short files, one spelling."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "foldwise"
FILES = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
LONGEST = 450
CLASS_NAME = re.compile(r"_?[A-Z](?:\w*[a-z]\w*)?")
# short verbs and the like, which say nothing to a reader who does not know the file: `SearchRequest`, not `Asked`
TELLS_NOTHING = (
    "Ask Asking Beside Drawn Exchange Found Given Known Lesson Local Moment Said Several Taken Teller Told Worth"
)
PUBLIC_PARTICIPLES = {"Balanced", "Binned", "Calibrated", "Weighted"}  # estimators, a distribution and a combiner
STEMS = "binar discret final general initial maxim memo minim normal optim organ penal quant random real regular serial"
STEMS += " standard summar symmetr token util vector"
BRITISH = re.compile(
    rf"neighbour|colour|behaviour|favour|centre|({STEMS.replace(' ', '|')})is(e|ing|ation)", re.IGNORECASE
)


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def identifiers(text: str) -> set[str]:
    """Every name that a file defines or uses."""
    found: set[str] = set()
    for node in ast.walk(parsed(text)):
        for field in ("name", "id", "attr", "arg"):
            if isinstance(name := getattr(node, field, None), str):
                found.add(name)
    return found


@cache
def classes_of(text: str) -> list[str]:
    """The names of all classes of a file, also of those inside of functions."""
    return [node.name for node in ast.walk(parsed(text)) if isinstance(node, ast.ClassDef)]


def aliases_of(text: str) -> dict[str, bool]:
    """The names at module level that are written like classes, and whether each is a type variable."""
    found = {}
    for node in parsed(text).body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ) if CLASS_NAME.fullmatch(name):
                called = value.func if isinstance(value, ast.Call) else None
                found[name] = isinstance(called, ast.Name) and called.id == "TypeVar"
    return found


def repeated(names: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that occur more than once, with the files."""
    files = defaultdict(list)
    for name, path in names:
        files[name].append(path)
    return {name: paths for name, paths in files.items() if len(paths) > 1}


def words_of(name: str) -> list[str]:
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)


def test_a_class_name_occurs_once():
    assert repeated((name, path) for path, text in FILES.items() for name in classes_of(text)) == {}


def test_an_alias_has_one_home_and_no_name_of_a_class():
    classes = {name for text in FILES.values() for name in classes_of(text)}
    aliases = [
        (name, path, is_variable) for path, text in FILES.items() for name, is_variable in aliases_of(text).items()
    ]
    assert [(name, path) for name, path, _ in aliases if name in classes] == []
    # a type variable means nothing outside of its file
    assert repeated((name, path) for name, path, is_variable in aliases if not is_variable) == {}


def test_nested_classes_and_aliases_are_found():
    text = "Rows = list[int]\nT = TypeVar('T')\nKey: TypeAlias = str\nMOST = 3\ndef f():\n    class Inner: ...\n"
    assert classes_of(text) == ["Inner"]
    assert aliases_of(text) == {"Rows": False, "T": True, "Key": False}


def test_names_follow_the_glossary():
    """An index is not a `place`, and a class is named by its role, not by what was done to it."""
    found = {(name, path) for path, text in FILES.items() for name in identifiers(text) if is_place(name)}
    assert found == set()
    named = [(name, path) for path, text in FILES.items() for name in [*classes_of(text), *aliases_of(text)]]
    assert [(name, path) for name, path in named if name in TELLS_NOTHING.split() or is_participle(name)] == []


def is_place(name: str) -> bool:
    words = [word.lower() for word in words_of(name)]
    return any(word in ("place", "places", "placed") and words[max(i - 1, 0)] != "in" for i, word in enumerate(words))


def is_participle(name: str) -> bool:
    return len(words_of(name)) == 1 and re.search(r"[^e]ed$", name) is not None and name not in PUBLIC_PARTICIPLES


def test_the_glossary_lint_can_fail():
    names = ("place", "_places", "PLACE_IN_QUERY", "RowPlace", "writes_in_place", "laplace", "Placeholder")
    assert [name for name in names if is_place(name)] == ["place", "_places", "PLACE_IN_QUERY", "RowPlace"]
    assert [name for name in ("Wanted", "Balanced", "WantedRows", "Need") if is_participle(name)] == ["Wanted"]


def test_files_are_short():
    lengths = {path: len(text.splitlines()) for path, text in FILES.items()}
    assert {path: n for path, n in lengths.items() if n > LONGEST} == {}


def test_names_are_spelled_as_in_american_english():
    found = {name: path for path, text in FILES.items() for name in identifiers(text) if BRITISH.search(name)}
    assert found == {}
