"""The first question: what types of rows are there? A study of k-means on comparable columns, and a model of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler

from foldwise.app.exploring.answers import QuestionAnswer, cells_of
from foldwise.arrays import Floats
from foldwise.clusters import KMeans, choose_clusters
from foldwise.clusters.indices import centroids
from foldwise.clusters.study import ClusterStudy
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.folds.protocol import Rows
from foldwise.models.column_transformers import CategoryCodes, NumberColumns, TextTfidf
from foldwise.unsupervised.cluster_descriptions import describe_clusters
from foldwise.unsupervised.cluster_profiles import ClusterProfile
from foldwise.unsupervised.encoded_rows import learn_encoder, left_out_words
from foldwise.unsupervised.matrix import findings_of
from foldwise.unsupervised.texts import texts_alone

MOST_CLUSTERS = 12
RESTARTS, RESAMPLES, REFERENCES = 5, 12, 5
MOST_LEVELS = 20  # of a category; rarer ones share an indicator
MOST_WORDS = 200
MOST_TESTED = 40  # columns that are tested against clusters formed without them
FEWEST_ROWS = 20  # with fewer, resamples say nothing
SHOWN_CONTRASTS = 6
SKEWED = 2.0  # skewness; that of an exponential distribution
FEW_VALUES = 10  # different numbers of a column, which then is a scale of grades rather than a measurement
FEWEST_COMPONENTS, MOST_COMPONENTS = 2, 20


def ask_clusters(frame: pl.DataFrame, rows: Rows, seed: int) -> QuestionAnswer:
    """Study the number of clusters, and describe them if there are any."""
    if frame.height < FEWEST_ROWS:
        return QuestionAnswer(
            {"none": f"At least {FEWEST_ROWS} rows are needed to find clusters, and the table has {frame.height}."},
            rows,
        )
    steps, notes = comparable(frame)
    X = np.ascontiguousarray(steps.fit_transform(frame), dtype=np.float64)
    different = len(np.unique(X, axis=0))
    if different < 3:
        return QuestionAnswer(
            {"none": "There are no clusters, because the table has fewer than three different rows."}, rows
        )
    ks = range(2, min(MOST_CLUSTERS, different - 1, frame.height // 5) + 1)
    shown = blurred(steps, X, seed)
    compared = projected(shown)
    if compared.shape[1] < shown.shape[1]:
        notes.append(
            f"The number of clusters was chosen on {compared.shape[1]} principal components, because there are more "
            "columns than rows."
        )
    study = choose_clusters(compared, ks, RESTARTS, RESAMPLES, seed, references=REFERENCES, n_jobs=1)
    facts: dict[str, Any] = {
        "k": study.best_k,
        "reason": study.reason,
        "notes": notes,
        "n_studied": frame.height,
        "study": study_facts(study),
        "cards": [],
    }
    if not study.has_clusters:
        return QuestionAnswer(facts, rows)
    first = centroids(X, study.labels_of(), study.best_k)[0]
    labels = by_size(KMeans(study.best_k, init=first, n_init=1).fit(X).labels_)  # without the noise
    model = Pipeline([*steps.steps, ("model", NearestCentroid())]).fit(frame, labels)
    labels = np.asarray(model.predict(frame))  # as `predict` will assign these rows
    found = describe_clusters(frame, labels, recluster=recluster(frame, study.best_k, seed), random_state=seed)
    facts["cards"] = [card(one, frame, rows) for one in sorted(found, key=lambda one: int(one.label))]
    facts["k"] = len(facts["cards"])
    return QuestionAnswer(facts, rows, {"cluster": labels}, model)


def comparable(frame: pl.DataFrame) -> tuple[Pipeline, list[str]]:
    """Scale numbers to variance 1 and make indicators of categories, so that each column counts about the same.

    Two rows of different categories are √2 apart, which is also the root mean square distance of two rows in a column
    of variance 1. Texts are compared by their words if there is hardly any other column.
    """
    texts = texts_alone(findings_of(frame))
    if texts:
        parts = [(f"words{i}", TextTfidf(most=MOST_WORDS, dense=True), [name]) for i, name in enumerate(texts)]
        others = [name for name in frame.columns if name not in texts]
        notes = [f"Texts were compared by their {MOST_WORDS} most frequent words."]
        notes += [f"Not compared: {', '.join(map(repr, others))}."] if others else []
        return Pipeline([("prepare", ColumnTransformer(parts, sparse_threshold=0.0))]), notes
    encoder = learn_encoder(frame)
    left_out = {name: "dates" for name in encoder.numbers if frame[name].dtype.is_temporal()}
    numbers = [name for name in encoder.numbers if name not in left_out]
    categories = list(encoder.categories)
    if not numbers and not categories:
        raise InputError("clusters need a column of numbers or categories, but the table has only dates.")
    left_out |= encoder.left_out
    skewed = [name for name in numbers if is_skewed(frame[name])]
    one_hot = make_pipeline(
        CategoryCodes(most=MOST_LEVELS), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    given = [
        ("numbers", filled(StandardScaler()), [name for name in numbers if name not in skewed]),
        ("skewed", filled(PowerTransformer()), skewed),
        ("categories", one_hot, categories),
    ]
    notes = [left_out_words(left_out)] if left_out else []
    if skewed:
        notes.append(f"Skewed columns were transformed (Yeo-Johnson) before rows were compared: {listing(skewed)}.")
    gaps = [name for name in numbers if frame[name].is_null().any() or frame[name].cast(pl.Float64).is_nan().any()]
    if gaps:
        notes.append("When rows were compared, missing numbers were replaced with the mean of their column.")
    return Pipeline([("prepare", ColumnTransformer([one for one in given if one[2]], sparse_threshold=0.0))]), notes


def parts_of(steps: Pipeline) -> list[tuple[str, Any, list[str]]]:
    """The fitted transformers with their names and columns."""
    return [one for one in steps[0].transformers_ if one[0] != "remainder"]


def blurred(steps: Pipeline, X: Floats, seed: int) -> Floats:
    """Add noise to columns of few values, so that each alone has a single peak.

    A column of few values has as many peaks as values, whatever the other columns are. The test for two groups within a
    cluster looks for peaks, so it would see clusters everywhere. With normal noise of half their distance, two
    values have a single peak, whatever their proportion. Groups that differ in several columns at once keep their
    peaks.
    """
    widths: list[float] = []
    for name, part, columns in parts_of(steps):
        if name == "categories":
            widths += [np.sqrt(0.5)] * sum(map(len, part[-1].categories_))  # two levels are √2 apart
        elif name == "numbers":
            at = len(widths)
            values = [np.unique(X[:, at + j]) for j in range(len(columns))]
            widths += [float(np.diff(one).max()) / 2 if 1 < len(one) <= FEW_VALUES else 0.0 for one in values]
        else:
            widths += [0.0] * (X.shape[1] if name.startswith("words") else len(columns))
    rng = np.random.default_rng(seed)
    return X + np.array(widths[: X.shape[1]]) * rng.normal(size=X.shape)


def projected(X: Floats) -> Floats:
    """Replace rows with their leading principal components, if there are more columns than rows.

    Distances over thousands of columns are mostly noise, which hides groups that differ in some columns. Components
    are kept whose singular value exceeds the threshold of Gavish and Donoho (2014, The optimal hard threshold for
    singular values is 4/√3), which they derive from the median singular value of noise.
    """
    n_rows, n_columns = X.shape
    if n_columns <= n_rows:
        return X
    centered = X - X.mean(axis=0)
    eigenvalues, vectors = np.linalg.eigh(centered @ centered.T)
    singular = np.sqrt(np.maximum(eigenvalues[::-1], 0.0))
    ratio = n_rows / n_columns
    threshold = (0.56 * ratio**3 - 0.95 * ratio**2 + 1.82 * ratio + 1.43) * np.median(singular)
    n_kept = int(np.clip((singular > threshold).sum(), FEWEST_COMPONENTS, MOST_COMPONENTS))
    return np.ascontiguousarray((vectors[:, ::-1] * singular)[:, :n_kept])


def filled(scaler: Any) -> Pipeline:
    """Read numbers, replace missing ones with the mean, and scale them."""
    return make_pipeline(NumberColumns(), SimpleImputer(keep_empty_features=True), scaler)


def is_skewed(column: pl.Series) -> bool:
    """Whether a few large values would dominate the distances, as with amounts of money."""
    cells = column.cast(pl.Float64).fill_nan(None).drop_nulls()
    return cells.n_unique() > FEW_VALUES and abs(cells.skew() or 0.0) > SKEWED


def by_size(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Number clusters from 1, the largest first."""
    order = np.argsort(-np.bincount(labels), kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(1, len(order) + 1)
    return np.asarray(number[labels])


def recluster(frame: pl.DataFrame, k: int, seed: int) -> Any:
    """Cluster a table without one of its columns; None if there are too many or too few columns to do so for each."""
    n_compared = len(learn_encoder(frame).names) if not texts_alone(findings_of(frame)) else 0
    if not 2 <= n_compared <= MOST_TESTED:
        return None

    def labels_of(part: pl.DataFrame) -> NDArray[Any]:
        try:
            X = comparable(part)[0].fit_transform(part)
        except InputError:  # only dates are left
            return np.zeros(part.height, dtype=np.int64)
        n_clusters = min(k, len(np.unique(X, axis=0)))
        return np.asarray(KMeans(n_clusters, n_init=3, random_state=seed).fit(X).labels_)

    return labels_of


def study_facts(study: ClusterStudy) -> list[dict[str, Any]]:
    """The figures of each number of clusters."""
    low, high = study.stability_interval
    return [
        {"k": 1, "gap": study.gap[0], "split_p": study.split_p_values[0]},
        *(
            {
                "k": k,
                "silhouette": study.silhouette[t],
                "stability": study.stability[t],
                "stability_low": low[t],
                "stability_high": high[t],
                "structureless": study.reference_agreement[t],
                "least_stable": study.least_stable[t],
                "gap": study.gap[t + 1],
                "split_p": study.split_p_values[t + 1],
            }
            for t, k in enumerate(study.ks)
        ),
    ]


def card(one: ClusterProfile, frame: pl.DataFrame, rows: Rows) -> dict[str, Any]:
    """The description of one cluster."""
    contrasts = one.contrasts[:SHOWN_CONTRASTS]
    return {
        "cluster": int(one.label),
        "size": one.size,
        "share": one.share,
        "rule": one.rule,
        "rule_recall": one.rule_recall,
        "rule_precision": one.rule_precision,
        "contrasts": [{"column": c.column, "effect": c.effect, "words": c.words, "p": c.p_value} for c in contrasts],
        "prototypes": [
            {"row": int(rows[i]), "cells": cells_of(frame, i, [c.column for c in one.contrasts])}
            for i in one.prototypes
        ],
    }
