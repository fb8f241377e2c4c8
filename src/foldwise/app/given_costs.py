"""The costs that a run is given: a matrix, a dict, a frame or a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from foldwise.data.schema import listing
from foldwise.errors import FoldwiseTypeError, InputError
from foldwise.evaluation.cost import CostMatrix


def cost_matrix(costs: Any, classes: NDArray[Any]) -> CostMatrix:
    """Read the costs and check that they name exactly the classes of the target."""
    if isinstance(costs, CostMatrix):
        matrix = costs
    elif isinstance(costs, str | Path):
        try:
            matrix = CostMatrix.from_csv(costs)
        except OSError as error:
            raise InputError(
                f"the cost file {str(costs)!r} cannot be read: {error.strerror}.", "check the path."
            ) from error
        except UnicodeDecodeError as error:
            raise InputError(f"the cost file {str(costs)!r} is not a text file.", "save the costs as CSV.") from error
    elif isinstance(costs, dict):
        matrix = CostMatrix.from_dict(costs)
    elif nw.dependencies.is_into_dataframe(costs):
        matrix = CostMatrix.from_frame(costs)
    else:
        raise FoldwiseTypeError(
            f"costs must be a CostMatrix, a dict, a frame or the path of a CSV file, got {type(costs).__name__}.",
            "pass {action: {true class: cost}}.",
        )
    try:
        matrix.costs_of(classes)
    except InputError as error:
        if isinstance(costs, str | Path):
            hint = f"{error.hint} In the file, classes begin in the second column: the first one contains the actions."
            raise InputError(error.message, hint) from error
        raise
    known = {str(one) for one in classes.tolist()}
    unknown = [truth for truth in matrix.truths if str(truth) not in known]
    if unknown:
        raise InputError(
            f"the costs name {listing(unknown)}, which the target does not contain.",
            f"name only its classes: {listing(classes.tolist())}.",
        )
    return matrix
