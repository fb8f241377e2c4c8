"""`find_factors`: which columns vary together, and how many factors explain this."""

from __future__ import annotations

from typing import Any

import numpy as np

from foldwise.data.arguments import one_of, whole_at_least
from foldwise.data.frames import as_polars, library_of, pandas_index
from foldwise.data.schema import listing
from foldwise.errors import InputError
from foldwise.unsupervised.factors.bi_cross_validation import (
    by_decomposition,
    by_nonnegative_parts,
    choose_number,
    held_out_errors,
    most_factors,
)
from foldwise.unsupervised.factors.decompositions import FactorInput, decompose, nmf_input, pca_input, text_input
from foldwise.unsupervised.factors.result import Factors
from foldwise.unsupervised.matrix import findings_of, table_matrix
from foldwise.unsupervised.texts import texts_alone

PURPOSE = "factors"
MOST_CELLS = 1_000_000  # of the sample on which the number of factors is chosen
FEWEST_ROWS = 200


def find_factors(
    table: Any,
    *,
    method: str = "auto",
    n_factors: int | None = None,
    max_factors: int = 10,
    text: str | None = None,
    repeats: int = 10,
    max_rows: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> Factors:
    """Find factors behind columns that vary together, and choose their number by predicting held-out cells.

    Factors are principal components, nonnegative parts or factors of text. To choose their number, some columns of some
    rows are held out and predicted from the rest of the table. The smallest number that predicts nearly as well as the
    best one is kept, and the factors are fitted to all rows. In noise, no factor predicts better than the column mean,
    and the number is 0.

    Parameters
    ----------
    table : data frame, Table or array
        The rows. Categories become indicators, and missing cells are replaced with the column mean. Identifiers, dates
        and constant columns are left out.
    method : {"auto", "pca", "nmf", "svd"}, default "auto"
        "pca": principal components of standardized columns. "nmf": nonnegative matrix factorization, for numbers that
        are not negative, such as counts and amounts. "svd": truncated singular value decomposition of the words in
        text columns. "auto" is "svd" if there are text columns and at most one other column, and "pca" otherwise.
    n_factors : int, optional
        Number of factors. By default, it is chosen by predicting held-out cells.
    max_factors : int, default 10
        Largest number of factors tried.
    text : str, optional
        Text column for "svd". Default: all text columns.
    repeats : int, default 10
        Number of random divisions into held-out blocks.
    max_rows : int, default 2000
        The number of factors is chosen on a random sample of at most this many rows; fewer in wide tables.
    random_state : int, Generator or None, default 0
        Seed of the divisions and samples.

    Returns
    -------
    Factors
        Loadings of columns, scores of rows, and the errors by which the number was chosen.

    Notes
    -----
    Bi-cross-validation: Owen & Perry, Annals of Applied Statistics 3 (2009) 564-594. Mixed columns are scaled as in
    factor analysis of mixed data (Pagès 2004). Indicators of one column are always held out together.

    Examples
    --------
    >>> import numpy as np
    >>> from foldwise import find_factors
    >>> rng = np.random.default_rng(0)
    >>> find_factors(rng.normal(size=(200, 10)))
    No factors: no column can be predicted from the others better than by its mean.
    >>> rows = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 10)) + rng.normal(size=(200, 10))
    >>> find_factors(rows).n_factors
    2
    """
    one_of("method", method, ("auto", "pca", "nmf", "svd"))
    limit = whole_at_least("max_factors", max_factors, 1)
    whole_at_least("repeats", repeats, 1)
    whole_at_least("max_rows", max_rows, 4)
    rng = np.random.default_rng(random_state)
    method, data, left_out = factor_input(table, method, text)
    n, p = data.values.shape
    if n_factors is not None and whole_at_least("n_factors", n_factors, 0) > min(n - 1, p):
        raise InputError(
            f"n_factors must be at most {min(n - 1, p)} for {n:,} rows and {p:,} columns, got {n_factors}.",
            "pass fewer factors.",
        )
    rows = np.sort(rng.permutation(n)[: min(max_rows, max(FEWEST_ROWS, MOST_CELLS // p))])
    most = most_factors(len(rows), data.sources, limit)
    predict = by_nonnegative_parts if method == "nmf" else by_decomposition
    errors = held_out_errors(
        data.values[rows], data.known[rows], data.sources, predict, most,
        center=method != "nmf", repeats=repeats, rng=rng,
    )  # fmt: skip
    chosen = choose_number(errors, len(np.unique(data.sources))) if n_factors is None else n_factors
    found = decompose(data, method, chosen, int(rng.integers(1 << 31)))
    return Factors(
        method,
        data.names,
        found.loadings,
        found.scores,
        found.explained,
        errors,
        n_factors is None,
        left_out,
        library_of(table),
        pandas_index(table),
    )


def factor_input(table: Any, method: str, text: str | None) -> tuple[str, FactorInput, tuple[str, ...]]:
    """Read what is decomposed, and decide on the method."""
    if text is not None and method not in ("auto", "svd"):
        raise InputError(f"text={text!r} needs method='svd', got method={method!r}.", "pass method='svd'.")
    if method in ("pca", "nmf"):
        return numeric_input(table, method)
    frame = as_polars(table)
    found = findings_of(frame)
    texts = tuple(one.column for one in found if one.kind == "text")
    if text is not None:
        if text not in frame.columns:
            raise InputError(f"text={text!r} is not a column of the table.", f"choose among {listing(frame.columns)}.")
        texts = (text,)
    if method == "auto" and text is None and not texts_alone(found):
        return numeric_input(table, "pca")
    if not texts:
        raise InputError("method='svd' needs a text column, but the table has none.", "pass text=, or method='pca'.")
    if frame.height < 4:
        raise InputError(f"factors need a table of at least 4 rows, got {frame.height}.", "pass more rows.")
    others = tuple(f"{one.column!r} ({one.kind})" for one in found if one.column not in texts)
    return "svd", text_input(frame, texts), others


def numeric_input(table: Any, method: str) -> tuple[str, FactorInput, tuple[str, ...]]:
    """Read numbers and categories; texts can be decomposed on their own."""
    matrix = table_matrix(table, PURPOSE, least_rows=4, least_columns=2)
    return method, (nmf_input if method == "nmf" else pca_input)(matrix), matrix.left_out
