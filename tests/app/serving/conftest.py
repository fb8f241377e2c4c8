"""Stored models that all tests of the server share, and a real server on a free port."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pytest

from foldwise.app.serving.prediction_app import PredictionApp, ServingLimits
from foldwise.app.serving.served_model import open_served
from foldwise.app.web.address import listening_socket, server_address
from foldwise.app.web.middleware import protected
from foldwise.app.web.running import make_server
from foldwise.models import catalogue, outline
from tests.app.runs import COSTS, folder_of
from tests.models.tables import mixed, table_of

MIXED = mixed(120)
PLAIN = table_of(MIXED.X.drop("day", "said"), MIXED.y, "plain")  # what needs no conversion in JSON
HOSTILE = table_of(PLAIN.X, np.where(MIXED.y == "up", "=1+1", "<script>alert(1)</script>"), "hostile")
VALUES = PLAIN.X["size"].fill_null(5.0).to_numpy() * 2


def fitted(table, name="random_forest", y=None):
    labels = table.y if y is None else y
    spec = catalogue()[name]
    return spec.pipeline(outline(table_of(table.X, labels))).fit(table.X, labels)


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Folders of four kinds of models, by name."""
    place = tmp_path_factory.mktemp("served")
    coverage = {"level": 0.9, "guaranteed": False, "quantile": 0.7, "rows": 100}
    return {
        "plain": folder_of(place / "plain", fitted(PLAIN, "naive_bayes"), PLAIN.X, costs=COSTS),
        "dates": folder_of(place / "dates", fitted(MIXED, "decision_tree"), MIXED.X, coverage=coverage),
        "hostile": folder_of(place / "hostile", fitted(HOSTILE, "decision_tree"), PLAIN.X),
        "missing": folder_of(
            place / "missing", fitted(PLAIN, "decision_tree"), PLAIN.X, reading={"missing_values": {"size": ["-1"]}}
        ),
    }


@pytest.fixture(scope="session")
def models(runs):
    return open_served(list(runs.values()))


@pytest.fixture
def app(models):
    """All models behind the layers of a server."""
    return protected(PredictionApp(models), server_address(None, 0, token=None).allowed_hosts, 1_000_000)


@contextmanager
def running(models, limits=None, token=None):
    """A real server in a thread; its URL."""
    limits = limits or ServingLimits(n_bytes=100_000, n_rows=1_000, seconds=10)
    address = server_address(None, 0, token=token)
    app = protected(
        PredictionApp(models, limits, token=token is not None), address.allowed_hosts, limits.n_bytes, token=token
    )
    ready = threading.Event()
    server = make_server(app, address, ready.set)
    with listening_socket(address) as opened:
        url = address.url(opened.getsockname()[1])
        thread = threading.Thread(target=server.run, args=([opened],))
        thread.start()
        assert ready.wait(20)
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def server(models):
    with running({"plain": models["plain"]}) as url:
        yield url
