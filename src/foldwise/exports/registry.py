"""Which function writes a fitted object in another language, by the exact type of the object.

A subclass may predict differently, so it is not exported. Types are registered by name, so that neither scikit-learn's
estimators nor the boosters are imported before they are needed. Every language has a package with modules and functions
of the same names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from sklearn.base import is_classifier

from foldwise.errors import FoldwiseTypeError, InputError

TRANSFORMERS = {
    "sklearn.pipeline.Pipeline": "columns:pipeline",
    "sklearn.compose._column_transformer.ColumnTransformer": "columns:column_transformer",
    "sklearn.preprocessing._function_transformer.FunctionTransformer": "columns:unchanged",
    "sklearn.impute._base.SimpleImputer": "columns:imputer",
    "sklearn.preprocessing._data.StandardScaler": "columns:standard_scaler",
    "sklearn.preprocessing._data.MinMaxScaler": "columns:minmax_scaler",
    "sklearn.preprocessing._encoders.OneHotEncoder": "category_columns:one_hot",
    "foldwise.models.column_transformers.NumberColumns": "columns:number_columns",
    "foldwise.models.column_transformers.KeepColumns": "columns:keep_columns",
    "foldwise.models.table_encoder.TableEncoder": "columns:table_encoder",
    "foldwise.models.date_features.DateFeatures": "dates:date_features",
    "foldwise.models.column_transformers.TextTfidf": "columns:refuse_text",
    "foldwise.models.column_transformers.CategoryCodes": "category_columns:category_codes",
    "foldwise.models.column_transformers.CategoricalFrame": "category_columns:categorical_frame",
    "foldwise.models.target_encoding.ClassRateEncoder": "category_columns:target_encoder",
    "foldwise.models.target_encoding.MeanEncoder": "category_columns:target_encoder",
    "foldwise.models.wide_tables.TopColumns": "columns:top_columns",
    "foldwise.models.feature_selection.SelectInformative": "columns:select_informative",
}
CLASSIFIERS = {
    "sklearn.pipeline.Pipeline": "run_models:pipeline_classifier",
    "foldwise.app.blend.Blend": "run_models:blend",
    "foldwise.models.coded_labels.CodedLabels": "run_models:coded_labels",
    "foldwise.decisions.calibrated.Calibrated": "run_models:calibrated",
    "foldwise.bayes.estimator.NaiveBayes": "bayes:naive_bayes",
    "sklearn.dummy.DummyClassifier": "run_models:class_frequencies",
    "sklearn.linear_model._logistic.LogisticRegression": "linear:logistic",
    "sklearn.svm._classes.LinearSVC": "linear:linear_decision",
    "sklearn.linear_model._ridge.RidgeClassifier": "linear:linear_decision",
    "sklearn.tree._classes.DecisionTreeClassifier": "forests:tree_classifier",
    "sklearn.ensemble._forest.RandomForestClassifier": "forests:forest_classifier",
    "sklearn.ensemble._forest.ExtraTreesClassifier": "forests:forest_classifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": (
        "boosting:classifier"
    ),
    "lightgbm.sklearn.LGBMClassifier": "boosting:classifier",
    "xgboost.sklearn.XGBClassifier": "boosting:classifier",
    "catboost.core.CatBoostClassifier": "boosting:classifier",
    "foldwise.storage.codecs.boosters.BoosterModel": "boosting:classifier",
}
REGRESSORS = {
    "sklearn.pipeline.Pipeline": "run_models:pipeline_regressor",
    "foldwise.app.blend.ValueBlend": "run_models:value_blend",
    "foldwise.models.target_transforms.TransformedTarget": "run_models:transformed_target",
    "sklearn.dummy.DummyRegressor": "run_models:constant",
    "sklearn.linear_model._base.LinearRegression": "linear:linear_value",
    "sklearn.linear_model._ridge.Ridge": "linear:linear_value",
    "sklearn.linear_model._coordinate_descent.Lasso": "linear:linear_value",
    "sklearn.linear_model._coordinate_descent.ElasticNet": "linear:linear_value",
    "sklearn.tree._classes.DecisionTreeRegressor": "forests:tree_regressor",
    "sklearn.ensemble._forest.RandomForestRegressor": "forests:forest_regressor",
    "sklearn.ensemble._forest.ExtraTreesRegressor": "forests:forest_regressor",
    "sklearn.ensemble._gb.GradientBoostingRegressor": "forests:boosted_regressor",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor": ("boosting:regressor"),
    "lightgbm.sklearn.LGBMRegressor": "boosting:regressor",
    "xgboost.sklearn.XGBRegressor": "boosting:regressor",
    "catboost.core.CatBoostRegressor": "boosting:regressor",
    "foldwise.storage.codecs.boosters.BoosterRegressor": "boosting:regressor",
}


INSTEAD = {
    "Balanced": "export its estimator_, a model of the balanced rows, or train the model without it.",
    "Conformal": "export its estimator_, or the result of fit(coverage=…), whose intervals and sets are exported.",
    "CostSensitive": "export its estimator_, or the result of fit(costs=…), whose decisions are exported.",
    "Ensemble": "export one of its members_, or the result of fit, whose weighted means are exported.",
    "EnsembleRegressor": "export one of its members_, or the result of fit, whose weighted means are exported.",
    "SelectFeatures": "fit the model on the columns of support_, and export that model.",
}


@dataclass(frozen=True)
class ExportLanguage:
    """The functions that write models in one language.

    Attributes
    ----------
    name : str
        The language.
    package : str
        The package of the functions.
    more : mapping of str to str
        What only this language has, or has elsewhere: module and function by type.
    """

    name: str
    package: str
    more: Mapping[str, str] = field(default_factory=dict)

    def transform(self, fitted: Any, features: Any, program: Any) -> Any:
        """Write a transformer, and return the features that come out of it."""
        return self._write(TRANSFORMERS, fitted, features, program)

    def classify(self, fitted: Any, features: Any, program: Any) -> Any:
        """Write a classifier, and return its probabilities or decision values."""
        return self._write(CLASSIFIERS, fitted, features, program)

    def regress(self, fitted: Any, features: Any, program: Any) -> Any:
        """Write a regressor, and return its values."""
        return self._write(REGRESSORS, fitted, features, program)

    def knows(self, name: str) -> bool:
        """Whether a classifier or regressor can be written, by the name of its type."""
        return name in CLASSIFIERS or name in REGRESSORS or name in self.more

    def refuse_unknown(self, model: Any) -> None:
        """Raise if the type of a model cannot be written, before its columns are asked for."""
        if isinstance(model, str | os.PathLike):
            raise FoldwiseTypeError(
                f"model must be a fitted model, but is the path {str(model)!r}.", "open the model file with open_model."
            )
        last = model
        while type_name(last) == "sklearn.pipeline.Pipeline":
            last = last.steps[-1][1]
        if hasattr(last, "predict") and not hasattr(last, "best_estimator_") and not self.knows(type_name(last)):
            raise self.refusal(CLASSIFIERS if is_classifier(last) else REGRESSORS, last)

    def refusal(self, kind: Mapping[str, str], fitted: Any) -> InputError:
        """Return the error for an object that cannot be written."""
        words = f"{type(fitted).__name__} cannot be exported to {self.name}."
        if type(fitted).__name__ in INSTEAD and type_name(fitted).startswith("foldwise."):
            return InputError(words, INSTEAD[type(fitted).__name__])
        known = sorted({one.rsplit(".", 1)[-1] for one in kind if not one.startswith("foldwise.") or "bayes" in one})
        return InputError(words, f"train a model that can be exported: {', '.join(known)}.")

    def _write(self, kind: Mapping[str, str], fitted: Any, features: Any, program: Any) -> Any:
        name = type_name(fitted)
        where = self.more.get(name, kind.get(name))
        if where is None:
            if hasattr(fitted, "best_estimator_"):
                raise InputError(f"a search cannot be exported to {self.name}.", "pass its best_estimator_.")
            raise self.refusal(kind, fitted)
        module, _, function = where.partition(":")
        return getattr(import_module(f"{self.package}.{module}"), function)(fitted, features, program)


def type_name(fitted: Any) -> str:
    """Return the full name of the type of an object."""
    return f"{type(fitted).__module__}.{type(fitted).__qualname__}"


SQL = ExportLanguage("SQL", "foldwise.exports.sql")
ONNX = ExportLanguage(
    "ONNX",
    "foldwise.exports.onnx",
    {
        "foldwise.models.date_features.DateFeatures": "columns:refuse_dates",
        "foldwise.neighbors.estimators.KNNClassifier": "neighbors:knn_classifier",
        "foldwise.neighbors.estimators.KNNRegressor": "neighbors:knn_regressor",
    },
)
