"""`foldwise serve`: open models, check where to listen, and answer requests until Ctrl-C or SIGTERM."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foldwise.app.cli.exit_codes import say
from foldwise.app.run_folder import check_exists
from foldwise.app.web.address import INSECURE, check_extra, server_address
from foldwise.app.web.tokens import read_token
from foldwise.errors import InputError

MOST_CONNECTIONS = 2_000


@dataclass(frozen=True)
class ServeRequest:
    """The options of the command."""

    runs: Sequence[Path]
    host: str | None
    port: int
    token_file: Path | None
    cert: Path | None
    key: Path | None
    insecure: bool
    allowed_hosts: Sequence[str]
    max_bytes: int
    max_rows: int
    timeout: int  # seconds


def run_serve(request: ServeRequest, *, quiet: bool) -> None:
    """Serve predictions until the process is told to stop."""
    check_extra()
    for run in request.runs:
        check_exists(run)
    limits = {"--max-bytes": request.max_bytes, "--max-rows": request.max_rows, "--timeout": request.timeout}
    for option, value in limits.items():
        if value < 1:
            raise InputError(f"{option} must be at least 1, got {value}.")
    token = read_token(request.token_file)
    address = server_address(
        request.host,
        request.port,
        token=token,
        cert=request.cert,
        key=request.key,
        insecure=request.insecure,
        names=request.allowed_hosts,
    )
    # a pass is small, and other threads would only take cores from the requests; set before libraries are loaded
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from foldwise.app.serving.prediction_app import PredictionApp, ServingLimits
    from foldwise.app.serving.served_model import open_served
    from foldwise.app.web.middleware import protected
    from foldwise.app.web.running import run_server

    allowed = ServingLimits(request.max_bytes, request.max_rows, request.timeout)
    models = open_served(request.runs)
    logging.basicConfig(level=logging.WARNING, format="foldwise: %(message)s", stream=sys.stderr)
    if request.host is not None and not address.is_encrypted:
        say(INSECURE)

    def tell(url: str) -> None:
        if not quiet:
            for name in models:
                print(f"{name}: {url}/models/{name}/predict")
            print(f"Description, and a form to try it: {url}/  Stop with Ctrl-C.", flush=True)

    app = protected(
        PredictionApp(models, allowed, token=token is not None), address.allowed_hosts, allowed.n_bytes, token=token
    )
    run_server(app, address, tell, limit_concurrency=MOST_CONNECTIONS)
