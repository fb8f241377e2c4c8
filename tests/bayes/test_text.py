"""Columns of text against CountVectorizer and MultinomialNB, word for word, and by their laws."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

from foldwise import NaiveBayes
from foldwise.data.tokens import tokenize
from foldwise.errors import ForgetError, InputError
from foldwise.summaries.passes import ThreadShare
from foldwise.summaries.word_counts import WordCounts, word_counts_of
from foldwise.testing import check_foldable, check_merging

VOCABULARY = [
    "free",
    "Cash",
    "now",
    "naïve",
    "déjà",
    "vu",
    "x2",
    "I",
    "don't",
    "e-mail",
    "ÜBER",
    "Straße",
    "数据",
    "½½",
    "a_b",
]


def documents(rng, n, missing=0.0):
    y = rng.integers(0, 3, n)
    docs = [
        None if rng.random() < missing else " ".join(rng.choice(VOCABULARY[c:], rng.integers(0, 9))) + "!?." for c in y
    ]
    return docs, y


@given(st.lists(st.one_of(st.none(), st.text(), st.text("aB1_ .é²‿\u0301İς\n")), min_size=1, max_size=12))
@settings(max_examples=80, deadline=None)
def test_words_are_those_of_count_vectorizer(texts):
    words = tokenize(pl.Series(texts, dtype=pl.String))
    analyze = CountVectorizer().build_analyzer()
    for i, text in enumerate(texts):
        one = words.of_rows(i, i + 1)
        assert [words.distinct[code] for code in one.codes.tolist()] == ([] if text is None else analyze(text))
        assert one.missing[0] == (text is None)
    rows = np.array([len(texts) - 1, 0, 0])
    taken = words.take(rows)
    for k, i in enumerate(rows):
        assert taken.of_rows(k, k + 1).codes.tolist() == words.of_rows(i, i + 1).codes.tolist()


@pytest.mark.parametrize("alpha", [0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_scikit_learn(alpha, weighted, rng):
    docs, y = documents(rng, 200)
    new, _ = documents(rng, 50)
    new += ["", "nothing known here"]
    w = rng.integers(0, 3, 200).astype(float) if weighted else np.ones(200)
    model = NaiveBayes(families="text", alpha=alpha).fit(pl.DataFrame({"t": docs}), y, w)
    seen = w > 0
    vectors = CountVectorizer().fit([d for d, s in zip(docs, seen, strict=True) if s])
    peer = MultinomialNB(alpha=alpha).fit(vectors.transform(docs), y, w)
    found, expected = model.predict_log_proba(pl.DataFrame({"t": new})), peer.predict_log_proba(vectors.transform(new))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert [line.name for line in model.table().lines[1:]] == sorted(vectors.vocabulary_)
    np.testing.assert_allclose(
        [line.values for line in model.table().lines[1:]], np.exp(peer.feature_log_prob_.T), rtol=1e-12
    )


LIBRARIES = {
    "polars": lambda docs: pl.DataFrame({"t": docs}),
    "polars categories": lambda docs: pl.DataFrame({"t": docs}, schema={"t": pl.Categorical}),
    "pandas": lambda docs: pd.DataFrame({"t": docs}, dtype=object),
    "pandas strings": lambda docs: pd.DataFrame({"t": docs}, dtype="string"),
    "pandas categories": lambda docs: pd.DataFrame({"t": docs}, dtype="category"),
    "pyarrow": lambda docs: pa.table({"t": docs}),
    "array": lambda docs: np.array([[d] for d in docs], dtype=object),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_every_library(library, missing, rng):
    docs, y = documents(rng, 60, missing=0.2)
    make = LIBRARIES[library]
    whole = NaiveBayes(families="text", missing=missing).fit(LIBRARIES["polars"](docs), y)
    model = NaiveBayes(families="text", missing=missing).fit(make(docs), y)
    expected = whole.predict_log_proba(LIBRARIES["polars"](docs))
    np.testing.assert_allclose(model.predict_log_proba(make(docs)), expected, rtol=1e-12)


def test_text_beside_numbers_and_categories(rng):
    docs, y = documents(rng, 90, missing=0.1)
    X = pl.DataFrame({"t": docs, "size": rng.normal(y, 1), "u": docs[::-1], "city": rng.choice(["A", "B"], 90)})
    model = NaiveBayes(families={"t": "text", "u": "text"}).fit(X, y)
    assert list(model.families_.values()) == ["text", "gaussian", "text", "categorical"]
    parts = [NaiveBayes(families=f).fit(X.select(c), y) for f, c in (("text", ["t"]), ("text", ["u"]))]
    rest = NaiveBayes().fit(X.select("size", "city"), y)
    total = sum(p.predict_joint_log_proba(X.select(c)) for p, c in zip(parts, (["t"], ["u"]), strict=True))
    total = total + rest.predict_joint_log_proba(X.select("size", "city")) - 2 * model.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba(X), total, rtol=1e-12)
    again = NaiveBayes.from_json(model.to_json())
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-10)


def test_unseen_words_and_explanations():
    X = pl.DataFrame({"t": ["win cash cash", "hello you", "win", None]})
    y = ["spam", "ham", "spam", "ham"]
    new = pl.DataFrame({"t": ["cash mystery", None, "mystery", ""]})
    left_out = NaiveBayes(families="text").fit(X, y)
    assert left_out.predict_joint_log_proba(new)[0, 1] == pytest.approx(np.log(0.5 * 3 / 8))
    smooth = NaiveBayes(families="text", unseen="smooth").fit(X, y)
    assert smooth.predict_joint_log_proba(new)[0, 1] == pytest.approx(np.log(0.5 * 3 / 9 * 1 / 9))
    text = str(left_out.explain(new))
    assert "most informative words in t: cash" in text
    long = str(left_out.explain(pl.DataFrame({"t": ["cash or what you would call it"]})))
    assert "t = cash or what you w…*" in long  # the mark of the note stays
    assert "no known word in t" in text
    assert "missing, ignored" in text
    evidence = NaiveBayes(families="text", missing="category").fit(X, y)
    assert "missing, treated as a category" in str(evidence.explain(new[1:2]))
    silent = NaiveBayes(families="text").fit(pl.DataFrame({"t": ["", "a"]}), [0, 1])
    np.testing.assert_allclose(silent.predict_proba(pl.DataFrame({"t": ["anything"]})), [[0.5, 0.5]])


def test_numbers_are_no_text():
    X = pd.DataFrame({"t": ["a b", 3.5, None]}, dtype=object)
    with pytest.raises(InputError, match=r"column 't' is declared text, but row 1 contains 3.5"):
        NaiveBayes(families="text").fit(X, [0, 1, 1])
    with pytest.raises(InputError, match=r"column 'x0' is declared text, but row 0 contains 1.0"):
        NaiveBayes(families="text").fit([[1.0], [2.0]], [0, 1])


def word_counts(docs, y, w=None):
    series = pl.Series(docs, dtype=pl.String)
    return word_counts_of([lambda a, b: tokenize(series[a:b])], ThreadShare.of(y, 3, w))


def same(a, b):
    x, z = a.columns[0], b.columns[0]
    names = ("weight", "rows", "present_weight", "present_rows")
    return x.words == z.words and all((getattr(x, name) == getattr(z, name)).all() for name in names)


def test_word_counts_merge_and_forget(rng):
    docs, y = documents(rng, 300, missing=0.1)
    w = rng.integers(0, 3, 300).astype(float)

    def facts(rows):
        return word_counts([docs[i] for i in rows], y[rows], w[rows])

    check_merging(facts, 300, same)
    whole = facts(np.arange(300))
    assert same(whole - facts(np.arange(5, 300)), facts(np.arange(5)))
    assert same(WordCounts.from_dict(json.loads(json.dumps(whole.to_dict())), 3, 1), whole)
    with pytest.raises(ForgetError, match="'zebra' cannot be removed"):
        whole - word_counts(["zebra"], [0])
    broken = whole.to_dict()
    broken["columns"][0]["levels"][0] = "zzz"
    with pytest.raises(InputError, match="must be sorted strings"):
        WordCounts.from_dict(broken, 3, 1)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_fold_law(weighted, rng):
    docs, y = documents(rng, 90, missing=0.1)
    docs[0] = "once only"
    X = pl.DataFrame({"t": docs, "size": rng.normal(y, 1)})
    settings = [{}, {"alpha": 0.1, "unseen": "smooth"}, {"missing": "category"}, {"columns": ["t"]}]
    splits = [(np.arange(30, 90), np.arange(30)), (np.arange(60), np.arange(55, 80))]
    weights = {"sample_weight": rng.integers(0, 3, 90).astype(float)} if weighted else None
    check_foldable(NaiveBayes(families={"t": "text"}), X, y, settings, splits, weights)
