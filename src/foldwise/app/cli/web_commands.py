"""The commands that start a web server, with their help texts. `commands` registers them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foldwise.app.cli.exit_codes import guarded
from foldwise.app.cli.shared_options import INTEGER, Certificate, Port, PrivateKey, Quiet


@guarded
def serve(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Folders written by fit, refit or explore, or model files."),
    ],
    port: Port = 8000,
    host: Annotated[
        str | None,
        typer.Option(
            help="Listen on this address, so that other computers can connect. Needs a token, and --cert and --key. "
            "Default: this computer only."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the token that every request must carry. Default: the environment variable FOLDWISE_TOKEN, "
            "if it is set."
        ),
    ] = None,
    cert: Certificate = None,
    key: PrivateKey = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow --host without a certificate. The token is sent unencrypted.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<str>",
            help="Name under which clients reach the server, such as that of a proxy. May be repeated.",
        ),
    ] = None,
    max_bytes: Annotated[int, typer.Option(**INTEGER, help="Size limit for a request, in bytes.")] = 10_000_000,
    max_rows: Annotated[int, typer.Option(**INTEGER, help="Largest number of rows in a request.")] = 100_000,
    timeout: Annotated[int, typer.Option(**INTEGER, help="Time limit for a request, in seconds.")] = 30,
    quiet: Quiet = False,
) -> None:
    """Serve predictions over HTTP.

    Clients send rows as JSON or CSV and get the same columns as from foldwise predict. Requests that arrive together
    are predicted together. With several models, each has its own address. Ctrl-C or SIGTERM stops the server after open
    requests are finished. Needs pip install 'foldwise[web]'.
    """
    from foldwise.app.cli.serve import ServeRequest, run_serve

    secured = (token_file, cert, key, insecure, allowed_host or ())
    run_serve(ServeRequest(runs, host, port, *secured, max_bytes, max_rows, timeout), quiet=quiet)
