"""What the docs site adds to its pages: one API page per public name, the help of each command, benchmarks, gallery."""

from __future__ import annotations

import ast
import io
import runpy
from pathlib import Path
from typing import Any

import matplotlib as mpl
import typer
from mkdocs.structure.files import File, Files

import foldwise
from foldwise.app.cli.commands import app

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
COMMANDS = "<!-- commands"


def public_names() -> list[str]:
    """The names of the API reference, in alphabetical order."""
    return sorted((name for name in foldwise.__all__ if not name.startswith("__")), key=str.lower)


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation."""
    reference = next(part["Reference"] for part in config.nav if "Reference" in part)
    reference.append({"API": [{name: f"reference/api/{name}.md"} for name in public_names()]})
    pages = [{title_of(path): f"gallery/{path.stem}.md"} for path in GALLERY]
    config.nav.insert(2, {"Gallery": pages})
    measured = next(part["Measurements"] for part in config.nav if "Measurements" in part)
    measured.append({"Benchmarks": [f"benchmarks/{path.name}" for path in sorted(BENCHMARKS.glob("*.md"))]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for name in public_names():
        files.append(File.generated(config, f"reference/api/{name}.md", content=f"::: foldwise.{name}\n"))
    for path in sorted(BENCHMARKS.glob("*.md")):
        files.append(File.generated(config, f"benchmarks/{path.name}", content=path.read_text(encoding="utf-8")))
    for path in GALLERY:
        files.append(File.generated(config, f"gallery/{path.stem}.png", content=picture(path)))
        files.append(File.generated(config, f"gallery/{path.stem}.md", content=gallery_page(path)))
    return files


def title_of(example: Path) -> str:
    """The first line of an example's docstring."""
    return (ast.get_docstring(ast.parse(example.read_text())) or example.stem).splitlines()[0].rstrip(".")


def picture(example: Path) -> bytes:
    """Run an example and return what it draws, as PNG."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    runpy.run_path(str(example))
    drawn = io.BytesIO()
    plt.gcf().savefig(drawn, dpi=110)
    return drawn.getvalue()


def gallery_page(example: Path) -> str:
    """An example with its picture: title, text, picture, code."""
    text = example.read_text()
    docstring = ast.get_docstring(ast.parse(text)) or ""
    code = text.split('"""', 2)[2].strip()
    words = "\n".join(docstring.splitlines()[1:]).strip()
    return f"# {title_of(example)}\n\n{words}\n\n![{title_of(example)}]({example.stem}.png)\n\n```python\n{code}\n```\n"


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
