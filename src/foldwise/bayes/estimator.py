"""`NaiveBayes`, the scikit-learn classifier: its parameters, predictions, explanations and storage."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.bayes.assignment import wants_best
from foldwise.bayes.checks import warn_of_objects
from foldwise.bayes.entry_params import entry_of
from foldwise.bayes.explanation import Explanation, Explanations
from foldwise.bayes.families.protocol import Factor, Fraction, Parameter
from foldwise.bayes.finished import Normalize, shift_to_max, to_log_probabilities, to_probabilities
from foldwise.bayes.learning import NaiveBayesLearner
from foldwise.bayes.probability_table import ProbabilityTable
from foldwise.bayes.storage import model_from_json, model_to_json
from foldwise.data.schema import Level, Schema
from foldwise.data.view import mixes_text_and_numbers
from foldwise.errors import FoldwiseWarning
from foldwise.summaries.counts import Counts


class NaiveBayes(NaiveBayesLearner):
    """Naive Bayes for tables with columns of any kind and missing values.

    X may be an array, a data frame (pandas, polars, pyarrow) or a sparse matrix. Models can be merged with `+`.

    Parameters
    ----------
    families : str, mapping or Schema, default "auto"
        Distribution family of the columns: "categorical"; for numbers "gaussian", "kde", "binned", "gamma"; for counts
        "poisson", "binomial", "multinomial" (all such columns together); for 0/1 "bernoulli"; for words "text". One
        name for all columns, or a mapping from columns to names. "auto", also for columns that a mapping does not
        name, decides by type: numbers are gaussian, other types categorical, a sparse matrix is multinomial. "best"
        chooses gaussian, kde or binned for each numeric column by cross-validation within the training rows.
    columns : list of str or int, optional
        Names or indices of the columns that the model uses. Default: all. The others are learned but not used.
    alpha : float, default 1.0
        Added to every count (Laplace smoothing). 0 means no smoothing.
    var_floor : float, default 1e-9
        Smallest variance of a column within a class, as a share of the variance of the column over all classes.
    ddof : float, default 1
        The variance divides by n - ddof.
    priors : {"empirical", "uniform"}, array-like or mapping, default "empirical"
        Prior probabilities of the classes: their frequencies, all equal, or one probability per class. The numbers of
        a mapping from classes are divided by their sum. `set_params(priors__yes=2)` changes the entry of one class.
    missing : {"ignore", "category"}, default "ignore"
        "ignore" leaves a column with a missing value out of the prediction. "category" treats missing as a value.
    unseen : {"ignore", "smooth"}, default "ignore"
        "ignore" leaves a column with an unseen category or word out of the prediction. "smooth" treats it as one more
        category with a count of 0.
    trials : int or mapping, optional
        Number of trials of binomial columns. Default: the largest value of the column.
    bins : int or mapping, default 10
        Number of bins of binned columns.
    cuts : {"width", "frequency", "entropy"} or mapping, default "width"
        Bins of equal width, of equal frequency, or by Fayyad and Irani's entropy method, which chooses their number.
    bandwidth : float or mapping, optional
        Standard deviation of the kernels of kde columns. Default: Silverman's rule for each class and column.
    column_weights : list of float or mapping, optional
        Weights of the columns, at least 0: one per column, or a mapping from columns, in which other columns have the
        weight 1. The log-likelihood of a column is multiplied by its weight, and 0 leaves the column out. Weights below
        1 correct for columns that repeat each other. `set_params(column_weights__age=0.5)` changes one weight.
    temperature : float, default 1.0
        The log-probabilities of the classes are divided by it. Above 1, predicted probabilities are less extreme.
    n_jobs : int, optional
        Number of threads. None uses all cores on large tables.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    class_count_ : ndarray
        Total weight of each class.
    class_log_prior_ : ndarray
        Logarithm of the prior probability of each class.
    schema_ : Schema
        The columns seen during `fit`.
    families_ : dict
        The distribution family of each column.
    n_features_in_ : int
        Number of columns seen during `fit`.
    feature_names_in_ : ndarray
        Names of the columns seen during `fit`. Defined only if X has column names that are all strings.

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
    score(c) = log P(c) + Σ over present columns of w_j log P(x_j | c), with column weights w_j [1]_. The probabilities
    are the softmax of score / temperature. Sample weights are frequencies: a row of weight 2 counts as two equal rows.
    (Only the choice of `families="best"` may differ, because a weighted row is in one fold.) If the
    weights of a class sum to 1 or less, its variances with `ddof=1` fall to the floor, so rescale weights that sum
    to 1. Silverman's bandwidth is 0.9·min(sd, IQR/1.34)·n^(-1/5).

    .. [1] Zaidi, Cerquides, Carman and Webb, "Alleviating naive Bayes attribute independence assumption by attribute
       weighting", Journal of Machine Learning Research 14, 2013.
    """

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
        column_weights: Sequence[float] | Mapping[Any, float] | None = None,
        temperature: float = 1.0,
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
        self.column_weights = column_weights
        self.temperature = temperature
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to training rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Training rows.
        y : array-like of shape (n_rows,)
            Class labels.
        sample_weight : array-like of shape (n_rows,), optional
            Weights: a row of weight 2 counts as two rows.

        Returns
        -------
        NaiveBayes
            The fitted estimator itself.
        """
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows. Any sequence of calls gives the same model as one `fit` on all rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns), or TableFacts
            More training rows, or the facts of an engine about them.
        y : array-like of shape (n_rows,), optional
            Class labels; None for facts.
        classes : array-like, optional
            All classes, in the first call. Default: the classes seen so far.
        sample_weight : array-like of shape (n_rows,), optional
            Weights: a row of weight 2 counts as two rows.

        Returns
        -------
        NaiveBayes
            The fitted estimator itself.

        Notes
        -----
        With `families="best"`, distribution families are chosen in the first call and then kept.
        """
        first = not self.__sklearn_is_fitted__()
        return self._learn(X, y, sample_weight, first, partial=True, classes=classes)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove rows that were learned before. `ForgetError` is raised if too much precision would be lost.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns), or TableFacts
            Rows to remove, or the facts of an engine about them.
        y : array-like of shape (n_rows,), optional
            Class labels of these rows; None for facts.
        sample_weight : array-like of shape (n_rows,), optional
            Weights that the rows were learned with.

        Returns
        -------
        NaiveBayes
            The estimator itself.

        Notes
        -----
        Counts and whole weights stay exact. The relative error of a variance grows by about 8·eps·before/after. If it
        would exceed 1e-9 (for a variance also if all remaining rows are equal), the model stays unchanged and
        `ForgetError` is raised. A class that loses all its rows remains a class with a prior of 0.
        """
        return self._forget(X, y, sample_weight)

    def known_levels(self) -> dict[str, Sequence[Level]]:
        """Return the known levels of each categorical column.

        Returns
        -------
        dict
            Levels by column name; empty before `fit`.
        """
        found: dict[str, Sequence[Level]] = {}
        if hasattr(self, "facts_"):
            for block, summary in zip(self._blocks, self.facts_.summaries, strict=True):
                if isinstance(summary, Counts):
                    names = [self.schema_.names[j] for j in block.columns]
                    found |= {name: column.levels for name, column in zip(names, summary.columns, strict=True)}
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted labels.
        """
        best = np.argmax(self._answer(X, shift_to_max), axis=1)
        labels: NDArray[Any] = np.take(self.classes_, best)
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of each class, P(class | row).

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Probabilities, with one column per class in the order of `classes_`.
        """
        return self._answer(X, to_probabilities)

    def predict_log_proba(self, X: Any) -> Floats:
        """Predict log P(class | row). It stays finite if `predict_proba` underflows to 0.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Log-probabilities, with one column per class in the order of `classes_`.
        """
        return self._answer(X, to_log_probabilities)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Predict log P(class, row), which is not normalized and not divided by the temperature.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows with the columns seen during `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Joint log-probabilities; -inf if a row is impossible in a class.
        """
        return self._answer(X, None)

    def _answer(self, X: Any, normalize: Normalize | None) -> Floats:
        check_is_fitted(self)
        table = self._view(X, reset=False)
        scores, impossible = self._finished.score(table, self.n_jobs, normalize)
        if impossible:
            warnings.warn(
                f"every class has likelihood 0 for {impossible} of {table.n_rows} rows; their predictions are the "
                "prior probabilities. Hint: with alpha above 0, every category is possible in every class.",
                FoldwiseWarning,
                stacklevel=3,
            )
        return scores

    def open_folds(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        """Open a fold session, which evaluates many settings and splits from shared facts.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            All rows.
        y : array-like of shape (n_rows,)
            Class labels.
        fit_params : dict
            Parameters of `fit`; only `sample_weight` is supported.

        Returns
        -------
        NaiveBayesSession or None
            None if refits must answer.
        """
        from foldwise.bayes.session import NaiveBayesSession

        weight: Any = fit_params.get("sample_weight")
        if set(fit_params) - {"sample_weight"} or (np.ndim(weight) > 0 and np.shape(weight) != (len(y),)):
            return None  # fit raises the error
        session = NaiveBayesSession(self, X, y, fit_params)
        if mixes_text_and_numbers(session.table):
            return None  # whether such a column is valid depends on the rows of a split, so each split is refitted
        warn_of_objects(session.table, self.families)
        return session

    def smooth_names(self) -> frozenset[str]:
        """Name the parameters that the out-of-fold loss is a smooth function of, for searches by gradients.

        Returns
        -------
        frozenset of str
            alpha, var_floor, temperature, and the entries of `priors` and `column_weights` if these are mappings.
            Empty if families are chosen by cross-validation.
        """
        if wants_best(self.families):
            return frozenset()
        entries = {name for name in self.get_params(deep=True) if entry_of(name) is not None}
        return frozenset({"alpha", "var_floor", "temperature"} | entries)

    def open_smooth_loss(self, folds: Any, names: Sequence[str]) -> Any:
        """Open the out-of-fold log loss as a function of smooth parameters.

        Parameters
        ----------
        folds : sequence of FoldTables
            Training and test rows of each split.
        names : sequence of str
            The parameters that vary.

        Returns
        -------
        NaiveBayesLoss
            The loss and its gradient.
        """
        from foldwise.bayes.smooth_loss import NaiveBayesLoss

        return NaiveBayesLoss(self, folds, names)

    def table(self) -> ProbabilityTable:
        """Return the probability table: the parameters of each column, with one value per class.

        Returns
        -------
        ProbabilityTable
            Prints as text and as HTML; `to_frame()` converts it to a data frame.
        """
        check_is_fitted(self)
        prior = self._prior_factor()
        first: tuple[Parameter, ...] = (
            Parameter("(class)", "prior", tuple(np.exp(prior.log).tolist()), prior.fractions),
        )
        if (temperature := self._finished.setting.temperature) != 1:
            first = (*first, Parameter("(class)", "temperature", (temperature,) * len(self.classes_)))
        rows = (*first, *self._finished.parameters(self.schema_.names))
        return ProbabilityTable(tuple(self.classes_.tolist()), rows, self._backend)

    def explain(self, X: Any) -> Explanations:
        """Explain each prediction by its calculation: the prior and the factor of each column.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, n_columns)
            Rows to explain.

        Returns
        -------
        Explanations
            One explanation per row, whose terms sum to `predict_log_proba`. Prints as text and as HTML.
        """
        check_is_fitted(self)
        rows = self._finished.factors(self._view(X, reset=False))
        prior, classes = self._prior_factor(), tuple(self.classes_.tolist())
        temperature = self._finished.setting.temperature
        return Explanations([Explanation(classes, prior, factors, temperature) for factors in rows])

    def _prior_factor(self) -> Factor:
        fractions = None
        if isinstance(self.priors, str) and self.priors == "empirical":
            total = float(self.class_count_.sum())
            fractions = tuple(Fraction(weight, total) for weight in self.class_count_.tolist())
        elif isinstance(self.priors, str):
            fractions = (Fraction(1.0, float(len(self.classes_))),) * len(self.classes_)
        return Factor("(class)", None, tuple(self.class_log_prior_.tolist()), fractions)

    def to_json(self) -> str:
        """Convert the fitted model to JSON text.

        Returns
        -------
        str
            Text from which `from_json` makes a model with exactly the same predictions.
        """
        check_is_fitted(self)
        return model_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Make a model from the JSON text of `to_json`. Nothing in the text is executed.

        Parameters
        ----------
        text : str
            Text written by `to_json`.

        Returns
        -------
        NaiveBayes
            The fitted model.
        """
        return model_from_json(cls, text)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = self.families in ("auto", "best", "multinomial", "bernoulli")
        return tags
