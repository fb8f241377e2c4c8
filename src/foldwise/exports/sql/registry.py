"""Which function writes the SQL of a fitted object, by the exact type of the object.

A subclass may predict differently, so it is not exported. Types are registered by name, so that neither scikit-learn's
estimators nor the boosters are imported before they are needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from foldwise.errors import InputError

TREES = "foldwise.exports.sql.forests"
BOOSTED = "foldwise.exports.sql.boosting"
COLUMNS = "foldwise.exports.sql.columns"
CODES = "foldwise.exports.sql.category_columns"
LINEAR = "foldwise.exports.sql.linear"
RUN = "foldwise.exports.sql.run_models"

# transformer -> function(transformer, features, program) -> features
TRANSFORMERS = {
    "sklearn.pipeline.Pipeline": f"{COLUMNS}:pipeline",
    "sklearn.compose._column_transformer.ColumnTransformer": f"{COLUMNS}:column_transformer",
    "sklearn.preprocessing._function_transformer.FunctionTransformer": f"{COLUMNS}:unchanged",
    "sklearn.impute._base.SimpleImputer": f"{COLUMNS}:imputer",
    "sklearn.preprocessing._data.StandardScaler": f"{COLUMNS}:standard_scaler",
    "sklearn.preprocessing._data.MinMaxScaler": f"{COLUMNS}:minmax_scaler",
    "sklearn.preprocessing._encoders.OneHotEncoder": f"{CODES}:one_hot",
    "foldwise.models.column_transformers.NumberColumns": f"{COLUMNS}:number_columns",
    "foldwise.models.column_transformers.KeepColumns": f"{COLUMNS}:keep_columns",
    "foldwise.models.date_features.DateFeatures": "foldwise.exports.sql.dates:date_features",
    "foldwise.models.column_transformers.TextTfidf": f"{COLUMNS}:refuse_text",
    "foldwise.models.column_transformers.CategoryCodes": f"{CODES}:category_codes",
    "foldwise.models.column_transformers.CategoricalFrame": f"{CODES}:categorical_frame",
    "foldwise.models.target_encoding.ClassRateEncoder": f"{CODES}:class_rates",
    "foldwise.models.target_encoding.MeanEncoder": f"{CODES}:means",
    "foldwise.models.wide_tables.TopColumns": f"{COLUMNS}:top_columns",
    "foldwise.models.feature_selection.SelectInformative": f"{COLUMNS}:select_informative",
}
# classifier -> function(model, features, program) -> ClassOutput
CLASSIFIERS = {
    "sklearn.pipeline.Pipeline": f"{RUN}:pipeline_classifier",
    "foldwise.app.blend.Blend": f"{RUN}:blend",
    "foldwise.models.coded_labels.CodedLabels": f"{RUN}:coded_labels",
    "foldwise.decisions.calibrated.Calibrated": f"{RUN}:calibrated",
    "foldwise.bayes.estimator.NaiveBayes": "foldwise.exports.sql.bayes:naive_bayes",
    "sklearn.dummy.DummyClassifier": f"{RUN}:class_frequencies",
    "sklearn.linear_model._logistic.LogisticRegression": f"{LINEAR}:logistic",
    "sklearn.svm._classes.LinearSVC": f"{LINEAR}:linear_decision",
    "sklearn.linear_model._ridge.RidgeClassifier": f"{LINEAR}:linear_decision",
    "sklearn.tree._classes.DecisionTreeClassifier": f"{TREES}:tree_classifier",
    "sklearn.ensemble._forest.RandomForestClassifier": f"{TREES}:forest_classifier",
    "sklearn.ensemble._forest.ExtraTreesClassifier": f"{TREES}:forest_classifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": (
        f"{BOOSTED}:classifier"
    ),
    "lightgbm.sklearn.LGBMClassifier": f"{BOOSTED}:classifier",
    "xgboost.sklearn.XGBClassifier": f"{BOOSTED}:classifier",
    "catboost.core.CatBoostClassifier": f"{BOOSTED}:classifier",
    "foldwise.storage.codecs.boosters.BoosterModel": f"{BOOSTED}:classifier",
}
# regressor -> function(model, features, program) -> column of the value
REGRESSORS = {
    "sklearn.pipeline.Pipeline": f"{RUN}:pipeline_regressor",
    "foldwise.app.blend.ValueBlend": f"{RUN}:value_blend",
    "foldwise.models.target_transforms.TransformedTarget": f"{RUN}:transformed_target",
    "sklearn.dummy.DummyRegressor": f"{RUN}:constant",
    "sklearn.linear_model._base.LinearRegression": f"{LINEAR}:linear_value",
    "sklearn.linear_model._ridge.Ridge": f"{LINEAR}:linear_value",
    "sklearn.linear_model._coordinate_descent.Lasso": f"{LINEAR}:linear_value",
    "sklearn.linear_model._coordinate_descent.ElasticNet": f"{LINEAR}:linear_value",
    "sklearn.tree._classes.DecisionTreeRegressor": f"{TREES}:tree_regressor",
    "sklearn.ensemble._forest.RandomForestRegressor": f"{TREES}:forest_regressor",
    "sklearn.ensemble._forest.ExtraTreesRegressor": f"{TREES}:forest_regressor",
    "sklearn.ensemble._gb.GradientBoostingRegressor": f"{TREES}:boosted_regressor",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor": (
        f"{BOOSTED}:regressor"
    ),
    "lightgbm.sklearn.LGBMRegressor": f"{BOOSTED}:regressor",
    "xgboost.sklearn.XGBRegressor": f"{BOOSTED}:regressor",
    "catboost.core.CatBoostRegressor": f"{BOOSTED}:regressor",
    "foldwise.storage.codecs.boosters.BoosterRegressor": f"{BOOSTED}:regressor",
}


def write(kind: dict[str, str], fitted: Any, features: Any, program: Any) -> Any:
    """Write the SQL of a fitted object with the function that is registered for its type."""
    name = f"{type(fitted).__module__}.{type(fitted).__qualname__}"
    if name not in kind:
        known = sorted({one.rsplit(".", 1)[-1] for one in kind if not one.startswith("foldwise.") or "bayes" in one})
        raise InputError(
            f"{type(fitted).__name__} cannot be exported to SQL.",
            f"train the model without it. These can be exported: {', '.join(known)}.",
        )
    module, _, function = kind[name].partition(":")
    return getattr(import_module(module), function)(fitted, features, program)
