"""Counts and times of a prediction server, in the text format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class ServingMetrics:
    """Collects the metrics of all models of a server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        labels, registry = ["model"], self.registry
        self._requests = Counter(
            "foldwise_requests", "Requests for predictions.", ["model", "status"], registry=registry
        )
        self._seconds = Histogram(
            "foldwise_request_seconds", "Time until the answer.", labels, registry=registry, buckets=SECONDS
        )
        self._rows = Counter("foldwise_rows", "Rows predicted.", labels, registry=registry)
        self._passes = Histogram("foldwise_pass_rows", "Rows per pass.", labels, registry=registry, buckets=ROWS)
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def count_request(self, model: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        found = self._children.get((model, status))
        if found is None:
            found = self._requests.labels(model, str(status)), self._seconds.labels(model)
            self._children[model, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def count_pass(self, model: str, n_rows: int) -> None:
        """Count a pass of a model."""
        self._rows.labels(model).inc(n_rows)
        self._passes.labels(model).observe(n_rows)

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self.registry)
