"""`ModelSpec`: the declaration of one catalogue model, with everything that is needed to train it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from foldwise.errors import FoldwiseError
from foldwise.models.column_roles import ROLES, Outline, Role
from foldwise.models.feature_selection import selections

Space = Mapping[str, Any]
Answers = Literal["probabilities", "decision"]


class ExtraError(FoldwiseError, ImportError):
    """The library of a model is not installed."""


@dataclass(frozen=True)
class Cost:
    """Seconds of one fit with default settings, roughly: start + cell · rows^power · width, on one core.

    Width counts a number once, a category by the root of its levels, a date four times, a text twenty; times the
    number of classes where one model per class is fitted. It orders models and plans budgets; measured on four tables,
    it is right within a factor of 3 nearly everywhere.
    """

    cell: float
    power: float = 1.0
    start: float = 0.02
    each_class: bool = False

    def seconds(self, outline: Outline) -> float:
        """The estimate for a table."""
        width: float = (
            len(outline.columns("number")) + 4 * len(outline.columns("date")) + 20 * len(outline.columns("text"))
        )
        width += sum(min(outline.n_levels[name], 100) ** 0.5 for name in outline.columns("category"))
        classes = outline.n_classes if self.each_class and outline.n_classes > 2 else 1
        return float(self.start + self.cell * outline.n_rows**self.power * width * classes)


@dataclass(frozen=True)
class ModelSpec:
    """A catalogue model: how to prepare a table for it, how to make it, what to search, what it costs.

    `make(outline, seed)` gives an unfitted estimator; `prepare(outline)` the transformer in front, learned in each
    fold; `search(outline)` the space of its parameters, as searches take it. Together they are a `Pipeline` of two
    steps, "prepare" and "model": names in `search` are the estimator's own, and `space` puts "model__" in front. A
    model that `selects` has a step "select" before them, which the search may fill.
    """

    name: str
    title: str
    make: Callable[[Outline, int], Any]
    prepare: Callable[[Outline], Any]
    search: Callable[[Outline], Space]
    cost: Cost
    roles: tuple[Role, ...] = ROLES  # columns it takes; others are left out
    answers: Answers = "probabilities"  # decision values only are turned into probabilities from held-out rows, later
    scales: bool = False  # whether its columns are brought to one scale
    selects: bool = False  # whether the search also tries feature selection: noise columns harm it
    takes_constants: bool = True  # whether it can be fitted if all columns are constant
    stages: str | None = None  # the parameter whose smaller values are part of the same fit
    shares: tuple[str, ...] = ()  # names in `search` whose other values cost almost nothing more
    large_files: bool = False  # whether it makes many deep trees, which take long to write
    module: str | None = None  # what must be installed
    extra: str | None = None  # and how: pip install 'foldwise[extra]'
    notes: Mapping[str, str] = field(default_factory=dict)

    def pipeline(self, outline: Outline, seed: int = 0) -> Pipeline:
        """The unfitted pipeline for a table."""
        self.require()
        seen = self.seen(outline)
        front = [("select", "passthrough")] if self.selects else []
        return Pipeline([*front, ("prepare", self.prepare(seen)), ("model", self.make(seen, seed))])

    def space(self, outline: Outline) -> dict[str, Any]:
        """What to search, by the names of the pipeline's parameters."""
        seen = self.seen(outline)
        found = {f"model__{name}": values for name, values in self.search(seen).items()}
        choices = selections(seen) if self.selects else []
        return {**found, "select": choices} if found and len(choices) > 1 else found

    def seconds(self, outline: Outline) -> float:
        """A rough estimate of the time of one fit."""
        return self.cost.seconds(self.seen(outline))

    def takes(self, outline: Outline) -> bool:
        """Whether the table has a column that it can use."""
        return bool(outline.columns(*self.roles)) and (self.takes_constants or not outline.constant)

    def seen(self, outline: Outline) -> Outline:
        """The outline of the columns that it takes."""
        roles = {name: role for name, role in outline.roles.items() if role in self.roles}
        others = {name: f"{self.title} does not take a {r}" for name, r in outline.roles.items() if name not in roles}
        return replace(outline, roles=roles, left_out={**outline.left_out, **others})

    @property
    def available(self) -> bool:
        """Whether the library it needs is installed."""
        return self.module is None or find_spec(self.module) is not None

    def require(self) -> None:
        """Raise where the library it needs is not installed."""
        if not self.available:
            raise ExtraError(
                f"{self.title} needs the library {self.module!r}, which is not installed.",
                f"pip install 'foldwise[{self.extra}]'" if self.extra else f"install {self.module}",
            )

    def takes_weights(self, outline: Outline) -> bool:
        """Whether its fit takes sample weights (`model__sample_weight`)."""
        self.require()
        return bool(has_fit_parameter(self.make(self.seen(outline), 0), "sample_weight"))
