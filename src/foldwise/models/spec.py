"""`ModelSpec`: the declaration of one model of the catalog, with everything that is needed to train it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal

from scipy.stats import randint
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from foldwise.data.target import Task
from foldwise.errors import FoldwiseError
from foldwise.models.coded_labels import CodedLabels
from foldwise.models.column_roles import ROLES, Outline, Role
from foldwise.models.feature_selection import selections
from foldwise.models.target_transforms import TransformedTarget, transforms_for
from foldwise.models.wide_tables import FIRST_KEPT, LEAST_KEPT, MOST_KEPT, TopColumns, is_wide, narrowed

SearchValues = Mapping[str, Any]
Answers = Literal["probabilities", "decision", "values"]
BOTH: tuple[Task, ...] = ("classification", "regression")
FILTER_SECONDS = 1e-7  # per cell, to rank the columns of a wide table


class ExtraError(FoldwiseError, ImportError):
    """The library of a model is not installed."""


WORDS = 200  # of a text, that become columns


@dataclass(frozen=True)
class Cost:
    """Estimate the seconds of one fit on one core: start + column · columns + cell · rows^power · width^width_power.

    Where one model is fitted per class, all but the start is multiplied by the number of classes.

    The estimate sorts models and plans budgets. On four tables it was nearly always right within a factor of 3.

    Attributes
    ----------
    cell : float
        Seconds per cell.
    power : float
        Exponent of the number of rows. The default is 1.
    start : float
        Seconds of any fit.
    each_class : bool
        Whether one model is fitted per class, so that the time grows with the number of classes.
    column : float
        Seconds per column, whatever the number of rows. It was measured with 500 columns of 72 rows. A text counts as
        200 columns, one for each of its words.
    width_power : float
        Exponent of the width. It is 0.5 for forests, which try the square root of the columns at each node.

    Notes
    -----
    The width is 1 for a number, the square root of the number of levels for a category, 4 for a date and 20 for a text.

    Examples
    --------
    >>> from foldwise import read_table
    >>> from foldwise.models import outline
    >>> about = outline(read_table("examples/weather.csv", target="play"))
    >>> round(Cost(cell=1e-3, start=0.1).seconds(about), 3)
    0.173
    """

    cell: float
    power: float = 1.0
    start: float = 0.02
    each_class: bool = False
    column: float = 3e-4
    width_power: float = 1.0

    def seconds(self, outline: Outline) -> float:
        """Estimate the seconds of one fit on a table.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        float
            Seconds.
        """
        width: float = (
            len(outline.columns("number")) + 6 * len(outline.columns("date")) + 20 * len(outline.columns("text"))
        )
        width += sum(min(outline.n_levels[name], 100) ** 0.5 for name in outline.columns("category"))
        classes = outline.n_classes if self.each_class and outline.n_classes > 2 else 1
        columns = len(outline.roles) + (WORDS - 1) * len(outline.columns("text"))
        cells = outline.n_rows**self.power * width**self.width_power
        return float(self.start + classes * (self.column * columns + self.cell * cells))


@dataclass(frozen=True)
class ModelSpec:
    """Declare a model: how to create it, how to prepare a table for it, what to search and what a fit costs.

    The model is a `Pipeline` with the steps "prepare" and "model", and "select" before them if `selects`.

    One declaration can serve both tasks. Its functions receive the outline, whose `task` says whether the target
    contains classes or a quantity; `regression` holds the other fields that differ. `models_for` returns declarations
    `suited` to the task of the table, so their fields can be read without asking for the task.

    Attributes
    ----------
    name : str
        Name in the catalog.
    title : str
        Name in reports.
    make : callable
        `make(outline, seed)` returns the unfitted estimator.
    prepare : callable
        `prepare(outline)` returns the transformer before it, which is fitted in each fold.
    search : callable
        `search(outline)` returns the search space: distributions or lists by the estimator's own parameter names.
    cost : Cost
        Estimated time of a fit.
    roles : tuple of str
        Roles of the columns that the model uses; others are dropped. The default is all.
    answers : {"probabilities", "decision", "values"}
        What the estimator predicts. Decision values are later converted to probabilities with held-out rows. Regressors
        predict values.
    scales : bool
        Whether `prepare` brings all columns to the same scale.
    selects : bool
        Whether the search also tries feature selection, because uninformative columns harm the model.
    takes_constants : bool
        Whether the model can be fitted if all columns are constant.
    stages : str, optional
        A parameter whose smaller values are part of the same fit, such as the number of trees.
    quick : callable
        `quick(outline)` returns the setting that a short run starts with: nearly as good as the default, in a fraction
        of the time.
    variants : callable
        `variants(outline)` returns settings that are tried after the first one, before any other.
    shares : tuple of str
        Parameters whose further values cost almost nothing once a model is fitted.
    least_rows : int
        The fewest rows with which the model is tried unless it is asked for by name.
    general : {"", "linear", "boosting", "forest"}
        The kind of a model that is good on most tables. A short run tries one of each kind before other models.
    large_files : bool
        Whether the model consists of many deep trees, which take long to save.
    module : str, optional
        The library that must be installed.
    extra : str, optional
        The extra that installs it: `pip install 'foldwise[extra]'`.
    notes : mapping of str to str
        Remarks on the model, by topic.
    tasks : tuple of str
        The tasks it can be trained for: "classification", "regression" or both. The default is classification.
    regression : mapping of str to object
        The fields that have another value for regression.
    transform : {"", "none", "scale"}
        With a name, the regressor is wrapped in `TransformedTarget`, starts with this transformation of the target, and
        others are searched if the target is skewed. Parameters of the pipeline are then called `model__regressor__…`;
        `search`, `quick` and `variants` keep the regressor's own names.

    Examples
    --------
    >>> from foldwise import catalogue, read_table
    >>> from foldwise.models import outline
    >>> about = outline(read_table("examples/weather.csv", target="play"))
    >>> forest = catalogue()["random_forest"]
    >>> list(forest.pipeline(about).named_steps)
    ['prepare', 'model']
    >>> sorted(forest.space(about))
    ['model__criterion', 'model__max_depth', 'model__max_features', 'model__min_samples_leaf']
    """

    name: str
    title: str
    make: Callable[[Outline, int], Any]
    prepare: Callable[[Outline], Any]
    search: Callable[[Outline], SearchValues]
    cost: Cost
    roles: tuple[Role, ...] = ROLES
    answers: Answers = "probabilities"
    scales: bool = False
    selects: bool = False
    takes_constants: bool = True
    stages: str | None = None
    quick: Callable[[Outline], Mapping[str, Any]] = lambda outline: {}
    variants: Callable[[Outline], Sequence[Mapping[str, Any]]] = lambda outline: ()
    shares: tuple[str, ...] = ()
    least_rows: int = 0
    general: Literal["", "linear", "boosting", "forest"] = ""
    large_files: bool = False
    module: str | None = None
    extra: str | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ("classification",)
    regression: Mapping[str, Any] = field(default_factory=dict)
    transform: Literal["", "none", "scale"] = ""

    def suited(self, task: Task) -> ModelSpec:
        """Return the declaration for one task.

        Parameters
        ----------
        task : {"classification", "regression"}
            The task.

        Returns
        -------
        ModelSpec
            The declaration with the fields of that task. Columns are selected for classification only.

        Examples
        --------
        >>> from foldwise import catalogue
        >>> catalogue()["rbf_svm"].answers, catalogue()["rbf_svm"].suited("regression").answers
        ('decision', 'values')
        """
        if task != "regression" or self.tasks != BOTH:
            return self
        own: dict[str, Any] = {"answers": "values", "selects": False, **self.regression}
        return replace(self, tasks=("regression",), regression={}, **own)

    def pipeline(self, outline: Outline, seed: int = 0) -> Pipeline:
        """Create the unfitted pipeline for a table.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.
        seed : int
            Seed of the estimator.

        Returns
        -------
        Pipeline
            The pipeline of transformer and estimator.
        """
        spec = self.suited(outline.task)
        spec.require()
        seen = spec.seen(outline)
        front: list[tuple[str, Any]] = [("select", "passthrough")] if spec.selects else []
        if is_wide(seen):
            passing = [*seen.columns("category", "text", "date"), *seen.left_out]
            k = min(FIRST_KEPT, max(LEAST_KEPT, seen.n_rows))
            front, seen = [("filter", TopColumns(passing, k=k, task=seen.task))], narrowed(seen)
        model = spec.make(seen, seed)
        if spec.wraps(outline):
            model = TransformedTarget(model, transform=spec.transform)
        return Pipeline([*front, ("prepare", spec.prepare(seen)), ("model", model)])

    def wraps(self, outline: Outline) -> bool:
        """Whether the regressor is wrapped in `TransformedTarget`.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        bool
            True for a quantity as target and a model with `transform`.
        """
        return bool(self.transform) and outline.task == "regression"

    def named(self, outline: Outline, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Return a setting, or a search space, with the parameter names of the pipeline.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.
        setting : mapping of str to object
            Values by the estimator's own names; "transform" is that of the target.

        Returns
        -------
        dict
            The same values.
        """
        inner = "model__regressor__" if self.wraps(outline) else "model__"
        return {f"model__{name}" if name == "transform" else f"{inner}{name}": one for name, one in setting.items()}

    def target_space(self, outline: Outline) -> dict[str, Any]:
        """Return the transformations of the target that a search tries; empty if there is no choice.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        dict
            Nothing, or the values of "transform".
        """
        if not self.wraps(outline) or outline.target is None:
            return {}
        first, *others = transforms_for(outline.target.lowest, outline.target.skewness)
        return {"transform": [self.transform or first, *others]} if others else {}

    def space(self, outline: Outline) -> dict[str, Any]:
        """Return the search space by the parameter names of the pipeline.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        dict
            Distributions or lists of values, by names such as "model__max_depth".
        """
        spec = self.suited(outline.task)
        seen = spec.seen(outline)
        if is_wide(seen):
            found = spec.named(outline, {**spec.search(narrowed(seen)), **spec.target_space(outline)})
            return {**found, "filter__k": randint(LEAST_KEPT, MOST_KEPT + 1)}
        found = spec.named(outline, {**spec.search(seen), **spec.target_space(outline)})
        choices = selections(seen) if spec.selects else []
        return {**found, "select": choices} if found and len(choices) > 1 else found

    def first_settings(self, outline: Outline, *, short: bool = False) -> list[dict[str, Any]]:
        """Return the settings that a search tries before any other, by the parameter names of the pipeline.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.
        short : bool
            Whether the time is so short that the model starts with its `quick` setting.

        Returns
        -------
        list of dict
            The defaults, which are an empty dict, or `quick`; then, for a skewed target, the same with its logarithm;
            then the variants.
        """
        spec = self.suited(outline.task)
        seen = spec.seen(outline)
        start = spec.quick(seen) if short else {}
        logs = [{"transform": "log"}] if "log" in spec.target_space(outline).get("transform", ()) else []
        settings = [start, *({**start, **one} for one in [*logs, *spec.variants(seen)])]
        return [spec.named(outline, one) for one in settings]

    def seconds(self, outline: Outline) -> float:
        """Estimate the seconds of one fit.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        float
            Seconds.
        """
        spec = self.suited(outline.task)
        seen = spec.seen(outline)
        if is_wide(seen):
            return FILTER_SECONDS * seen.n_rows * len(seen.roles) + spec.cost.seconds(narrowed(seen))
        return spec.cost.seconds(seen)

    def takes(self, outline: Outline) -> bool:
        """Whether the model can be fitted on a table.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        bool
            True if it serves the task of the table, and the table has a column that the model can use.
        """
        suited = self.suited(outline.task)
        usable = suited.takes_constants or not outline.constant
        return outline.task in suited.tasks and bool(outline.columns(*suited.roles)) and usable

    def seen(self, outline: Outline) -> Outline:
        """Return the outline of the columns that the model uses.

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        Outline
            The same outline without columns of other roles.
        """
        if set(outline.by_role) <= set(self.roles):
            return outline
        roles = {name: role for name, role in outline.roles.items() if role in self.roles}
        others = {
            name: f"{self.title} does not use {r} columns" for name, r in outline.roles.items() if name not in roles
        }
        return replace(outline, roles=roles, left_out={**outline.left_out, **others})

    @property
    def available(self) -> bool:
        """Whether the library of the model is installed."""
        return self.module is None or find_spec(self.module) is not None

    def require(self) -> None:
        """Raise `ExtraError` if the library of the model is not installed."""
        if not self.available:
            raise ExtraError(
                f"{self.title} needs the library {self.module!r}, which is not installed.",
                f"run pip install 'foldwise[{self.extra}]'." if self.extra else f"install {self.module}.",
            )

    def takes_weights(self, outline: Outline) -> bool:
        """Whether the fit of the model accepts sample weights (`model__sample_weight`).

        Parameters
        ----------
        outline : Outline
            The columns and the size of the table.

        Returns
        -------
        bool
            True if it accepts weights.
        """
        spec = self.suited(outline.task)
        spec.require()
        model = spec.make(spec.seen(outline), 0)
        fitted = model.estimator if isinstance(model, CodedLabels) else model  # which passes on what it is given
        return bool(has_fit_parameter(fitted, "sample_weight"))
