"""Rule lists."""

from __future__ import annotations

from scipy.stats import loguniform

from foldwise.models.preprocessing import as_frame
from foldwise.models.spec import Cost, ModelSpec
from foldwise.rules import RuleList

SPECS = (
    ModelSpec(
        name="rule_list",
        title="rule list",
        make=lambda outline, seed: RuleList(random_state=seed),
        prepare=lambda outline: as_frame(outline, "number", "category"),
        search=lambda outline: {
            "min_rows": [1, 2, 3, 5, 10, 20],
            "n_optimizations": [0, 1, 2],
            "laplace": loguniform(0.1, 5.0),
        },
        cost=Cost(cell=1.5e-6, power=1.1, start=0.03, each_class=True),
        roles=("number", "category", "date"),
    ),
)
