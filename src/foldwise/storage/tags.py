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
    "ensemble.adaboost": "ensembles.dependency.adaboost.AdaBoost",
    "ensemble.arbiter_tree": "ensembles.combiners.arbiters.ArbiterTree",
    "ensemble.arbiter_tree.fitted": "ensembles.combiners.arbiters.Arbitrated",
    "ensemble.arbiter_tree.node": "ensembles.combiners.arbiters.Node",
    "ensemble.best": "ensembles.combiners.weighing.Best",
    "ensemble.bootstrap": "ensembles.diversity.sampling.Bootstrap",
    "ensemble.class_codes": "ensembles.diversity.recoding.Recoded",
    "ensemble.class_codes.decode": "ensembles.combiners.decoding.Decode",
    "ensemble.column_parts": "ensembles.diversity.partitions.ColumnParts",
    "ensemble.combiner": "ensembles.protocol.Plainly",
    "ensemble.decorate": "ensembles.dependency.decorate.Decorate",
    "ensemble.diversities": "ensembles.diversity.composition.Together",
    "ensemble.fitted": "ensembles.building.Built",
    "ensemble.fitted_members": "ensembles.protocol.Crew",
    "ensemble.grading": "ensembles.combiners.grading.Grading",
    "ensemble.grading.fitted": "ensembles.combiners.grading.Graded",
    "ensemble.independent": "ensembles.dependency.independent.Independent",
    "ensemble.log_mean": "ensembles.combiners.averages.LogMean",
    "ensemble.mean": "ensembles.combiners.averages.Mean",
    "ensemble.median": "ensembles.combiners.averages.Median",
    "ensemble.member": "ensembles.members.Member",
    "ensemble.member.data": "ensembles.protocol.Lesson",
    "ensemble.member.one_class": "ensembles.members.OnlyClass",
    "ensemble.pasting": "ensembles.diversity.sampling.Pasting",
    "ensemble.poisson": "ensembles.diversity.poisson.Poisson",
    "ensemble.residuals": "ensembles.dependency.residuals.Residuals",
    "ensemble.row_parts": "ensembles.diversity.partitions.RowParts",
    "ensemble.settings": "ensembles.diversity.hyperparameters.Settings",
    "ensemble.single_member": "ensembles.combiners.weighing.Alone",
    "ensemble.size.converged": "ensembles.sizes.settled.Settled",
    "ensemble.size.fixed": "ensembles.sizes.fixed.Fixed",
    "ensemble.size.greedy": "ensembles.sizes.chosen.Greedy",
    "ensemble.size.pruned": "ensembles.sizes.chosen.Pruned",
    "ensemble.stacking": "ensembles.combiners.stacking.Stacking",
    "ensemble.stacking.fitted": "ensembles.combiners.stacking.Stacked",
    "ensemble.subspaces": "ensembles.diversity.subspaces.Subspaces",
    "ensemble.sum": "ensembles.combiners.averages.Sum",
    "ensemble.vote": "ensembles.combiners.votes.Vote",
    "ensemble.weighted": "ensembles.combiners.weighing.Weighted",
    "ensemble.weighted.fitted": "ensembles.combiners.weighing.WithWeights",
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
