"""The pages of the docs are true: their Python code runs, and every gallery example draws a picture."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*(ROOT / "docs" / "tutorials").glob("*.md"), *(ROOT / "docs" / "how-to").glob("*.md")])
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, page.name, "exec", dont_inherit=True), names)


@pytest.mark.parametrize("example", GALLERY, ids=lambda path: path.stem)
def test_a_gallery_example_draws_one_picture(example):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    runpy.run_path(str(example))
    assert len(plt.get_fignums()) == 1
    plt.close("all")
