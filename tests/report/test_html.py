"""The page: all sections, whatever facts lack, whatever names hold, and nothing that loads."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from foldwise.errors import InputError
from foldwise.evaluation import tables
from foldwise.evaluation.prediction_curves import prediction_facts
from foldwise.report import render
from foldwise.report.formatting import decimals, duration, fixed, number, p_equation, p_text, percent
from foldwise.report.markup import el, embedded
from foldwise.report.pictures.scales import Scale, round_values
from tests.report.hostile import PAYLOAD, hostile
from tests.report.made import cancer_facts, weather_facts, wine_facts

ALL = {
    "leaderboard",
    "mistakes",
    "curves",
    "importance",
    "examples",
    "nomogram",
    "data",
    "searches",
    "repeat",
    "glossary",
}
VOID = {"meta", "input", "br", "img", "link"}


class Page(HTMLParser):
    """What a page consists of; an element that is not closed where it should be is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)
        else:
            self.words.append(data)

    @property
    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]


def sections(text: str) -> set[str]:
    return {str(attributes["id"]) for tag, attributes in Page(text).elements if tag == "section"}


@pytest.mark.parametrize("facts", [wine_facts, cancer_facts])
def test_all_sections_are_there(facts: Any) -> None:
    assert sections(render(facts())) == ALL


def test_the_top_is_in_words_and_shows_the_honest_estimate_beside_the_others() -> None:
    facts = wine_facts()
    page = Page(render(facts))
    words = "".join(page.words)
    for sentence in facts["headline"]["words"]:
        assert sentence in words
    estimate = facts["headline"]["estimate"]
    for figure in (estimate["value"], estimate["low"], estimate["high"], estimate["search_score"]):
        assert number(figure) in words
    assert words.index(facts["headline"]["words"][0]) < words.index("Warnings") < words.index("Best single model")


def test_models_without_a_score_say_why() -> None:
    words = "".join(Page(render(wine_facts())).words)
    assert "Models without a score. Too slow: RBF SVM." in words
    assert "one fold would not end within the budget" in words


def test_models_tied_with_the_best_are_named() -> None:
    facts = copy.deepcopy(wine_facts())
    board = [entry for entry in facts["leaderboard"] if entry["status"] == "ok"]
    for entry in board[1:]:
        entry["tied"] = entry is board[1]
    words = "".join(Page(render(facts)).words)
    assert f"Statistically tied with it: {board[1]['title']}." in words
    board[1]["tied"] = False
    assert "No other model is tied with it." in "".join(Page(render(facts)).words)


@pytest.mark.parametrize(
    ("n_models", "best", "expected"),
    [
        (2, False, "No single model is clearly better than the baseline. Best estimate: "),
        (1, False, "It is not clearly better than the baseline."),
        (1, True, "It is clearly better than the baseline."),
    ],
)
def test_no_model_is_called_best_without_a_test_or_a_rival(n_models: int, best: bool, expected: str) -> None:
    facts = copy.deepcopy(wine_facts())
    facts["headline"]["verdict"]["best"] = best
    facts["leaderboard"] = facts["leaderboard"][:n_models] + facts["leaderboard"][-1:]
    words = "".join(Page(render(facts)).words)
    assert expected in words
    assert "Best single model" not in words


def test_folds_that_are_not_scored_are_mentioned_with_folds() -> None:
    facts = wine_facts()
    assert "".join(Page(render(facts)).words).count(facts["task"]["scored_folds"].rstrip(".")) == 4


def test_a_hidden_nomogram_says_why_and_needs_no_script() -> None:
    text = render({**wine_facts(), "bayes": {"hidden": "it is worse than the baseline", "words": "It is."}})
    assert "The nomogram is not shown, because it is worse than the baseline. It is." in text
    assert "nomogram-facts" not in text


def test_examples_without_contributions_say_why() -> None:
    bare = {name: value for name, value in wine_facts()["examples"][0].items() if name not in ("cells", "base")}
    text = render({**wine_facts(), "examples": [{**bare, "fold": 3, "unexplained": "there was not enough time"}]})
    assert "These are held-out rows of fold 3," in text
    assert "These predictions are not explained column by column, because there was not enough time." in text
    assert "The bars explain" not in text
    assert "The bars explain" in render(wine_facts())


@pytest.mark.parametrize("facts", [wine_facts, cancer_facts, weather_facts])
def test_nothing_is_loaded(facts: Any) -> None:
    text = render(facts())
    page = Page(text)
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
    assert not {"link", "img", "iframe", "object", "embed"} & {tag for tag, _ in page.elements}
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)


def test_ids_are_unique_and_contents_lead_somewhere() -> None:
    page = Page(render(wine_facts()))
    assert len(page.ids) == len(set(page.ids))
    links = {(attributes["href"] or "")[1:] for tag, attributes in page.elements if tag == "a"}
    assert links == ALL


def test_pictures_say_what_they_show() -> None:
    text = render(cancer_facts())
    for picture in re.findall(r'<svg[^>]*role="img".*?</svg>', text, re.DOTALL):
        assert re.match(r"<svg[^>]*><title>[^<]+</title><desc>[^<]+</desc>", picture)
    assert text.count('role="img"') >= 5


@pytest.mark.parametrize("facts", [wine_facts, cancer_facts, weather_facts])
def test_hostile_names_are_harmless(facts: Any) -> None:
    plain, page = Page(render(facts())), Page(render(hostile(facts())))
    # a long name gets a title that tells it in full, nothing else may come of it
    assert [tag for tag, _ in page.elements if tag != "title"] == [tag for tag, _ in plain.elements if tag != "title"]
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert PAYLOAD in "".join(page.words)
    told = json.loads(page.scripts[0])
    assert told["columns"][0]["name"].endswith(PAYLOAD)


def test_embedded_facts_cannot_end_their_script() -> None:
    text = embedded({"a": PAYLOAD}, "x")
    inside = text.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\u2028") & set(inside)
    assert json.loads(inside) == {"a": PAYLOAD}


def test_empty_facts_make_a_page() -> None:
    for facts in ({}, {"format": 1}, dict.fromkeys(wine_facts())):
        facts = {**facts, "format": 1}
        assert sections(render(facts)) == set()
    assert sections(render({key: [] for key in wine_facts() if key != "format"})) == set()


def places(facts: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested facts, of a list those of its first item."""
    if path:
        yield path
    if isinstance(facts, dict):
        for key, value in facts.items():
            yield from places(value, (*path, key))
    elif isinstance(facts, list) and facts:
        yield from places(facts[0], (*path, 0))


def test_every_fact_may_be_undefined() -> None:
    facts = shortened(copy.deepcopy(cancer_facts()))
    facts["bayes"]["table"]["lines"] = cancer_facts()["bayes"]["table"]["lines"][:2]  # lines are as long as they are
    within_script = ("bayes", "columns", 0)  # handed to the page's own script as it is
    seen, troubles = 0, []
    for path in places(facts):
        if path[0] == "format" or path[:3] == within_script:
            continue
        broken = holed(facts, path)
        try:
            render(broken)
        except Exception as error:
            troubles.append(f"{path}: {error!r}")
        seen += 1
    assert troubles == []
    assert seen > 200


def shortened(facts: Any) -> Any:
    """The same facts with two items a list, so that a page takes a millisecond."""
    if isinstance(facts, dict):
        return {key: shortened(value) for key, value in facts.items()}
    return [shortened(item) for item in facts[:2]] if isinstance(facts, list) else facts


def holed(facts: Any, path: tuple[Any, ...]) -> Any:
    """The facts with None in one place; only what lies on the way is copied."""
    if not path:
        return None
    inner = copy.copy(facts)
    inner[path[0]] = holed(facts[path[0]], path[1:])
    return inner


def test_rows_left_out_leave_no_row_in_the_page() -> None:
    facts = {**wine_facts(), "examples": []}
    facts["made"] = {**facts["made"], "rows_included": False}
    text = render(facts)
    assert sections(text) == ALL - {"examples"}
    assert "rows of data in this file" in text


def test_a_large_run_stays_small_and_quick(rng: np.random.Generator) -> None:
    facts = copy.deepcopy(cancer_facts())
    base = facts["searches"][0]
    trials = [
        {"settings": {f"s{k}": float(rng.random()) for k in range(6)} | {"kind": str(rng.integers(5))}}
        | {"score": float(rng.random()), "folds": 5, "seconds": 0.1, "at": 0.1 * i}
        for i in range(1500)
    ]
    facts["searches"] = [{**base, "title": f"model {i}", "trials": trials} for i in range(16)]
    facts["importance"] = [{**facts["importance"][0], "column": f"column {i}"} for i in range(500)]
    facts["audit"]["columns"] = [{**facts["audit"]["columns"][0], "name": f"column {i}"} for i in range(500)]
    n_classes = 40
    truth = rng.integers(0, n_classes, 5000)
    proba = rng.dirichlet(np.ones(n_classes), 5000)
    facts["predictions"] = prediction_facts(truth, proba, [f"class {i}" for i in range(n_classes)])
    assert len(render(facts).encode()) < 3_000_000


def test_a_matrix_of_many_classes_is_folded_behind_its_worst_pairs(rng: np.random.Generator) -> None:
    names = [f"class {i}" for i in range(11)]
    truth = np.repeat(np.arange(11), 20)
    proba = np.eye(11)[truth]
    proba[:9] = np.eye(11)[7]  # nine rows of the first class
    proba[20:23] = np.eye(11)[0]
    facts = {**wine_facts(), "predictions": prediction_facts(truth, proba, names)}
    facts["task"] = {**facts["task"], "classes": names, "class_counts": [20] * 11}
    page = Page(render(facts))
    words = "|".join(page.words)
    assert "Most frequent mistakes" in words
    assert words.index("class 0|class 7|9|45%") < words.index("class 1|class 0|3|15%")
    assert "Confusion matrix of 11 classes" in words
    assert "class 0|55%|79%|20" in words  # recall, precision, rows
    assert "The curves show 6 of 11 classes, those with the most held-out rows." in words


def test_rows_without_mistakes_say_so() -> None:
    truth = np.arange(10).repeat(3)
    page = render({"predictions": prediction_facts(truth, np.eye(10)[truth], list(range(10)))})
    assert "No row was predicted as another class." in page


def test_a_table_of_very_many_columns_shows_the_first() -> None:
    facts = copy.deepcopy(cancer_facts())
    facts["audit"] |= {"columns": facts["audit"]["columns"] * 10, "n_columns": 100_000}
    text = render(facts)
    assert "The first 200 of 100,000 columns" in text
    assert len(text.encode()) < 1_000_000


def test_the_page_needs_no_library_that_is_slow_to_load() -> None:
    code = (
        "import sys, foldwise.report; foldwise.report.render({}); "
        "print([name for name in ('matplotlib', 'sklearn', 'numba', 'scipy', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_another_format_is_refused() -> None:
    with pytest.raises(InputError, match="format 1, got format 2"):
        render({"format": 2})


def test_an_element_escapes_what_is_not_markup() -> None:
    assert el("p", "a < b", el("b", "&"), None, title='"') == '<p title="&quot;">a &lt; b<b>&amp;</b></p>'


def test_ticks_are_round_and_few() -> None:
    assert round_values(0.0, 1.0, 5) == [0.0, 0.5, 1.0]
    assert Scale(0.001, 1000.0, log=True).ticks(4) == [0.001, 0.1, 10.0, 1000.0]
    assert Scale(0.0, 10.0)(20.0) == 100.0
    for low, high in ((0.0, 3e-7), (-12.0, 45.0), (1e9, 1e9 + 3), (5.0, 5.0)):
        assert 1 <= len(Scale(low, high).ticks(5)) <= 5


def test_numbers_read_well() -> None:
    assert [number(v) for v in (12345, 1234.5, 0.12345, 0.00012, None, float("nan"))] == [
        "12,345",
        "1,234",
        "0.123",
        "0.00012",
        "–",
        "–",
    ]
    assert [percent(v) for v in (0.5, 0.004, 0.0001, 0.0, None)] == ["50%", "0.4%", "<0.1%", "0%", "–"]
    assert [duration(v) for v in (0.25, 75, 600, 9000)] == ["0.2 s", "75 s", "10 min", "2.5 h"]
    assert fixed(-0.00061, decimals([0.25, 0.0039])) == "−0.001"


def test_a_picture_must_be_an_encoded_file() -> None:
    pictures = [
        {"kind": PAYLOAD, "png": text} for text in ("AAAA", 'x" onerror="alert(1)', "https://example.com/a.png")
    ]
    words = {"title": PAYLOAD, "no_pictures": PAYLOAD, "made": {"strategy": PAYLOAD}}
    facts = {"kind": "tune", "pictures": pictures, **words}
    elements = Page(render(facts)).elements
    [image] = [attributes for tag, attributes in elements if tag == "img"]
    assert image["src"] == "data:image/png;base64,AAAA"
    assert not any(name.startswith("on") for _, attributes in elements for name in attributes)


@pytest.mark.parametrize("p", [0.0, 0.0006, 0.000999, 0.001, 0.0423, 0.9999, 1.0, None])
def test_p_values_are_written_as_in_a_comparison(p: float | None) -> None:
    assert p_text(p) == tables.p_text(p)
    assert p is None or p_equation(p) == tables.p_equation(p)


def test_a_search_counts_all_its_settings_and_names_the_best_category() -> None:
    facts = copy.deepcopy(weather_facts())
    tried = (("uniform", 0.5, 3, 1), ("distance", 0.4, 3, 2), ("gaussian", 0.1, 1, 4))
    facts["searches"] = [
        {
            "model": "knn",
            "title": "kNN",
            "n_settings": 1500,
            "trials": [
                {"settings": {"weights": name, "p": p}, "score": score, "folds": folds, "at": float(p)}
                for name, score, folds, p in tried
            ],
        }
    ]
    page = render(facts)
    assert "kNN: 1,500 settings tried (3 of them shown), best log loss 0.400 on 3 of 3 folds" in page
    named = re.findall(r"best: ([\d.]+ [^<]+)<", page)
    assert named == ["0.400 with weights = distance", "0.400 with p = 2", "0.400 after 2 s"]
    assert page.count('class="cloud part"') == 3


def test_the_best_setting_is_marked_only_where_it_has_the_hyperparameter() -> None:
    facts = copy.deepcopy(weather_facts())
    settings = [{"C": 1.0}, {"C": 10.0, "gamma": 0.1}, {"C": 10.0, "gamma": 1.0}]
    trials = [{"settings": one, "score": 0.3 + 0.1 * i, "folds": 3} for i, one in enumerate(settings)]
    many = [{"settings": {"kind": f"kind {i}"}, "score": 1 - 0.01 * i, "folds": 3} for i in range(12)]
    facts["searches"] = [{"title": "SVM", "trials": trials}, {"title": "kNN", "trials": many}]
    named = re.findall(r"best: ([\d.]+ [^<]+)<", render(facts))
    assert named == ["0.300 with C = 1", "0.890 with kind = kind 11"]
