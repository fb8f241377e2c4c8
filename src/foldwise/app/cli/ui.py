"""`foldwise ui`: the command with its options. It shows a folder in the browser."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from foldwise.app.cli.exit_codes import guarded, say
from foldwise.app.cli.shared_options import INTEGER, Certificate, Port, PrivateKey
from foldwise.errors import InputError


@guarded
def workbench(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with tables and runs.")] = Path("."),
    port: Port = 8765,
    host: Annotated[
        str | None,
        typer.Option(
            help="Listen on this address, so that other computers can connect. Needs --cert and --key. "
            "Default: this computer only."
        ),
    ] = None,
    cert: Certificate = None,
    key: PrivateKey = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Allow --host without a certificate. Others on the network can read all data."),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<str>",
            help="Name under which browsers reach the workbench, such as that of a proxy. May be repeated.",
        ),
    ] = None,
    max_bytes: Annotated[
        int, typer.Option(**INTEGER, help="Size limit for an uploaded file, in bytes.")
    ] = 2_000_000_000,
) -> None:
    """Open the workbench, a web page for the runs of a folder.

    The page shows the tables and runs of FOLDER, starts new runs, and shows their results. The link that is printed
    works once. Every run is a process of its own and continues when the tab is closed or the workbench is stopped.
    Needs pip install 'foldwise[web]'.
    """
    from foldwise.app.web.address import INSECURE, check_extra, server_address
    from foldwise.app.web.tokens import new_token

    if not folder.is_dir():
        raise InputError(f"FOLDER must be an existing folder, got {str(folder)!r}.", "create it, or check the path.")
    # the workbench always has a token: a link that works once
    address = server_address(
        host, port, token=new_token(), cert=cert, key=key, insecure=insecure, names=allowed_host or ()
    )
    check_extra()
    if host is not None and cert is None:
        say(INSECURE)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    from foldwise.app.workbench.server import serve_workbench

    serve_workbench(folder, address, max_bytes)
