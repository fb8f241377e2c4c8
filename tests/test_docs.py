"""The pages of the docs are true: their code runs, what they name exists, every gallery example draws a picture."""

from __future__ import annotations

import re
import runpy
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from foldwise.app.cli.commands import app
from foldwise.app.config import FitConfig
from foldwise.evaluation.metrics import METRICS
from foldwise.models import catalogue
from tests.slow import slow

ROOT = Path(__file__).parents[1]
DOCS = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "how-to-add.md")  # which has its own test
PAGES = [path for path in DOCS if "```python\n" in path.read_text() and path.parent.name != "teaching"]
# pages with real runs, or with many fits
LONG = {
    *("check-new-data", "explore", "factors", "first-run", "mixed-frames", "predict-a-quantity", "refit"),
    *("search-settings", "select-features"),
}
THEIRS = {"pyproject", "toml", "SECURITY", "md", "null_values", "fork", "make"}  # names that are not in the source
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(page):
    named = re.findall(r"[\w/-]+\.py\b|(?<=`)[\w-]+/[\w/-]*/?(?=`)", page.read_text())
    source = ROOT / "src" / "foldwise"
    places = (ROOT, source, source / "data", *(room for room in source.iterdir() if room.is_dir()))
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("page", ["architecture.md", *(f"journeys/{p.name}" for p in DOCS if "journeys" in p.parts)])
def test_names_of_the_architecture_exist(page):
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    known = set(re.findall(r"\w+", source)) | THEIRS
    named = re.findall(r"`([A-Za-z_][\w.]*)(?:\([^`]*\))?`", (ROOT / "docs" / page).read_text())
    words = [word for name in named if not name.endswith(".py") for word in name.split(".")]
    assert [word for word in words if word not in known] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem not in LONG] + slow(*(page for page in PAGES if page.stem in LONG)),
    ids=lambda path: path.stem,
)
def test_the_code_of_a_page_runs(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, page.name, "exec", dont_inherit=True), names)


@pytest.mark.parametrize("example", GALLERY, ids=lambda path: path.stem)
@pytest.mark.slow  # the docs site draws them too
def test_a_gallery_example_draws_one_picture(example):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    runpy.run_path(str(example))
    assert len(plt.get_fignums()) == 1
    plt.close("all")


def test_the_configuration_page_lists_every_option_and_name():
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    named = set(re.findall(r"[\w-]+", page))
    group: Any = typer.main.get_command(app)
    options = [option for param in group.commands["fit"].params for option in param.opts if option.startswith("--")]
    arguments = [one.name for one in fields(FitConfig) if one.name != "y_apart"]  # how y came is no option
    metrics = [m.name for m in METRICS.values() if not m.name.startswith(("f1_", "precision_", "recall_"))]
    assert [one for one in [*options, *arguments, *catalogue(), *metrics] if one not in named] == []


def test_the_report_page_explains_every_section():
    page = (ROOT / "docs" / "explanation" / "report.md").read_text()
    titles = set(re.findall(r"^## (.*)$", page, re.MULTILINE))
    sections = (ROOT / "src" / "foldwise" / "report" / "sections").glob("*.py")
    shown = {title for path in sections for title in re.findall(r'Section\("\w+", "([^"]+)"', path.read_text())}
    assert len(shown) > 5
    assert shown - titles == set()


def test_the_api_index_lists_every_public_name():
    hooks = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
    index = hooks["api_index"]()  # raises where a name has no topic
    pages = [hooks["page_of"](name).lower() for name in hooks["NAMES"]]
    assert len(set(pages)) == len(pages) == len(re.findall(r"^\| \[", index, re.MULTILINE))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_project_files_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text())
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *DOCS], ids=lambda path: path.stem)
def test_commands_of_a_page_have_known_options(page):
    group: Any = typer.main.get_command(app)
    for line in re.findall(r"^foldwise (\w+ .*)$", page.read_text(), re.MULTILINE):
        name, *arguments = shlex.split(line, comments=True)
        command = group.commands[name]
        command.make_parser(typer.Context(command)).parse_args(arguments)  # raises on an unknown option
