"""What people read is plain: no phrase that needs decoding, every public docstring complete, every option explained.

`pytest tests/test_words.py -k evaluation` shows what is missing in one room.
"""

from __future__ import annotations

import re
import tokenize
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import griffe
import pytest
import typer

import foldwise
from foldwise.app.cli.commands import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "foldwise"
ROOMS = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")})
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md")) + sorted((ROOT / "benchmarks").glob("*.md"))
TEMPLATES = sorted(SOURCE.rglob("*.html"))

# what the guide avoids, and what to write instead
AVOID = {
    r"\banew\b": "again",
    r"\bbeware\b": "name the problem",
    r"(?<!there )\bis no (?!longer|more|less|better|worse|other|such|need|way|doubt)[a-z]": "is not a",
    r"(?<!there )\bare no (?!longer|more|less|better|worse)[a-z]": "are not",
    r"so manyth": "every n-th",
    r"told apart|tell apart": "statistically tied; distinguish",
    r"shares of (the )?classes": "class frequencies",
    r"its twin|mistake of ours|nothing but errors": "see the guide",
    r"likeliest": "most probable",
    r"(?<=\d|\}) %(?![\w(\[{'\"])": "80.1%, without a blank",
    r"tested are|asked are|given are|kept are": "subject, verb, object",
    r"\ba (row|class|column|fold) a (line|row|column|fold)\b|\bone a (row|class|column|fold)\b": "one per row",
    r"what (it|they|he) (is|are) worth|what (it|a model|models) (is|are) worth": "honest estimate",
    r"\b(neighbour|colour|behaviour|favour|labell|modell|catalogu?e?d by|centre\b)": "American spelling",
    r"\b(normal|random|summar|optim|minim|maxim|standard|regular|general|discret|vector|initial)is(e|ing|ation)": (
        "American spelling"
    ),
    r"\b(of|from) before\b(?! (the|a|an|it|they|that|this)\b)": "earlier",
    r"\bfit (it|them) without\.|\bpass fewer\.": "name what to leave out",
    r"of little worth|in points above": "rough; percentage points",
    r"\bhalf-?way house\b|\bby heart\b|\bnurse\b|\bhonestly said\b": "avoid charm",
}
MARKUP = re.compile(r"<[^>]*>|\{%.*?%\}|\{\{.*?\}\}")  # tags and statements of templates
ALLOWED = {"docs/reference/glossary.md"}  # shows the words to avoid


def texts_of(path: Path) -> list[tuple[int, str]]:
    """Strings and comments of a Python file, or the lines of a page or template, each with its line number."""
    if path.suffix != ".py":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [(i, MARKUP.sub(" ", line) if path.suffix == ".html" else line) for i, line in enumerate(lines, 1)]
    kinds = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", -1))
    with path.open("rb") as file:
        return [(token.start[0], token.string) for token in tokenize.tokenize(file.readline) if token.type in kinds]


def phrases_to_avoid(paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        if path.relative_to(ROOT).as_posix() in ALLOWED:
            continue
        for line, text in texts_of(path):
            for pattern, instead in AVOID.items():
                if match := re.search(pattern, text, re.IGNORECASE):
                    start = max(0, match.start() - 30)
                    context = text[start : match.end() + 30].replace("\n", " ")
                    found.append(f"{path.relative_to(ROOT)}:{line}: …{context}… → {instead}")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_the_source_avoids_phrases_that_need_decoding(room):
    files = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0].removesuffix(".py") == room]
    assert not (found := phrases_to_avoid(files)), "\n".join(found)


def test_pages_avoid_phrases_that_need_decoding():
    assert not (found := phrases_to_avoid([*PAGES, *TEMPLATES])), "\n".join(found)


def test_every_extra_is_listed():
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    extras = set(known) - {"docs", "peers", "dev"}  # for developers
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    reference = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    assert not [one for one in extras if f"`{one}`" not in readme and f"'.[{one}]'" not in readme]
    assert not [one for one in extras if f"| `foldwise[{one}]` |" not in reference]


@cache
def package() -> Any:
    """The package as the docs site reads it; a second of work, which only the process that needs it does."""
    return griffe.load("foldwise", search_paths=[str(SOURCE.parent)], docstring_parser="numpy")


def public_objects(room: str) -> dict[str, Any]:
    """What a room offers, by name: the names of its `__all__`, without what it only passes on."""
    if room == "__init__":
        return {}
    module: Any = package()[room]
    names = [str(name).strip("'\"") for name in module.exports or []]
    names += [
        name for name in foldwise.__all__ if not name.startswith("_") and HOMES[name].startswith(f"foldwise.{room}")
    ]
    found = {}
    for name in dict.fromkeys(names):
        item = module[name] if name in module.members else package()[HOMES[name].removeprefix("foldwise.")][name]
        item = item.final_target if item.is_alias else item
        if item.canonical_path.startswith(f"foldwise.{room}"):
            found[name] = item
    return found


HOMES = {name: getattr(foldwise, name).__module__ for name in foldwise.__all__ if not name.startswith("_")}


def sections(item: Any) -> dict[str, Any]:
    """The parsed sections of a docstring, by kind."""
    if item.docstring is None:
        return {}
    return {section.kind.value: section.value for section in item.docstring.parse("numpy", warn_unknown_params=False)}


def parameters_of(item: Any) -> list[str]:
    """The parameters a reader may pass."""
    skip = ("self", "cls")
    return [p.name.lstrip("*") for p in item.parameters if p.name not in skip and not p.name.startswith("_")]


def missing_in(item: Any, path: str) -> list[str]:
    """What the docstring of a class, function or method lacks."""
    if item.docstring is None:
        return [f"{path}: no docstring"]
    found, wrong = sections(item), []
    summary = item.docstring.value.split("\n\n")[0].strip()
    if not summary.endswith((".", "?", "`")) or "\n" in summary:
        wrong.append(f"{path}: the summary is one line that ends with a period")
    if item.is_class:
        told = {p.name for kind in ("parameters", "attributes") for p in found.get(kind, [])}
    else:
        told = {name.strip() for p in found.get("parameters", []) for name in p.name.split(",")}
    told = {name.lstrip("*") for name in told}
    untold = [name for name in parameters_of(item) if name not in told]
    if untold:
        wrong.append(f"{path}: not described: {', '.join(untold)}")
    if item.is_function:
        returns = str(item.returns or "None")
        if "property" not in item.labels and returns not in ("None", "Self", "NoReturn") and "returns" not in found:
            wrong.append(f"{path}: no Returns section")
    return wrong


def inherits_docstring(item: Any, method: Any) -> bool:
    """Whether a method without a docstring overrides one that has one, which `help` then shows."""
    same = [base.members.get(method.name) for base in item.mro()]
    return method.docstring is None and any(one is not None and one.docstring for one in same)


def needs_example(item: Any) -> bool:
    return "examples" not in sections(item)


@pytest.mark.parametrize("room", [room for room in ROOMS if room not in {"__init__", "errors", "py", "summaries"}])
def test_public_docstrings_are_complete(room):
    wrong = []
    for name, item in public_objects(room).items():
        if not (item.is_class or item.is_function):
            continue
        wrong += missing_in(item, name)
        if needs_example(item):
            wrong.append(f"{name}: no Examples section")
        for method in item.members.values() if item.is_class else ():
            if method.is_function and not method.name.startswith("_") and not inherits_docstring(item, method):
                wrong += missing_in(method, f"{name}.{method.name}")
    assert not wrong, "\n".join(wrong)


def test_options_of_the_command_line_are_explained():
    group: Any = typer.main.get_command(app)
    unexplained = []
    for name, command in group.commands.items():
        assert command.help, name
        assert command.help.splitlines()[0].endswith("."), name
        assert len(command.help.splitlines()[0]) <= 60, name  # the list of commands would cut it off
        for option in command.params:
            words = getattr(option, "help", None)
            if option.name != "help" and not (words and words.endswith(".") and words[0].isupper()):
                unexplained.append(f"{name} {option.name}: {words}")
    assert not unexplained, "\n".join(unexplained)
