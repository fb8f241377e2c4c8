"""What the docs site adds to its pages: one API page per public name, the help of each command, the benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from mkdocs.structure.files import File, Files

import foldwise
from foldwise.app.cli.commands import app

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COMMANDS = "<!-- commands"


def public_names() -> list[str]:
    """The names of the API reference, in alphabetical order."""
    return sorted((name for name in foldwise.__all__ if not name.startswith("__")), key=str.lower)


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation."""
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    reference.append({"API": [{name: f"reference/api/{name}.md"} for name in public_names()]})
    measured = next(part["Measurements"] for part in config.nav if "Measurements" in part)
    measured.append({"Benchmarks": [f"benchmarks/{path.name}" for path in sorted(BENCHMARKS.glob("*.md"))]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for name in public_names():
        files.append(File.generated(config, f"reference/api/{name}.md", content=f"::: foldwise.{name}\n"))
    for path in sorted(BENCHMARKS.glob("*.md")):
        files.append(File.generated(config, f"benchmarks/{path.name}", content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put the help of each command into the command-line page."""
    if COMMANDS not in markdown:
        return markdown
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="foldwise")
    parts = [markdown[: markdown.index(COMMANDS)]]
    for name, command in group.commands.items():
        inner = typer.Context(command, info_name=name, parent=context)
        parts.append(f"## foldwise {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)
