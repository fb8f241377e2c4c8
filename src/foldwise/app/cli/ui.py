"""`foldwise ui`: the command with its options. It shows a folder in the browser."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from foldwise.app.cli.exit_codes import guarded, say
from foldwise.app.cli.shared_options import INTEGER
from foldwise.errors import InputError


@guarded
def workbench(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with tables and runs.")] = Path("."),
    port: Annotated[int, typer.Option(**INTEGER, help="Port to listen on, or 0 for any free port.")] = 8765,
    host: Annotated[
        str | None,
        typer.Option(help="Network interface to listen on. Default: only this computer can connect. Needs --cert."),
    ] = None,
    cert: Annotated[Path | None, typer.Option(help="Certificate as a PEM file. Needs --key.")] = None,
    key: Annotated[Path | None, typer.Option(help="Private key of the certificate as a PEM file.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow --host without --cert. Others on the network can read everything.")
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Name under which browsers reach the workbench, such as that of a proxy. May be repeated."),
    ] = None,
    max_bytes: Annotated[int, typer.Option(**INTEGER, help="Size limit for an uploaded file.")] = 2_000_000_000,
) -> None:
    """Open the workbench, a web page for the tables and runs of a folder.

    The link that is printed works once. Runs are processes of their own. They continue when the tab is closed or the
    workbench is stopped.
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
