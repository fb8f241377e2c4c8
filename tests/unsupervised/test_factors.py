"""Factors: as scikit-learn fits them, as many as were planted, none in noise, and clear errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import NMF, PCA
from sklearn.preprocessing import StandardScaler

from foldwise import find_factors, read_table
from foldwise.errors import InputError
from foldwise.unsupervised.factors.bi_cross_validation import (
    HeldOutBlock,
    block_errors,
    by_decomposition,
    choose_number,
)
from foldwise.unsupervised.matrix import table_matrix


def planted(seed: int, n: int, p: int, k: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 0.8 * rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) + rng.normal(size=(n, p))


def test_components_are_those_of_scikit_learn():
    X = load_wine().data
    found = find_factors(X, n_factors=3)
    Z = StandardScaler().fit_transform(X)
    peer = PCA(3).fit(Z)
    np.testing.assert_allclose(found.explained, peer.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(found.scores), np.abs(peer.transform(Z)), atol=1e-8)
    scores = peer.transform(Z)
    correlations = [[np.corrcoef(Z[:, j], scores[:, f])[0, 1] for f in range(3)] for j in range(X.shape[1])]
    np.testing.assert_allclose(np.abs(found.loadings), np.abs(correlations), atol=1e-9)
    assert (found.loadings.sum(axis=0) >= 0).all()


@pytest.mark.parametrize("shape", [(40, 8), (9, 30)])
def test_held_out_cells_are_predicted_by_the_pseudoinverse_of_the_rest(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    a, b, c, d = X[:5, :3], X[:5, 3:], X[5:, :3], X[5:, 3:]
    errors = block_errors(HeldOutBlock(a, b, c, d, np.ones(a.shape, dtype=bool)), by_decomposition, 3, 0)
    assert errors[0] == pytest.approx(((a - c.mean(axis=0)) ** 2).sum())
    u, s, vt = np.linalg.svd(d)
    for k in range(1, 4):
        low_rank = (u[:, :k] * s[:k]) @ vt[:k]
        predicted = b @ np.linalg.pinv(low_rank, rcond=1e-10) @ c
        assert errors[k] == pytest.approx(((a - predicted) ** 2).sum(), rel=1e-8)


def test_missing_cells_are_not_predicted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6))
    known = rng.random((8, 2)) < 0.7
    block = HeldOutBlock(X[:8, :2], X[:8, 2:], X[8:, :2], X[8:, 2:], known)
    assert block_errors(block, by_decomposition, 0, 0)[0] == pytest.approx(
        ((X[:8, :2] - X[8:, :2].mean(axis=0))[known] ** 2).sum()
    )


@pytest.mark.parametrize(("n", "p", "k"), [(300, 20, 1), (300, 20, 3), (200, 12, 2), (500, 40, 5), (150, 300, 2)])
def test_the_planted_number_of_factors_is_found(n, p, k):
    # seeds differ from those by which the rule was chosen
    right = sum(find_factors(planted(seed, n, p, k), repeats=5).n_factors == k for seed in range(1000, 1010))
    assert right >= 8


@pytest.mark.parametrize("kind", ["numbers", "heavy tails", "categories", "missing", "wide"])
def test_noise_has_no_factors(kind):
    wrong = 0
    for seed in range(1000, 1010):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 400)) if kind == "wide" else rng.normal(size=(300, 10))
        table = pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])])
        if kind == "heavy tails":
            table = pl.DataFrame(rng.standard_t(3, size=(300, 10)))
        elif kind == "categories":
            table = pl.DataFrame({f"c{j}": rng.choice(list("abcd"), 300).tolist() for j in range(6)})
        elif kind == "missing":
            table = pl.DataFrame(np.where(rng.random((300, 10)) < 0.2, np.nan, X))
        wrong += find_factors(table, repeats=5).n_factors > 0
    assert wrong <= 1


def test_a_factor_of_mixed_columns_with_missing_cells_is_found_and_named():
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    noise = rng.normal(size=(5, 400))
    table = pl.DataFrame(
        {
            "id": np.arange(400),
            "length": np.where(rng.random(400) < 0.1, np.nan, size + 0.4 * noise[0]),
            "speed": -size + 0.4 * noise[1],
            "class": np.where(size + 0.4 * noise[2] > 0, "big", "small").tolist(),
            "color": rng.choice(["red", "blue"], 400).tolist(),
            "width": size + 0.4 * noise[3],
        }
    )
    found = find_factors(table)
    assert found.n_factors == 1
    sentence = found.sentences[0]
    assert "length (+" in sentence
    assert "class = big (+" in sentence
    assert "low" in sentence
    assert "speed (−" in sentence
    assert "color" not in sentence
    assert found.left_out[0].startswith("'id' (identifier")
    assert np.abs(np.corrcoef(found.scores[:, 0], size)[0, 1]) > 0.9


def test_nonnegative_parts_are_those_that_were_planted():
    rng = np.random.default_rng(0)
    parts = np.zeros((3, 15))
    for k in range(3):
        parts[k, 5 * k : 5 * k + 5] = rng.uniform(1, 3, 5)
    X = rng.exponential(1, (200, 3)) @ parts + rng.uniform(0, 0.3, (200, 15))
    found = find_factors(X, method="nmf", max_factors=5, repeats=2)
    assert found.n_factors == 3
    strongest = {frozenset(np.argsort(-found.loadings[:, f])[:5].tolist()) for f in range(3)}
    assert strongest == {frozenset(range(5 * k, 5 * k + 5)) for k in range(3)}
    np.testing.assert_allclose(found.loadings.sum(axis=0), 1.0)
    Z = X / np.sqrt((X**2).mean(axis=0))
    peer = NMF(3, init="nndsvda", max_iter=1000, random_state=0).fit(Z)
    np.testing.assert_allclose(
        ((Z - found.scores @ found.loadings.T) ** 2).sum(), peer.reconstruction_err_**2, rtol=1e-3
    )


def test_nonnegative_noise_has_no_parts():
    X = np.random.default_rng(3).exponential(1, (200, 8))
    assert find_factors(X, method="nmf", max_factors=3, repeats=3).n_factors == 0


def test_topics_of_texts_are_found():
    rng = np.random.default_rng(0)
    topics = [["goal", "match", "team", "player", "league"], ["oven", "flour", "butter", "sugar", "recipe"]]
    filler = [f"word{i}" for i in range(40)]
    texts = [" ".join([*rng.choice(topics[i % 2], 4), *rng.choice(filler, 4)]) for i in range(400)]
    found = find_factors(pl.DataFrame({"note": texts}))
    assert found.method == "svd"
    assert found.n_factors == 1
    weights = dict(zip(found.columns, found.loadings[:, 0], strict=True))
    assert {np.sign(weights[word]) for word in topics[0]} != {np.sign(weights[word]) for word in topics[1]}
    shuffled = pl.DataFrame({"note": [" ".join(rng.choice(filler, 8)) for _ in range(400)]})
    assert find_factors(shuffled).n_factors == 0


def test_the_number_is_the_smallest_that_is_nearly_as_good():
    errors = np.tile([1.0, 0.6, 0.502, 0.5], (4, 1))
    assert choose_number(errors, 20) == 2
    assert choose_number(np.tile([1.0, 0.6, 0.58, 0.57], (4, 1)), 10) == 1
    assert choose_number(np.tile([1.0, 0.6, 0.58, 0.57], (4, 1)), 100) == 3
    assert choose_number(np.tile([1.0, 1.01, 1.02], (4, 1)), 20) == 0
    assert choose_number(np.array([[1.0, 0.9], [1.0, 1.05]]), 20) == 0  # the gain is within its standard error


def test_results_are_words_frames_and_pictures():
    found = find_factors(load_iris(as_frame=True).data)
    assert found.to_frame().shape == (4, 1 + found.n_factors)
    assert found.scores_frame().shape == (150, 1 + found.n_factors)
    assert "of the variance of held-out cells" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.plot().get_xlabel() == "Factor"
    assert found.plot_choice().get_xlabel() == "Number of factors"
    nothing = find_factors(np.random.default_rng(0).normal(size=(100, 5)))
    assert nothing.plot().get_xlabel() == "Number of factors"
    assert nothing.to_frame().columns == ["column"]


def test_the_same_seed_gives_the_same_factors():
    X = planted(0, 100, 10, 2)
    one, other = find_factors(X, random_state=4), find_factors(X, random_state=4)
    np.testing.assert_allclose(one.errors, other.errors)
    np.testing.assert_allclose(one.loadings, other.loadings)


def test_very_large_numbers_are_scaled():
    X = planted(0, 100, 6, 1)
    np.testing.assert_allclose(table_matrix(X * 1e200, "factors").standardized(), table_matrix(X, "f").standardized())


BAD = {
    "one column": (pl.DataFrame({"a": [1.5, 2.0, 1.0, 2.5, 1.0, 2.0]}), "factors need at least 2 columns"),
    "one row": (pl.DataFrame({"a": [1], "b": [2]}), "at least 4 rows, got 1"),
    "all constant": (pl.DataFrame({"a": ["x"] * 30, "b": [1] * 30}), "at least 2 columns .* got 0"),
    "all missing": (pl.DataFrame({"a": [None] * 30, "b": [None] * 30}), "at least 2 columns .* got 0"),
    "infinity": (pl.DataFrame({"a": [1.0, 2.5, np.inf, 3.0], "b": [1.5, 2.0, 3.0, 9.0]}), "'a' contains infinity"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tables_are_refused_in_a_sentence(name):
    table, message = BAD[name]
    with pytest.raises(InputError, match=message):
        find_factors(table)


def test_texts_without_common_words_are_refused():
    table = pl.DataFrame({"a": [f"w{i}a w{i}b w{i}c w{i}d w{i}e w{i}f" for i in range(50)]})
    with pytest.raises(InputError, match="words that occur in several rows"):
        find_factors(table)


def test_arguments_are_checked():
    table = read_table("examples/loans.csv")
    with pytest.raises(InputError, match="method must be 'auto', 'pca', 'nmf' or 'svd'"):
        find_factors(table, method="ica")
    with pytest.raises(InputError, match="n_factors must be at most"):
        find_factors(table, n_factors=1000)
    with pytest.raises(InputError, match="the table has none"):
        find_factors(table, method="svd")
    with pytest.raises(InputError, match="is not a column"):
        find_factors(table, text="note")
    with pytest.raises(InputError, match="needs numbers of at least 0"):
        find_factors(np.random.default_rng(0).normal(size=(50, 3)), method="nmf")
    with pytest.raises(InputError, match="without missing cells"):
        find_factors(np.array([[1.5, 2], [np.nan, 3], [2, 5], [3, 4], [4, 4.5]]), method="nmf")
