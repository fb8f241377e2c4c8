"""`LivePlot`: a picture in a notebook that is drawn again whenever a search has new scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foldwise.tuning.dimensions import Space
from foldwise.tuning.pictures.choosing import plot_search
from foldwise.tuning.strategies.protocol import Trial, finished


class LivePlot:
    """Watch a search in a notebook.

    Parameters
    ----------
    space : mapping or list of mappings
        The search space.
    kind : str, default "best_so_far"
        The kind of picture; see `plot_search`.
    strategy : Strategy, default None
        The strategy, for pictures of what it knows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from foldwise import SearchCV
    >>> from foldwise.tuning import Float, LivePlot
    >>> space = {"C": Float(0.1, 10, log=True)}
    >>> search = SearchCV(SVC(), space, strategy="evolutionary", n_trials=12, watch=LivePlot(space))
    >>> len(search.fit(*load_iris(return_X_y=True)).trials_)  # in a notebook, the picture changes meanwhile
    12
    """

    def __init__(self, space: Space, kind: str = "best_so_far", strategy: Any = None) -> None:
        self.space, self.kind, self.strategy = space, kind, strategy
        self._shown: Any = None  # what IPython updates

    def __call__(self, trials: Sequence[Trial]) -> None:
        """Draw the trials again. Outside of IPython nothing is drawn."""
        try:
            from IPython import get_ipython
            from IPython.display import display
        except ImportError:
            return
        if get_ipython() is None or not finished(trials):
            return
        import matplotlib.pyplot as plt

        figure = plot_search(self.space, trials, self.kind, strategy=self.strategy).figure
        if self._shown is None:
            self._shown = display(figure, display_id=True)
        else:
            self._shown.update(figure)
        plt.close(figure)
