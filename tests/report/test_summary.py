"""The summary of a run fits 80 columns as text, and escapes all text of the table as HTML."""

from __future__ import annotations

import pytest

from foldwise.app.facts import make_facts
from foldwise.app.leaderboard import leaderboard
from foldwise.app.timing import RunTimes
from foldwise.report.summary import summary_html, summary_text
from tests.app.fakes import made_up_result


@pytest.fixture(scope="module")
def facts():
    result = made_up_result({"naive_bayes": 1.5, "logistic_regression": 1.0, "decision_tree": None})
    late = RunTimes(20.0, 29.0, (("reading", 1.0), ("trying models", 28.0)))
    return make_facts(result, leaderboard(result), [], late)


def test_the_text_fits_a_terminal(facts):
    lines = summary_text(facts).splitlines()
    assert max(map(len, lines)) <= 80
    assert "  warnings" in lines
    assert any(line.startswith("  baseline (class frequencies)") for line in lines)


def test_models_of_the_final_model_are_shown_wherever_they_stand(facts):
    best, *_, baseline = (one for one in facts["leaderboard"] if one["estimate"])
    board = [{**best, "title": f"model {i}", "weight": 1.0 if i == 9 else 0.0} for i in range(12)]
    changed = {**facts, "leaderboard": [*board, baseline]}
    text = summary_text(changed)
    assert [f"model {i} " in text for i in range(12)] == [i < 8 or i == 9 for i in range(12)]
    assert "  3 more models are in the report\n" in text
    assert "3 more models are in the report." in summary_html(changed)
    assert "more model" not in summary_text(facts)


def test_html_escapes_what_comes_from_the_table(facts):
    hostile = "<script>alert(1)</script>"
    changed = {**facts, "title": hostile, "task": {**facts["task"], "target": hostile, "metric_title": hostile}}
    changed["leaderboard"] = [{**line, "title": hostile} for line in facts["leaderboard"]]
    page = summary_html(changed)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_html_shows_the_sentences_and_the_models(facts):
    page = summary_html(facts)
    assert "On new data the model should be right" in page
    assert all(line["title"] in page for line in facts["leaderboard"] if line["estimate"])


def test_the_best_model_without_weight_is_explained(facts):
    weights = [0.0, 1.0, *[0.0] * len(facts["leaderboard"])]
    changed = [{**one, "weight": weight} for one, weight in zip(facts["leaderboard"], weights, strict=False)]
    text = " ".join(summary_text({**facts, "leaderboard": changed}).split())
    missing = f"The final model does not contain {changed[0]['title']}, which has the best estimate."
    assert f"{missing} Members are selected by their scores before calibration" in text
    quantity = {**facts, "task": {**facts["task"], "task": "regression"}, "leaderboard": changed}
    other = "Members are selected by their search scores, and only if there is time to fit them again on all rows."
    assert f"{missing} {other}" in " ".join(summary_text(quantity).split())
    kept = [{**changed[0], "weight": 0.5}, *changed[1:]]
    assert "does not contain" not in summary_text({**facts, "leaderboard": kept})


def test_another_estimate_of_a_model_alone_is_explained(facts):
    weights = [1.0, *[0.0] * len(facts["leaderboard"])]
    board = [{**one, "weight": weight} for one, weight in zip(facts["leaderboard"], weights, strict=False)]
    best = {**board[0], "estimate": {**board[0]["estimate"], "value": 0.123}}
    text = " ".join(summary_text({**facts, "leaderboard": [best, *board[1:]]}).split())
    assert f"The final model is {best['title']} alone. Its estimate at the top differs from the one in" in text
    head = facts["headline"]["estimate"]["value"]
    same = {**best, "estimate": {**best["estimate"], "value": head}}
    assert "alone" not in summary_text({**facts, "leaderboard": [same, *board[1:]]})


def test_slices_are_mentioned(facts):
    assert "slices" not in summary_text(facts)
    none = summary_text({**facts, "slices": {"words": ["How verdicts were reached."]}})
    assert "  slices: none differs clearly from the rest." in none
    untested = summary_text({**facts, "slices": {"words": ["No slice was tested."], "tests": 0}})
    assert "  slices: none could be tested." in untested
    some = summary_text({**facts, "slices": {"words": ["A is worse.", "B is worse.", "C is worse.", "How."]}})
    assert "  slices\n  - A is worse.\n  - B is worse.\n  - 1 more difference in the report." in some
