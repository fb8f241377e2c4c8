"""How `NaiveBayes` learns, merges and forgets rows. Parameters, predictions and explanations are in `estimator`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from foldwise.arrays import Floats
from foldwise.bayes.assignment import FamilyBlock, assign_families, wants_best, without_best
from foldwise.bayes.checks import (
    CHECKS,
    by_name,
    check_classes,
    check_columns,
    check_levels,
    check_priors,
    check_same_kinds,
    check_setting,
    check_some_weight,
    merge_schemas,
    warn_of_objects,
)
from foldwise.bayes.entry_params import EntryParams
from foldwise.bayes.facts import NaiveBayesFacts
from foldwise.bayes.families import Setting
from foldwise.bayes.families.protocol import AnyView
from foldwise.bayes.finished import FinishedModel
from foldwise.bayes.table_facts import check_facts, check_known, learned_facts
from foldwise.data.arguments import check_jobs
from foldwise.data.schema import Column, Schema, listing
from foldwise.data.target import Target, check_weights, encode_labels, encode_target, label_array
from foldwise.data.validation import check_column_names, validate_table
from foldwise.data.view import SparseView
from foldwise.engines.table_facts import TableFacts
from foldwise.errors import FoldwiseTypeError, ForgetError, InputError


class NaiveBayesLearner(ClassifierMixin, EntryParams):  # type: ignore[misc]
    """What a naive Bayes model has learned, and how rows are added to it and removed from it."""

    facts_: NaiveBayesFacts
    schema_: Schema
    classes_: NDArray[Any]
    class_count_: Floats
    class_log_prior_: Floats
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _blocks: tuple[FamilyBlock, ...]
    _declared: NDArray[Any] | None  # classes given to `partial_fit`
    _backend: str  # data frame library of the training rows
    _finished: FinishedModel

    def fit_facts(self, facts: Any) -> Self:
        """Fit the model to the facts that a database or Spark returned, without reading a row.

        Parameters
        ----------
        facts : TableFacts
            Facts about the training rows, from `foldwise.engines.facts_of`.

        Returns
        -------
        NaiveBayes
            The fitted estimator itself. It predicts as if it was fitted to the rows.

        Examples
        --------
        >>> from foldwise import NaiveBayes
        >>> from foldwise.engines import facts_of, table_of
        >>> model = NaiveBayes().fit_facts(facts_of(table_of("examples/weather.csv"), "play"))
        >>> model.families_["humidity"]
        'gaussian'
        """
        return self._learn_facts(facts, first=True)

    def joint_by_fold(self, models: Sequence[Any], asker: Any, fold: str, label: str) -> str:
        """Return a query of log P(class, row) divided by the temperature, in the SQL of an engine.

        That of the first class with training rows is subtracted from all of them.

        Parameters
        ----------
        models : list of NaiveBayes
            One fitted model for each fold.
        asker : Asker
            The table whose rows are scored, and its engine.
        fold : str
            Name of the column with the index of the model of each row.
        label : str
            Name of the target.

        Returns
        -------
        str
            A query with the columns label (the index of the class), fold, and j0, j1, …: one per class.
        """
        from foldwise.bayes.engine_scores import joint_by_fold

        return joint_by_fold([model._finished for model in models], asker, fold, label)

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, first: bool, partial: bool = False, classes: Any = None
    ) -> Self:
        """Learn the first rows, or more rows; X may be facts of an engine."""
        if isinstance(X, TableFacts) and partial:
            return self._learn_facts(X, first, partial=True, classes=classes)
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
            warn_of_objects(table, self.families)
            fresh._assign(table, fresh._choose(X, table, target, weights))
        facts = NaiveBayesFacts.learn(table, target, weights, fresh._blocks, self.n_jobs)
        check_levels(facts, fresh._blocks, fresh.schema_)
        if not first:
            facts = fresh._merge(self, facts, table.columns)
        fresh._declared = declared
        return self._become(fresh._finish(facts, setting))

    def _learn_facts(self, given: Any, first: bool, partial: bool = False, classes: Any = None) -> Self:
        """Learn the facts of an engine, as the first ones or in addition to those learned before."""
        facts = check_facts(given)
        fresh = self._blank()
        setting = fresh._setting()
        declared = self._declared_classes(classes, first)
        if declared is not None:
            facts = facts.over(check_known(facts.classes, declared))
        if first:
            if wants_best(self.families):
                raise InputError(
                    "families='best' compares predictions for rows, which facts do not contain.",
                    "pass a mapping from columns to distribution families.",
                )
            if not partial:
                check_classes(np.asarray(facts.classes))
            fresh._columns_of(facts, self.families)
        else:
            fresh._adopt(self)
            check_column_names(self.schema_.names, facts.schema.columns)
        learned = learned_facts(facts, fresh._blocks)
        if not first:
            learned = fresh._merge(self, learned, facts.schema.columns)
        fresh._declared = declared
        return self._become(fresh._finish(learned, setting))

    def _forget_facts(self, given: Any) -> Self:
        """Remove the facts of an engine."""
        facts = check_facts(given)
        check_is_fitted(self)
        check_column_names(self.schema_.names, facts.schema.columns)
        gone = learned_facts(facts, self._blocks)
        check_same_kinds(self.facts_, gone, self._blocks, self.schema_)
        return self._remove(gone, self._blank())

    def _columns_of(self, facts: TableFacts, families: Any) -> None:
        """Set what `fit` would know about the columns of the table."""
        columns = facts.schema.columns
        self._blocks = assign_families(columns, families, sparse=False)
        self.schema_ = families if isinstance(families, Schema) else facts.schema
        self._backend, self.n_features_in_ = "polars", len(columns)
        self.feature_names_in_ = np.array(facts.schema.names, dtype=object)

    def _forget(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Remove rows that were learned before; X may be facts of an engine."""
        if isinstance(X, TableFacts):
            return self._forget_facts(X)
        check_is_fitted(self)
        fresh = self._blank()
        fresh._setting()  # an invalid parameter is the first error
        fresh._adopt(self)
        table = fresh._view(X, reset=False)
        target = encode_target(y, table.n_rows, self.classes_, "only rows that were learned can be forgotten.")
        weights = check_weights(sample_weight, table.n_rows)
        gone = NaiveBayesFacts.learn(table, target, weights, self._blocks, self.n_jobs)
        check_same_kinds(self.facts_, gone, self._blocks, self.schema_)
        return self._remove(gone, fresh)

    def _remove(self, gone: NaiveBayesFacts, fresh: Self) -> Self:
        """Remove facts that were learned before."""
        setting = fresh._setting()
        fresh._adopt(self)
        left = self.facts_.without(gone, self._blocks, self.schema_.names)
        if not left.class_rows.any():
            raise ForgetError("forget must leave at least one row, but all rows would be removed.", "fit a new model.")
        fresh._declared = self._declared
        return self._become(fresh._finish(left, setting))

    def _merge(self, old: NaiveBayesLearner, facts: NaiveBayesFacts, columns: tuple[Column, ...]) -> NaiveBayesFacts:
        """Merge the facts of a model with those of more rows; the schema gets the declared levels of both."""
        check_same_kinds(old.facts_, facts, old._blocks, old.schema_)
        if not isinstance(old.families, Schema):
            self.schema_ = merge_schemas(old.schema_, columns)
        return old.facts_ + facts

    def __radd__(self, other: object) -> Self:
        """Let `sum` merge many models."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: object) -> Self:
        """Merge two models into a model of the rows of both, with the parameters of the left one."""
        if not isinstance(other, NaiveBayesLearner):
            return NotImplemented
        check_is_fitted(self)
        check_is_fitted(other)
        if self.schema_.names != other.schema_.names or self._blocks != other._blocks:
            ours, theirs = (listing(f"{name}: {family}" for name, family in m.families_.items()) for m in (self, other))
            raise InputError(
                "only models with the same columns and the same distribution families can be merged; got "
                f"{ours} and {theirs}.",
                "fit both on the same columns in the same order, with the same families.",
            )
        merged = self._blank()
        merged._adopt(self)
        facts = merged._merge(self, other.facts_, other.schema_.columns)
        same_classes = self.classes_.tolist() == other.classes_.tolist()
        merged._declared = self._declared if same_classes and other._declared is not None else None
        return merged._finish(facts, self._setting())

    @property
    def families_(self) -> dict[str, str]:
        """The distribution family of each column."""
        check_is_fitted(self)
        by_index = {j: block.family for block in self._blocks for j in block.columns}
        return {name: by_index[j] for j, name in enumerate(self.schema_.names)}

    def _blank(self) -> Self:
        """Make an unfitted model with the same parameters. If learning fails there, this model stays unchanged."""
        return type(self)(**self.get_params(deep=False))

    def _become(self, other: Self) -> Self:
        """Take over everything another model has learned."""
        for name in NaiveBayesLearner.__annotations__:  # the attributes declared above
            self.__dict__.pop(name, None)
            if name in vars(other):
                setattr(self, name, getattr(other, name))
        return self

    def _adopt(self, other: NaiveBayesLearner) -> None:
        """Take over what another model knows about the columns of the table."""
        self._blocks, self._backend, self._declared = other._blocks, other._backend, None
        self.schema_, self.n_features_in_ = other.schema_, other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    def _declared_classes(self, classes: Any, first: bool) -> NDArray[Any] | None:
        """Check the classes given to `partial_fit` against the classes of the model."""
        if classes is None:
            return None if first else self._declared
        given: NDArray[Any] = encode_labels(label_array(classes)).classes
        if not first and given.tolist() != self.classes_.tolist():
            raise InputError(
                f"classes must be the same in every call of partial_fit; got {listing(given.tolist())}, but the model "
                f"has {listing(self.classes_.tolist())}.",
                "pass all classes in the first call.",
            )
        return given

    def _setting(self) -> Setting:
        check_jobs(self.n_jobs)
        return check_setting({name: getattr(self, name) for name in CHECKS})

    def _view(self, X: Any, reset: bool) -> AnyView:
        """Make a view of X, after scikit-learn's checks of its shape and names."""
        entered = validate_table(self, X, None if reset else self.schema_.names, sparse=True)
        if reset:
            self._backend = entered.backend
        elif isinstance(entered.table, SparseView) and len(self._blocks) > 1:
            raise FoldwiseTypeError(
                "Sparse data was passed, but a model with several distribution families needs dense columns.",
                "pass X.toarray().",
            )
        return entered.table

    def _choose(self, X: Any, table: AnyView, target: Target, weights: Floats | None) -> Any:
        """Replace "best" in `families` with the families that fit the training rows best."""
        if not wants_best(self.families):
            return self.families
        if isinstance(table, SparseView):
            return without_best(self.families)  # counts are multinomial
        from foldwise.bayes.best import choose_families

        return choose_families(self, X, table.columns, target, weights)

    def _assign(self, table: AnyView, families: Any) -> tuple[FamilyBlock, ...]:
        """Assign a distribution family to each column, from types and parameters."""
        columns = table.columns
        self._blocks = assign_families(columns, families, isinstance(table, SparseView))
        if isinstance(families, Schema):
            columns = tuple(families[column.name] for column in columns)
        self.schema_ = Schema(columns)
        self._declared = None
        return self._blocks

    def _finish(self, facts: NaiveBayesFacts, setting: Setting, log_prior: Floats | None = None) -> Self:
        """Compute log-likelihoods from facts, and set all fitted attributes."""
        if log_prior is None:
            log_prior = check_priors(self.priors, facts.classes, facts.class_weight)
            columns = check_columns(self.columns, self.schema_.names)
            setting = by_name(replace(setting, columns=columns), self.schema_.names)
        # parameters may be changed later; a stored model keeps those it was fitted with
        self._finished = FinishedModel.of(facts, self._blocks, self.schema_.columns, setting, log_prior)
        self.facts_, self.classes_, self.class_count_ = facts, facts.classes, facts.class_weight
        self.class_log_prior_ = log_prior
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "facts_")
