"""The door for families that want columns: a sparse matrix is refused with what to do."""

from __future__ import annotations

from foldwise.bayes.families.protocol import AnyView
from foldwise.data.view import SparseView, View
from foldwise.errors import FoldwiseTypeError


def dense(view: AnyView, family: str) -> View:
    """The view of columns, where it is one."""
    if isinstance(view, SparseView):
        raise FoldwiseTypeError(
            f"Sparse data was passed, but the family {family!r} wants dense columns.",
            "pass X.toarray(), or use the family 'multinomial' or 'bernoulli'.",
        )
    return view
