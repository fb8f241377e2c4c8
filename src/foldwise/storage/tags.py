"""Stable tags of the storable classes of Foldwise: model files hold tags, never module paths of ours.

A class may move or change its name; then only the right-hand side changes here. A tag never disappears and never
changes its meaning once a version with it was released (`tests/storage/tags.json` is the list that a test holds on to).
Paths are relative to `foldwise` and are imported only when a file asks for them. The registry is also the allow-list:
a file can have these classes made from any values, so their constructors only keep what they are given, or check it.
"""

from __future__ import annotations

from foldwise.errors import InputError

TAGS = {
    "blend": "app.blend.Blend",
    "calibrated": "decisions.calibrated.Calibrated",
    "calibration.dirichlet": "decisions.calibration.dirichlet.Dirichlet",
    "calibration.identity": "decisions.calibration.scores.IdentityCalibrator",
    "calibration.isotonic": "decisions.calibration.isotonic.Isotonic",
    "calibration.sigmoid": "decisions.calibration.sigmoid.Sigmoid",
    "calibration.temperature": "decisions.calibration.temperature.Temperature",
    "columns.category_codes": "models.column_transformers.CategoryCodes",
    "columns.class_rates": "models.target_encoding.ClassRateEncoder",
    "columns.coded_frame": "models.column_transformers.CategoricalFrame",
    "columns.dates": "models.column_transformers.DateParts",
    "columns.informative": "models.feature_selection.SelectInformative",
    "columns.keep": "models.column_transformers.KeepColumns",
    "columns.numbers": "models.column_transformers.NumberColumns",
    "columns.words": "models.column_transformers.TextTfidf",
    "cost_sensitive": "decisions.cost_sensitive.CostSensitive",
    "costs.matrix": "evaluation.cost.CostMatrix",
    "costs.resolved": "decisions.resolved_costs.ResolvedCosts",
    "ensemble": "ensembles.ensemble.Ensemble",
    "ensemble.adaboost": "ensembles.dependency.boosting.AdaBoost",
    "ensemble.arbiter_tree": "ensembles.combiners.arbiters.ArbiterTree",
    "ensemble.arbiter_tree.fitted": "ensembles.combiners.arbiters.ArbiterRule",
    "ensemble.arbiter_tree.node": "ensembles.combiners.arbiters.ArbiterNode",
    "ensemble.best": "ensembles.combiners.weighted.Best",
    "ensemble.bootstrap": "ensembles.diversity.sampling.Bootstrap",
    "ensemble.class_codes": "ensembles.diversity.output_codes.OutputCodes",
    "ensemble.class_codes.decode": "ensembles.combiners.decoding.Decode",
    "ensemble.column_parts": "ensembles.diversity.sampling.ColumnParts",
    "ensemble.combiner": "ensembles.protocol.StatelessRule",
    "ensemble.decorate": "ensembles.dependency.decorate.Decorate",
    "ensemble.diversities": "ensembles.protocol.ChainedDiversity",
    "ensemble.fitted": "ensembles.fitting.FittedEnsemble",
    "ensemble.fitted_members": "ensembles.protocol.FittedMembers",
    "ensemble.grading": "ensembles.combiners.grading.Grading",
    "ensemble.grading.fitted": "ensembles.combiners.grading.GradingRule",
    "ensemble.independent": "ensembles.training.Independent",
    "ensemble.log_mean": "ensembles.combiners.averages.LogMean",
    "ensemble.mean": "ensembles.combiners.averages.Mean",
    "ensemble.median": "ensembles.combiners.averages.Median",
    "ensemble.member": "ensembles.members.Member",
    "ensemble.member.data": "ensembles.protocol.MemberSpec",
    "ensemble.member.one_class": "ensembles.members.SingleClassModel",
    "ensemble.pasting": "ensembles.diversity.sampling.Pasting",
    "ensemble.poisson": "ensembles.diversity.sampling.PoissonBootstrap",
    "ensemble.residuals": "ensembles.dependency.boosting.Residuals",
    "ensemble.row_parts": "ensembles.diversity.sampling.RowParts",
    "ensemble.settings": "ensembles.diversity.parameters.VariedParameters",
    "ensemble.single_member": "ensembles.combiners.weighted.SingleMemberRule",
    "ensemble.size.converged": "ensembles.sizes.EarlyStopping",
    "ensemble.size.fixed": "ensembles.sizes.FixedSize",
    "ensemble.size.greedy": "ensembles.sizes.GreedySelection",
    "ensemble.size.pruned": "ensembles.sizes.Pruning",
    "ensemble.stacking": "ensembles.combiners.stacking.Stacking",
    "ensemble.stacking.fitted": "ensembles.combiners.stacking.StackingRule",
    "ensemble.subspaces": "ensembles.diversity.sampling.Subspaces",
    "ensemble.sum": "ensembles.combiners.averages.Sum",
    "ensemble.vote": "ensembles.combiners.averages.Vote",
    "ensemble.weighted": "ensembles.combiners.weighted.Weighted",
    "ensemble.weighted.fitted": "ensembles.combiners.weighted.WeightedRule",
    "labels.coded": "models.coded_labels.CodedLabels",
    "part": "storage.encoded_parts.Placeholder",
    "rules.condition": "rules.conditions.Condition",
    "rules.list": "rules.estimator.RuleList",
    "rules.rule": "rules.estimator.ListedRule",
    "rules.scheme": "rules.conditions.CodingScheme",
}
PATHS = {f"foldwise.{path}": tag for tag, path in TAGS.items()}


def path_of(tag: str) -> str:
    """Return the path of the class that has a tag; an unknown tag is refused."""
    if tag not in TAGS:
        raise InputError(
            f"the model file asks for {tag!r}, which is not on the list of types that may be opened.",
            "upgrade Foldwise if a newer version wrote the file; otherwise do not use it.",
        )
    return f"foldwise.{TAGS[tag]}"


def tag_of(path: str) -> str:
    """Return the tag of the class at a path; a class without a tag cannot be stored."""
    if path not in PATHS:
        raise InputError(f"this model holds {path}, which has no tag and cannot be stored.")
    return PATHS[path]
