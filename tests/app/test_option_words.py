"""Advice of messages, as a shell user types it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import foldwise
from foldwise.app.option_words import with_options


@pytest.mark.parametrize(
    ("python", "shell"),
    [
        ("pass task='classification'.", "pass --task classification."),
        ("pass target='two words', one of them.", "pass --target 'two words', one of them."),
        ("""pass target="it's".""", """pass --target 'it'"'"'s'."""),
        ("continue it with resume='runs/a b', or not.", "continue it with --resume 'runs/a b', or not."),
        (
            "close it, or pass quote='' if quotes are not special.",
            "close it, or pass --quote '' if quotes are not special.",
        ),
        ("Pass drop='id', or kinds={'id': 'text'}.", "Pass --drop id, or --kind id=text."),
        ("leave about= out.", "leave --class out."),
        ("use strategy='random', or wait.", "use --strategy random, or wait."),
        (
            "All 5 fits failed. Hint: pass error_score='raise' to see the traceback.",
            "All 5 fits failed. Hint: solve the first error, or choose another model.",
        ),
        ("pass formats={'day': '%d.%m.%Y'} to say it.", "pass --kind day=date:%d.%m.%Y to say it."),
        ("pass missing_values={'age': 'n.k.'}.", "pass --missing 'age=n.k.'."),
        ("the table has no column 'task', passed as groups=.", "the table has no column 'task', passed as --groups."),
    ],
)
def test_values_are_quoted_only_where_a_shell_needs_it(python, shell):
    assert with_options(python) == shell


SOURCE = Path(foldwise.__file__).parent
KEYWORD = re.compile(r"(?<![\w'\"-])[a-z][a-z_]*=(?!=)")
ADVICE = re.compile(r"[.:?]$|\bpass\b|\bleave\b")
SHAPES = re.compile(r"\(shape=\(|In Python, .*|--(kind|missing) \S+", re.IGNORECASE)  # no advice
# rooms and files whose arguments commands set themselves, or that commands do not call
ESTIMATORS = ["adapters", "bayes", "clusters", "decisions", "ensembles", "neighbors", "rules", "unsupervised"]
FUNCTIONS = "bias_corrected comparing confusion cross_predict curves engine_nested estimating leaks procedure_scores"
SEARCHES = "dimensions fold_search pictures racing reshuffling running_search select_features store"
EXPORTS = "model_columns onnx/columns onnx/forests onnx/neighbors onnx/run_models sql/columns sql/forests"
PYTHON_ONLY = tuple(
    f"{room}{name}"
    for room, names in {
        "": [*ESTIMATORS, "folds", "summaries"],
        "app/": ["workbench"],  # whose words are those of its pages
        "engines/": ["checks", "scans", "table_facts"],
        "evaluation/": f"{FUNCTIONS} routing".split(),
        "exports/": f"{EXPORTS} sql/run_models trees".split(),  # of estimators that were fitted in Python
        "models/": ["catalogue", "table_encoder", "target_transforms"],
        "tuning/": SEARCHES.split(),
    }.items()
    for name in names
)


def text_of(node: ast.expr) -> str:
    """A string, or one with values that are filled in: x stands for each of them, 'x' where it is quoted."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if not isinstance(node, ast.JoinedStr):
        return ""
    quoted = [isinstance(part, ast.FormattedValue) and part.conversion == ord("r") for part in node.values]
    filled = ["'X'" if is_quoted else "X" for is_quoted in quoted]
    return "".join(text_of(part) or one for part, one in zip(node.values, filled, strict=True))


def advice_in(path: Path) -> Iterator[tuple[int, str]]:
    """The sentences of a file that are not docstrings, each with its line."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
            text = text_of(node)
            if " " in text and ADVICE.search(text):
                yield node.lineno, text


def test_advice_that_only_python_can_follow_is_translated():
    left = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(PYTHON_ONLY):
            found = [(line, with_options(text)) for line, text in advice_in(path) if KEYWORD.search(text)]
            left += [f"{name}:{line}: {said}" for line, said in found if KEYWORD.search(SHAPES.sub("", said))]
    assert not left, "\n".join(left)


def test_advice_is_found(tmp_path):
    (tmp_path / "some.py").write_text('"""Pass a=1."""\nraise ValueError(f"no {x}, pass columns={x!r}.", "in b.")\n')
    assert [*advice_in(tmp_path / "some.py")] == [(2, "no X, pass columns='X'."), (2, "in b.")]
    assert KEYWORD.search(with_options("no X, pass columns='X'."))
