"""`describe_clusters`: what the groups of a table are, whatever clustering formed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, kruskal

from foldwise.arrays import Bools, Floats
from foldwise.data.arguments import whole_at_least
from foldwise.data.view import View, view
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.comparing.paired import holm
from foldwise.neighbors.encoding import EncodedRows
from foldwise.rules.conditions import fit_scheme, matches
from foldwise.rules.estimator import without_implied
from foldwise.rules.ripper import RipperLearner
from foldwise.unsupervised.cluster_profiles import ClusterDescriptions, ClusterProfile, ColumnContrast
from foldwise.unsupervised.encoded_rows import RowEncoder, encode_table
from foldwise.unsupervised.mean_distances import distance_sums, sample_rows
from foldwise.unsupervised.ranking import checked_groups

MOST_RULE_COLUMNS = 20
MOST_RULE_ROWS = 5000
MOST_MEMBERS = 2000  # rows of a group among which its prototypes are searched


def describe_clusters(
    table: Any,
    labels: Any,
    *,
    recluster: Callable[[pl.DataFrame], Any] | None = None,
    n_prototypes: int = 3,
    random_state: int = 0,
) -> ClusterDescriptions:
    """Describe the groups of a table: sizes, prototypes, the columns that set each group apart, and a rule for each.

    Parameters
    ----------
    table : frame, array or Table
        The rows. Identifiers, free text and constant columns are not compared and are named in the result.
    labels : array-like of shape (n_rows,)
        The group of each row. Rows with the label -1 or a missing label belong to no group.
    recluster : callable, optional
        A function that takes a frame without one of its columns and returns labels of its rows. If given, each column
        is tested against the groups that the other columns form. Without it there are no p-values, because columns
        always differ between groups that were formed by these columns, even in pure noise.
    n_prototypes : int, default 3
        Number of prototypes per group. They are real rows.
    random_state : int, default 0
        Seed of the rules and of the draws in large tables.

    Returns
    -------
    ClusterDescriptions
        One description per group, the largest group first.

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise import describe_clusters
    >>> frame = pl.DataFrame({"age": [21, 23, 25, 22, 61, 66, 64, 68], "city": ["Graz", "Wien"] * 4})
    >>> found = describe_clusters(frame, [0, 0, 0, 0, 1, 1, 1, 1])
    >>> print(found.profiles[0].contrasts[0])
    age: 22.75 on average, 64.75 elsewhere

    Notes
    -----
    P-values are those of the Kruskal-Wallis test for numbers and of the chi-squared test for categories, corrected over
    columns by Holm's method. A column that has nothing to do with the others then has a p-value below 0.05 with
    a probability of at most 5%. Testing a column against groups that it helped to form has no such meaning (Gao, Bien &
    Witten 2022).

    Rules are learned by RIPPER, one group against all other rows, from the 20 columns with the largest effects.

    References
    ----------
    Gao, Bien & Witten (2022), Selective inference for hierarchical clustering, JASA 119.
    """
    if recluster is not None and not callable(recluster):
        raise FoldwiseTypeError(f"recluster must be a function or None, got {type(recluster).__name__}.")
    n_prototypes = whole_at_least("n_prototypes", n_prototypes, 1)
    seed = whole_at_least("random_state", random_state, 0)
    frame, encoder, rows = encode_table(table)
    groups = checked_groups(labels, rows.n_rows, "labels")
    names = sorted({label for label in groups if label is not None}, key=str)
    if not names:
        raise InputError("labels must assign at least one row to a group, but all rows are unassigned.")
    codes = np.array([-1 if label is None else names.index(label) for label in groups], dtype=np.intp)
    p_values = column_tests(frame, encoder, rows, recluster) if recluster is not None else {}
    profiles = []
    for g, name in enumerate(names):
        inside = codes == g
        contrasts = contrasts_of(encoder, rows, inside, p_values)
        rule, recall, precision = rule_of(frame, [one.column for one in contrasts], inside, seed)
        size = int(inside.sum())
        prototypes = prototypes_of(rows, np.flatnonzero(inside), n_prototypes, seed)
        profiles.append(ClusterProfile(name, size, size / rows.n_rows, prototypes, contrasts, rule, recall, precision))
    profiles.sort(key=lambda one: -one.size)
    return ClusterDescriptions(tuple(profiles), rows.n_rows, int((codes < 0).sum()), encoder.left_out)


def contrasts_of(
    encoder: RowEncoder, rows: EncodedRows, inside: Bools, p_values: dict[str, float]
) -> tuple[ColumnContrast, ...]:
    """Compare each column within a group and elsewhere, the largest effect first."""
    found = []
    for j, name in enumerate(encoder.numbers):
        cells = rows.numbers[:, j]
        here, there = (cells[mask & ~np.isnan(cells)] for mask in (inside, ~inside))
        effect, words = number_contrast(here, there)
        found.append(ColumnContrast(name, effect, words, p_values.get(name)))
    for j, (name, levels) in enumerate(zip(encoder.categories, encoder.levels, strict=True)):
        codes = rows.codes[:, j]
        ours, others = (codes[mask & (codes >= 0)] for mask in (inside, ~inside))
        effect, words = category_contrast(ours, others, levels)
        found.append(ColumnContrast(name, effect, words, p_values.get(name)))
    return tuple(sorted(found, key=lambda one: -abs(one.effect)))


def number_contrast(here: Floats, there: Floats) -> tuple[float, str]:
    """Compute Cohen's d of a number, and say it in words."""
    if not len(here) or not len(there):
        return 0.0, f"{plain(here.mean())} on average" if len(here) else "missing in all rows of the group"
    pooled = (len(here) * here.var() + len(there) * there.var()) / max(len(here) + len(there) - 2, 1)
    gap = float(here.mean() - there.mean())
    # a column that is constant on both sides separates them completely; 99 stands for that
    effect = gap / float(np.sqrt(pooled)) if pooled > 0 else 99.0 * np.sign(gap)
    return float(np.clip(effect, -99.0, 99.0)), f"{plain(here.mean())} on average, {plain(there.mean())} elsewhere"


def plain(mean: float) -> str:
    """Write a mean with four digits, and large ones without an exponent.

    >>> plain(18162.4), plain(0.25)
    ('18,162', '0.25')
    """
    return f"{mean:,.0f}" if 1e4 <= abs(mean) < 1e9 else f"{mean:.4g}"


def category_contrast(here: Any, there: Any, levels: tuple[str, ...]) -> tuple[float, str]:
    """Compute Cohen's h of the level whose share differs most, and say it in words."""
    shares = [np.bincount(cells, minlength=len(levels)) / max(len(cells), 1) for cells in (here, there)]
    if not len(here) or not len(there):
        top = int(shares[0].argmax())
        words = f"{level_text(levels[top])} in {shares[0][top]:.0%} of rows"
        return 0.0, words if len(here) else "missing in all rows of the group"
    effects = 2.0 * (np.arcsin(np.sqrt(shares[0])) - np.arcsin(np.sqrt(shares[1])))
    level = int(np.abs(effects).argmax())
    words = f"{level_text(levels[level])} in {shares[0][level]:.0%} of rows, {shares[1][level]:.0%} elsewhere"
    return float(effects[level]), words


def level_text(level: str) -> str:
    """Write a level; categories that are whole numbers were read as "2.0".

    >>> level_text("2.0"), level_text("red"), level_text("2.05")
    ('2', 'red', '2.05')
    """
    return level[:-2] if level.endswith(".0") and level[:-2].lstrip("-").isdigit() else level


def prototypes_of(rows: EncodedRows, members: NDArray[np.intp], n: int, seed: int) -> tuple[int, ...]:
    """Find the rows of a group with the smallest mean distance to its other rows; the first one is the medoid."""
    chosen = members[sample_rows(len(members), MOST_MEMBERS, seed)]
    group = rows.take(chosen)
    sums = distance_sums(group, np.arange(len(chosen)), np.ones((len(chosen), 1)), "gower")[:, 0]
    return tuple(chosen[np.argsort(sums, kind="stable")[:n]].tolist())


def rule_of(frame: pl.DataFrame, columns: list[str], inside: Bools, seed: int) -> tuple[str, float, float]:
    """Learn rules of a group against all other rows, and return the one that covers most of it."""
    if inside.all():
        return "", np.nan, np.nan
    chosen = sample_rows(len(inside), MOST_RULE_ROWS, seed)
    kept = [name for name in columns[:MOST_RULE_COLUMNS] if not frame[name].dtype.is_temporal()]
    if not kept or not inside[chosen].any():
        return "", np.nan, np.nan
    table, positive = view(frame.select(kept)[chosen]), inside[chosen]
    assert isinstance(table, View)
    scheme = fit_scheme(table)
    codes = scheme.codes(table)
    best: tuple[str, float, float] = ("", np.nan, np.nan)
    for rule in RipperLearner(codes, positive, scheme, np.random.default_rng(seed)).learn():
        covered = matches(codes, rule)
        recall = float((covered & positive).sum() / positive.sum())
        if rule and (not best[0] or recall > best[1]):
            text = " and ".join(str(scheme.condition(*test)) for test in without_implied(rule))
            best = (text, recall, float(positive[covered].mean()) if covered.any() else np.nan)
    return best


def column_tests(
    frame: pl.DataFrame, encoder: RowEncoder, rows: EncodedRows, recluster: Callable[[pl.DataFrame], Any]
) -> dict[str, float]:
    """Test each column against the groups that the other columns form; p-values are corrected over columns."""
    if len(encoder.names) < 2:
        raise InputError(
            "recluster needs at least two columns that are compared, but there is one.",
            "pass recluster=None: a single column cannot be tested against groups that it formed.",
        )
    found = []
    for j, name in enumerate(encoder.names):
        groups = checked_groups(recluster(frame.drop(name)), rows.n_rows)
        n_numbers = len(encoder.numbers)
        cells = rows.numbers[:, j] if j < n_numbers else rows.codes[:, j - n_numbers].astype(np.float64)
        known = np.array([label is not None for label in groups]) & (~np.isnan(cells) if j < n_numbers else cells >= 0)
        names = sorted({label for label in groups if label is not None}, key=str)
        codes = np.array([-1 if label is None else names.index(label) for label in groups])[known]
        found.append(column_test(cells[known], codes, j < n_numbers))
    return dict(zip(encoder.names, holm(found).tolist(), strict=True))


def column_test(cells: Floats, groups: NDArray[Any], is_number: bool) -> float:
    """Test whether a column differs between groups; 1 if there is nothing to compare."""
    present = np.unique(groups)
    if len(present) < 2 or len(np.unique(cells)) < 2:
        return 1.0
    if is_number:
        return float(kruskal(*(cells[groups == g] for g in present)).pvalue)
    counts = pl.DataFrame({"g": groups, "c": cells}).pivot("c", index="g", values="c", aggregate_function="len")
    return float(chi2_contingency(counts.drop("g").fill_null(0).to_numpy()).pvalue)
