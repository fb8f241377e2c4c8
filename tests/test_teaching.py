"""The exercises of the docs: at most ten lines each, and what they print and draw is what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.slow import slow

ROOT = Path(__file__).parents[1]
PAGES = [path for path in sorted((ROOT / "docs" / "teaching").glob("*.md")) if path.stem != "index"]
EXERCISES = {
    *("weather-by-hand", "smoothing", "choosing-k", "pruning", "bagging-and-boosting", "confusion-and-costs"),
    *("roc-and-thresholds", "optimism-of-a-search", "feature-selection-done-wrong", "svm-grid"),
    "four-ensemble-blocks",
}
MOST_LINES = 10
LONG = ("bagging-and-boosting", "four-ensemble-blocks")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem not in LONG] + slow(*(page for page in PAGES if page.stem in LONG)),
    ids=lambda path: path.stem,
)
def test_an_exercise_shows_what_its_code_does(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(ROOT)
    text = page.read_text()
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= MOST_LINES
    plt.close("all")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page.name, "exec", dont_inherit=True), {})
    drawn = len(plt.get_fignums())
    plt.close("all")
    assert drawn == text.count(f"]({page.stem}.png)")
    shown = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    assert len(shown) == bool(printed.getvalue())
    assert_alike(printed.getvalue(), shown[0] if shown else "")
    assert drawn or shown


def assert_alike(printed: str, shown: str) -> None:
    """Compare words exactly, and decimals with a tolerance: the last digits differ between machines."""
    assert NUMBER.sub("0.0", printed).split() == NUMBER.sub("0.0", shown).split()
    found, expected = ([float(one) for one in NUMBER.findall(text)] for text in (printed, shown))
    assert found == pytest.approx(expected, rel=0.01, abs=0.02)


def test_every_page_asks_shows_and_is_listed() -> None:
    index = (ROOT / "docs" / "teaching" / "index.md").read_text()
    nav = (ROOT / "mkdocs.yml").read_text()
    assert {page.stem for page in PAGES} == EXERCISES
    for page in PAGES:
        title, _, question = page.read_text().splitlines()[:3]
        assert title.startswith("# ")
        assert question.startswith("**")
        assert "?**" in page.read_text()
        assert "## What to see" in page.read_text()
        assert f"]({page.name})" in index
        assert f"teaching/{page.name}" in nav


def test_a_changed_number_or_word_is_noticed() -> None:
    assert_alike("best k: 3, 0.951", "best k: 3, 0.952")
    for other in ("best k: 5, 0.951", "best k: 3, 0.9", "worst k: 3, 0.951"):
        with pytest.raises(AssertionError):
            assert_alike(other, "best k: 3, 0.952")
