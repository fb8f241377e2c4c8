"""Data on a Dask cluster: the session of a search, which holds its table, is sent to every worker once."""

from __future__ import annotations

import weakref

from joblib.parallel import get_active_backend

from foldwise.folds.protocol import FoldSession


def scatter_session(session: FoldSession) -> None:
    """Send a session to all workers of joblib's dask backend, unless it is there; other backends need nothing.

    Joblib recognizes objects that were sent by their identity. It would otherwise send the session with every fit,
    because it does not see how large it is.
    """
    backend, _ = get_active_backend()
    known = getattr(backend, "data_futures", None)  # of joblib's dask backend only
    if known is None or id(session) in known:
        return
    [known[id(session)]] = backend.client.scatter([session], broadcast=True, hash=False)
    weakref.finalize(session, known.pop, id(session), None)  # the workers then forget it, too
