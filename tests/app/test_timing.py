"""Decisions about time rest on constants in one file, each with a note."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).parents[2] / "src" / "foldwise" / "app"
NAME = re.compile(r"SECONDS|OVERRUN|BUDGET|PATIENCE|TIMEOUT|DEADLINE|PAUSE|(^|_)SHARE(_|$)")
NOTE = re.compile(r"\bseconds\b|of the budget|of the time (left|after)")
OTHER_SHARES = {"MEMORY_SHARE", "SHARE_OF_MEMORY", "UNIQUE_SHARE"}  # of memory, and of the values of a column
DECIDES = ("schedule.py", "schedule_rules.py", "state_view.py", "search.py", "final_model.py", "timing.py")


def is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=one):
            return is_number(one)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
    return False


def constants(text: str) -> Iterator[tuple[str, str]]:
    """The numbers at module level by name, each with the comment on its line, or on the line above."""
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        pairs = []
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs += zip(target.elts, node.value.elts, strict=True)
            else:
                pairs.append((target, node.value))
        after = lines[node.lineno - 1 : node.end_lineno]
        above = lines[node.lineno - 2] if node.lineno > 1 else ""
        found = re.search(r"#(.*)", " ".join(after)) or re.match(r"#(.*)", above)
        note = "" if found is None else found[1].strip()
        yield from ((name.id, note) for name, value in pairs if isinstance(name, ast.Name) and is_number(value))


def times(text: str) -> list[str]:
    """The constants of a file that are about time, by their name or their note."""
    found = [name for name, note in constants(text) if NAME.search(name) or NOTE.search(note)]
    return [name for name in found if name not in OTHER_SHARES]


def unnamed(text: str) -> list[float]:
    """Fractions within functions that have no name; 0.0 and 1.0 need none."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    numbers = [one.value for node in functions for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return [one for one in numbers if isinstance(one, float) and one not in (0.0, 1.0)]


def test_constants_of_time_live_in_one_file():
    files = {path.relative_to(APP).as_posix(): path.read_text() for path in APP.rglob("*.py")}
    assert {path: found for path, text in files.items() if path != "timing.py" and (found := times(text))} == {}


def test_each_has_a_note():
    found = list(constants((APP / "timing.py").read_text()))
    assert len(found) > 60
    assert [name for name, note in found if not note] == []


def test_files_that_decide_about_time_name_their_numbers():
    assert {name: found for name in DECIDES if (found := unnamed((APP / name).read_text()))} == {}


def test_the_checks_can_fail():
    text = "A, WAIT_SECONDS = 1, 2.5\nSTEP = 1 / 4  # seconds\nROWS = 10  # of a table\nUNIQUE_SHARE = 0.2\n"
    assert times(text) == ["WAIT_SECONDS", "STEP"]
    assert list(constants("# a choice\nEND = 3\nHALF = 0.5\n")) == [("END", "a choice"), ("HALF", "")]
    assert unnamed("def f(left):\n    return min(1.0, 0.25 * left)\n") == [0.25]
