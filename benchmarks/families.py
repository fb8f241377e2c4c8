"""Kernel densities and text against scikit-learn, best of several, both from one run; `make bench` prints the tables.

Text: the messages of sms_spam (FOLDWISE_DATA or ../shared/data, left out where it is not there) and 20,000 documents of
a made-up language. Kernel densities: 20,000 training rows, as many predicted, one KernelDensity per class and column.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline

from foldwise import NaiveBayes

ROWS = 20_000


def best_of(work: Callable[[], Any], repeats: int) -> float:
    """The least time in milliseconds; the first call, which compiles, does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times)


def corpus(rng: np.random.Generator, n_words: int = 30_000) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Documents of about 80 words: frequencies by Zipf's law, and a hundred words that each class prefers."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = np.array(["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(n_words)])
    y = rng.integers(0, 4, ROWS)
    share = 1 / np.arange(1, n_words + 1)
    docs = []
    for label in y:
        tilted = share.copy()
        tilted[100 * label : 100 * label + 100] *= 3
        docs.append(" ".join(words[np.searchsorted(np.cumsum(tilted), rng.random(80) * tilted.sum())]))
    return docs, y


def messages() -> tuple[list[str], np.ndarray[Any, Any]] | None:
    folder = Path(os.environ.get("FOLDWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    file = folder / "tables" / "sms_spam.csv"
    if not file.is_file():
        return None
    table = pl.read_csv(file)
    text = next(name for name in table.columns if name != "label")
    return table[text].to_list(), table["label"].to_numpy()


def text(name: str, docs: list[str], y: np.ndarray[Any, Any], repeats: int) -> list[str]:
    train, test, y_train, y_test = train_test_split(docs, y, random_state=0, stratify=y)
    frames = [pl.DataFrame({"text": part}) for part in (train, test)]
    model, peer = NaiveBayes(families={"text": "text"}), make_pipeline(CountVectorizer(), MultinomialNB())
    fits = best_of(lambda: model.fit(frames[0], y_train), repeats), best_of(lambda: peer.fit(train, y_train), repeats)
    predictions = best_of(lambda: model.predict(frames[1]), repeats), best_of(lambda: peer.predict(test), repeats)
    right = [float(np.mean(m.predict(q) == y_test)) for m, q in ((model, frames[1]), (peer, test))]
    lines = [row(f"{name}: {what}", *pair) for what, pair in (("fit", fits), ("predict", predictions))]
    return [
        *lines,
        f"| {name}: accuracy | {right[0]:.4f} | {right[1]:.4f} | {'equal' if right[0] == right[1] else '≠'} |",
    ]


def kde(n_columns: int, rng: np.random.Generator) -> list[str]:
    y = rng.integers(0, 2, 2 * ROWS)
    X = rng.normal(y[:, None], 1 + np.arange(n_columns), (2 * ROWS, n_columns))
    model = NaiveBayes(families="kde").fit(X[:ROWS], y[:ROWS])
    widths = model._finished.likelihoods[0].bandwidth  # type: ignore[attr-defined]
    ours = best_of(lambda: model.predict(X[ROWS:]), 5)
    start = time.perf_counter()
    joint = np.tile(model.class_log_prior_, (ROWS, 1))
    for c in (0, 1):
        for j in range(n_columns):
            peer = KernelDensity(bandwidth=widths[c, j]).fit(X[:ROWS][y[:ROWS] == c, j : j + 1])
            joint[:, c] += peer.score_samples(X[ROWS:, j : j + 1])
    theirs = 1e3 * (time.perf_counter() - start)
    gap = np.abs(model.predict_joint_log_proba(X[ROWS:]) - joint).max()
    name = f"kde, {ROWS:,} × {n_columns} training rows, as many predicted"
    return [row(name, ours, theirs), f"| largest difference of a log-probability | {gap:.1e} | | |"]


def row(name: str, ours: float, theirs: float) -> str:
    return f"| {name} | {ours:.1f} ms | {theirs:.1f} ms | {theirs / ours:.1f} × |"


def main() -> None:
    rng = np.random.default_rng(0)
    print("| | foldwise | scikit-learn | ratio |\n|---|---|---|---|")
    sms = messages()
    lines = text("sms_spam, 5,574 messages", *sms, repeats=7) if sms else []
    lines += text("20,000 documents of 80 words", *corpus(rng), repeats=5)
    lines += kde(2, rng)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
