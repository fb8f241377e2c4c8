"""`NaiveBayes`, the scikit-learn classifier: it validates, learns facts, finishes them and predicts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.bayes.assignment import FamilyBlock, assign_families, wants_best, without_best
from foldwise.bayes.checks import check_classes, check_levels, check_same_kinds, check_some_weight, merge_schemas
from foldwise.bayes.explanation import Explanation, Explanations
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import Setting
from foldwise.bayes.families.protocol import AnyView, Factor, Fraction, Parameter
from foldwise.bayes.finished import FinishedModel, Normalize
from foldwise.bayes.parameters import CHECKS, by_name, check_columns, check_priors, check_setting
from foldwise.bayes.posterior import shift_to_max, to_log_probabilities, to_probabilities
from foldwise.bayes.probability_table import ProbabilityTable
from foldwise.bayes.storage import model_from_json, model_to_json
from foldwise.data.arguments import check_jobs
from foldwise.data.schema import Column, Level, Schema, listing
from foldwise.data.target import Target, check_weights, encode_labels, encode_target, label_array
from foldwise.data.validation import validate_table
from foldwise.data.view import SparseView, mixes_text_and_numbers
from foldwise.errors import FoldwiseTypeError, FoldwiseWarning, ForgetError, InputError
from foldwise.summaries.counts import Counts
from foldwise.summaries.number_kernels import Floats


class NaiveBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes for tables of mixed columns, with missing cells, from arrays, frames or sparse matrices.

    Parameters
    ----------
    families : "auto", "best", the name of a family for all columns, a mapping from column to family, or a `Schema`
        `"categorical"`; of numbers `"gaussian"`, `"kde"`, `"binned"`, `"gamma"`; of counts `"poisson"`, `"binomial"`,
        `"multinomial"` (all such columns together); of marks `"bernoulli"`; of words `"text"`. With "auto", and for
        columns that a mapping does not name, the type decides: category, string, object and bool are categorical,
        numbers gaussian, a sparse matrix multinomial; values are never looked at. With "best", for all columns or in a
        mapping for some, `fit` chooses gaussian, kde or binned for each numeric column by cross-validation inside the
        rows it is given; more rows keep the choice.
    columns : None or a list of names or indices
        The columns that the model uses; None for all. All are learned, so that models with different subsets merge.
    alpha : float, default 1.0
        Added to every count (Laplace smoothing); 0 for none.
    var_floor : float, default 1e-9
        The least variance of a column in a class, as a share of the column's variance over all classes; of a poisson
        or gamma column, that of its distribution.
    ddof : float, default 1
        The variance divides by n - ddof.
    priors : "empirical", "uniform", or one probability per class as a sequence or a mapping
    missing : "ignore" or "category"
        A missing cell is never counted and leaves its column out of a prediction; or it is evidence of its own.
    unseen : "ignore" or "smooth"
        A category never seen leaves its column out; or it has the probability of one more, empty category. The same
        holds for words never seen.
    trials : None, a whole number, or a mapping from column (name or index) to one
        The number of trials of binomial columns; None takes the most that a row holds.
    bins : int or a mapping from column to one, default 10
        The number of bins of binned columns.
    cuts : "width", "frequency" or "entropy", or a mapping from column to one
        Binned columns are cut in equal widths, at equal frequencies, or where the classes part (Fayyad and Irani's
        method, which finds the number of bins itself).
    bandwidth : None, a number, or a mapping from column to one
        The standard deviation of the kernels of kde columns; None takes Silverman's, 0.9·min(sd, IQR/1.34)·n^(-1/5),
        for each class and column.
    n_jobs : int or None
        Threads; None uses all cores on large tables.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_ : the classes with their weights and log priors
    schema_ : the columns as they were at `fit`
    families_ : the family of each column
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import polars as pl
    >>> from foldwise import NaiveBayes
    >>> X = pl.DataFrame({"outlook": ["sunny", "rainy", None, "rainy"], "humidity": [85.0, 70.0, 90.0, None]})
    >>> model = NaiveBayes().fit(X, ["no", "yes", "no", "yes"])
    >>> model.predict(pl.DataFrame({"outlook": ["snow"], "humidity": [88.0]}))
    array(['no'], dtype='<U3')

    Notes
    -----
    score(c) = log P(c) + Σ over present columns of log P(x_j | c). Weights are frequencies: a row of weight 2 counts as
    two rows; only the choice of `families="best"` may differ, because such a row lies in one fold. With `ddof=1`
    a class whose weights sum to 1 or less has no variance and falls to the floor; rescale weights that sum to 1 so that
    they sum to n.
    """

    facts_: NaiveBayesFacts
    schema_: Schema
    classes_: NDArray[Any]
    class_count_: Floats
    class_log_prior_: Floats
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _blocks: tuple[FamilyBlock, ...]
    _declared: NDArray[Any] | None
    _backend: str
    _finished: FinishedModel

    def __init__(
        self,
        *,
        families: str | Mapping[Any, str] | Schema = "auto",
        columns: Sequence[Any] | None = None,
        alpha: float = 1.0,
        var_floor: float = 1e-9,
        ddof: float = 1,
        priors: str | ArrayLike | Mapping[Any, float] = "empirical",
        missing: str = "ignore",
        unseen: str = "ignore",
        trials: int | Mapping[str, int] | None = None,
        bins: int | Mapping[str, int] = 10,
        cuts: str | Mapping[str, str] = "width",
        bandwidth: float | Mapping[str, float] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.families = families
        self.columns = columns
        self.alpha = alpha
        self.var_floor = var_floor
        self.ddof = ddof
        self.priors = priors
        self.missing = missing
        self.unseen = unseen
        self.trials = trials
        self.bins = bins
        self.cuts = cuts
        self.bandwidth = bandwidth
        self.n_jobs = n_jobs

    # learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to the rows of X with labels y.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_rows, n_columns)
        y : labels, one per row
        sample_weight : weights, one per row, or None
            A weight counts a row that many times.
        """
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; any sequence of calls gives the model of one `fit` on all rows.

        `classes` at the first call fixes the classes; without it, they are those seen so far. Families that are to be
        chosen (`families="best"`) are chosen from the rows of the first call, here or in `fit`.
        """
        first = not self.__sklearn_is_fitted__()
        return self._learn(X, y, sample_weight, first, partial=True, classes=classes)

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, first: bool, partial: bool = False, classes: Any = None
    ) -> Self:
        """Learn rows: the first ones, or more of them."""
        fresh = self._blank()
        setting = fresh._setting()
        if not first:
            fresh._adopt(self)
        table = fresh._view(X, reset=first)
        declared = self._declared_classes(classes, first)
        target = encode_target(y, table.n_rows, declared)
        weights = check_weights(sample_weight, table.n_rows)
        if not partial:
            check_classes(target.classes)
            check_some_weight(weights)
        if first:
            fresh._assign(table, fresh._choose(X, table, target, weights))
        facts = NaiveBayesFacts.learn(table, target, weights, fresh._blocks, self.n_jobs)
        check_levels(facts, fresh._blocks, fresh.schema_, table)
        if not first:
            facts = fresh._merge(self, facts, table.columns)
        fresh._declared = declared
        return self._become(fresh._finish(facts, setting))

    def _merge(self, old: NaiveBayes, facts: NaiveBayesFacts, columns: tuple[Column, ...]) -> NaiveBayesFacts:
        """The facts of a model and of more rows; this model takes over the levels that either declares."""
        check_same_kinds(old.facts_, facts, old._blocks, old.schema_)
        if not isinstance(old.families, Schema):
            self.schema_ = merge_schemas(old.schema_, columns)
        return old.facts_ + facts

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Undo rows that were learned, with the weights they had.

        Counts of rows are exact, and so are whole weights. The error of a variance grows with the share of its spread
        that is taken away, about 8·eps·before/after, that of other weights with theirs; where that passes 1e-9 (for a
        variance always where the rows that stay are all equal, unless one stays or none), `ForgetError` is raised and
        the model stays as it was. A class that loses all its rows remains a class, with a prior of 0.
        """
        check_is_fitted(self)
        fresh = self._blank()
        setting = fresh._setting()
        fresh._adopt(self)
        table = fresh._view(X, reset=False)
        target = encode_target(y, table.n_rows, self.classes_, "only rows that were learned can be forgotten.")
        weights = check_weights(sample_weight, table.n_rows)
        gone = NaiveBayesFacts.learn(table, target, weights, self._blocks, self.n_jobs)
        check_same_kinds(self.facts_, gone, self._blocks, self.schema_)
        left = self.facts_.without(gone, self._blocks, self.schema_.names)
        if not left.class_rows.any():
            raise ForgetError("no row would be left.", "make a new model instead.")
        fresh._declared = self._declared
        return self._become(fresh._finish(left, setting))

    def _blank(self) -> Self:
        """An unfitted model with the same parameters: what fails in it leaves this one as it was."""
        return type(self)(**self.get_params(deep=False))

    def _become(self, other: NaiveBayes) -> Self:
        """Take over all that another model has learned."""
        for name in NaiveBayes.__annotations__:  # the attributes declared above
            if name in vars(other):
                setattr(self, name, getattr(other, name))
            elif name in vars(self):
                delattr(self, name)
        return self

    def __radd__(self, other: object) -> NaiveBayes:
        """Lets `sum` merge many models."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: object) -> NaiveBayes:
        """A model of the rows of both; the parameters are those of the left one."""
        if not isinstance(other, NaiveBayes):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        names, others = self.schema_.names, other.schema_.names
        if names != others or self._blocks != other._blocks:
            raise InputError(
                f"models of different columns or families cannot be merged: {listing(self.families_.items())} "
                f"and {listing(other.families_.items())}.",
                "fit both on the same columns in the same order, with the same families.",
            )
        merged = self._blank()
        merged._adopt(self)
        facts = merged._merge(self, other.facts_, other.schema_.columns)
        same_classes = self.classes_.tolist() == other.classes_.tolist()
        merged._declared = self._declared if same_classes and other._declared is not None else None
        return merged._finish(facts, self._setting())

    def _declared_classes(self, classes: Any, first: bool) -> NDArray[Any] | None:
        """The classes given to partial_fit, checked against those given before."""
        before = None if first else getattr(self, "_declared", None)
        if classes is None:
            return before
        given: NDArray[Any] = encode_labels(label_array(classes)).classes
        if not first and given.tolist() != self.classes_.tolist():
            raise InputError(
                f"partial_fit was called with the classes {listing(given.tolist())}, but the model has "
                f"{listing(self.classes_.tolist())}.",
                "name all classes at the first call.",
            )
        return given

    def _setting(self) -> Setting:
        check_jobs(self.n_jobs)
        return check_setting({name: getattr(self, name) for name in CHECKS})

    def _view(self, X: Any, reset: bool) -> AnyView:
        """The view of X, after scikit-learn's checks of its shape and names."""
        entered = validate_table(self, X, None if reset else self.schema_.names, sparse=True)
        if reset:
            self._backend = entered.backend
        elif isinstance(entered.table, SparseView) and len(self._blocks) > 1:
            raise FoldwiseTypeError(
                "Sparse data was passed to a model of several families, which needs columns.", "pass X.toarray()."
            )
        return entered.table

    def _choose(self, X: Any, table: AnyView, target: Target, weights: Floats | None) -> Any:
        """The families as they are given, with the best ones chosen where that is wanted."""
        if not wants_best(self.families):
            return self.families
        if isinstance(table, SparseView):
            return without_best(self.families)  # counts are multinomial
        from foldwise.bayes.best import choose_families

        return choose_families(self, X, table.columns, target, weights)

    def _assign(self, table: AnyView, families: Any) -> tuple[FamilyBlock, ...]:
        """Decide the families once, from types and parameters."""
        columns = table.columns
        self._blocks = assign_families(columns, families, isinstance(table, SparseView))
        if isinstance(families, Schema):
            columns = tuple(families[column.name] for column in columns)
        self.schema_ = Schema(columns)
        self._declared = None
        return self._blocks

    def _finish(self, facts: NaiveBayesFacts, setting: Setting, log_prior: Floats | None = None) -> Self:
        """Turn facts into likelihoods; everything fitted comes from here."""
        if log_prior is None:
            log_prior = check_priors(self.priors, facts.classes, facts.class_weight)
            columns = check_columns(self.columns, self.schema_.names)
            setting = by_name(replace(setting, columns=columns), self.schema_.names)
        # parameters may be set again later; a stored model keeps those it was fitted with
        self._finished = FinishedModel.of(facts, self._blocks, self.schema_.columns, setting, log_prior)
        self.facts_, self.classes_, self.class_count_ = facts, facts.classes, facts.class_weight
        self.class_log_prior_ = log_prior
        return self

    @property
    def families_(self) -> dict[str, str]:
        """The family of each column."""
        check_is_fitted(self)
        by_index = {j: block.family for block in self._blocks for j in block.columns}
        return {name: by_index[j] for j, name in enumerate(self.schema_.names)}

    def known_levels(self) -> dict[str, Sequence[Level]]:
        """The levels of each column of categories; empty before the fit."""
        found: dict[str, Sequence[Level]] = {}
        if hasattr(self, "facts_"):
            for block, summary in zip(self._blocks, self.facts_.summaries, strict=True):
                if isinstance(summary, Counts):
                    names = [self.schema_.names[j] for j in block.columns]
                    found |= {name: column.levels for name, column in zip(names, summary.columns, strict=True)}
        return found

    # answering

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        best = np.argmax(self._answer(X, shift_to_max), axis=1)
        labels: NDArray[Any] = np.take(self.classes_, best)
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row), one column per class in the order of `classes_`."""
        return self._answer(X, to_probabilities)

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | row); finite where `predict_proba` would underflow to 0."""
        return self._answer(X, to_log_probabilities)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """log P(class, row), not normalized; -inf where the row is impossible in a class."""
        return self._answer(X, None)

    def _answer(self, X: Any, normalize: Normalize | None) -> Floats:
        check_is_fitted(self)
        table = self._view(X, reset=False)
        scores, impossible = self._finished.score(table, self.n_jobs, normalize)
        if impossible:
            warnings.warn(
                f"every class has likelihood 0 for {impossible} of {table.n_rows} rows; the prior answers. "
                "Hint: alpha above 0 lets every category occur in every class.",
                FoldwiseWarning,
                stacklevel=3,
            )
        return scores

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """The fold session that answers many settings and splits of this estimator from shared facts."""
        from foldwise.bayes.session import NaiveBayesSession

        weight: Any = fit_params.get("sample_weight")
        if set(fit_params) - {"sample_weight"} or (np.ndim(weight) > 0 and np.shape(weight) != (len(y),)):
            return None  # fit says what is wrong
        session = NaiveBayesSession(self, X, y, fit_params)
        # whether such a column is refused depends on the rows of a split: a refit decides
        return None if mixes_text_and_numbers(session.table) else session

    def _adopt(self, other: NaiveBayes) -> None:
        """Take over what another model knows of the table's columns."""
        self._blocks, self._backend, self._declared = other._blocks, other._backend, None
        self.schema_, self.n_features_in_ = other.schema_, other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    # explaining

    def table(self) -> ProbabilityTable:
        """The probability distribution table: attribute, parameter, one column per class."""
        check_is_fitted(self)
        prior = self._prior_factor()
        first = Parameter("(class)", "prior", tuple(np.exp(prior.log).tolist()), prior.fractions)
        rows = (first, *self._finished.parameters(self.schema_.names))
        return ProbabilityTable(tuple(self.classes_.tolist()), rows, self._backend)

    def explain(self, X: Any) -> Explanations:
        """Explain each row's prediction by its worked calculation; the terms sum to `predict_log_proba`."""
        check_is_fitted(self)
        rows = self._finished.factors(self._view(X, reset=False))
        prior, classes = self._prior_factor(), tuple(self.classes_.tolist())
        return Explanations([Explanation(classes, prior, factors) for factors in rows])

    def _prior_factor(self) -> Factor:
        fractions = None
        if isinstance(self.priors, str) and self.priors == "empirical":
            total = float(self.class_count_.sum())
            fractions = tuple(Fraction(weight, total) for weight in self.class_count_.tolist())
        elif isinstance(self.priors, str):
            fractions = (Fraction(1.0, float(len(self.classes_))),) * len(self.classes_)
        return Factor("(class)", None, tuple(self.class_log_prior_.tolist()), fractions)

    # keeping

    def to_json(self) -> str:
        """The fitted model as JSON text; `from_json` gives a model with exactly the same answers."""
        check_is_fitted(self)
        return model_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The model that `to_json` wrote. Nothing in the text is executed."""
        return model_from_json(cls, text)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "facts_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self.families in ("auto", "best", "multinomial", "bernoulli")
        return tags
