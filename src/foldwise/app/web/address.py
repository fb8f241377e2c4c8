"""Where a server listens: this computer only, unless a host, a token and a certificate are given."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from foldwise.errors import InputError

LOCAL = "127.0.0.1"
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
PACKAGES = (
    "starlette",
    "uvicorn",
    "httptools",
    "jinja2",
    "python_multipart",
    "prometheus_client",
)  # of the extra `web`


def check_extra() -> None:
    """Raise if the extra `web` is not installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(
            f"a web server needs the package {missing[0]!r}, which is not installed.",
            "run pip install 'foldwise[web]'.",
        )


@dataclass(frozen=True)
class ServerAddress:
    """Where a server listens, and how it may be reached. Use `server_address`, which checks the options.

    Parameters
    ----------
    host : str
        Name or address of the network interface.
    port : int
        The port; 0 means that any free port is taken.
    cert, key : path, optional
        Certificate and private key, as PEM files.
    names : tuple of str
        Other host names under which clients may reach the server.
    """

    host: str = LOCAL
    port: int = 0
    cert: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def is_encrypted(self) -> bool:
        """Whether the server speaks HTTPS."""
        return self.cert is not None

    @property
    def is_local(self) -> bool:
        """Whether only this computer can connect."""
        return is_loopback(self.host)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names that a Host header may have, without the port.

        A page on the internet can let its own name point to this computer. Its requests still carry its name.
        """
        own: tuple[str, ...] = () if self.is_local else (socket.gethostname(), socket.getfqdn())
        named = () if is_any(self.host) else (bracketed(self.host),)
        return frozenset(name.lower() for name in (*LOCAL_NAMES, *own, *named, *map(bracketed, self.names)))

    def url(self, port: int) -> str:
        """The URL to print; the port is the one that the server got."""
        host = socket.gethostname() if is_any(self.host) else bracketed(self.host)
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{port}"


def server_address(
    host: str | None,
    port: int,
    *,
    token: str | None,
    cert: Path | None = None,
    key: Path | None = None,
    insecure: bool = False,
    names: Sequence[str] = (),
) -> ServerAddress:
    """Check where a server may listen.

    Without a host, only this computer can connect. A host needs a token and a certificate. `insecure` replaces the
    certificate; the caller then prints `INSECURE`.

    >>> server_address(None, 8000, token=None).host
    '127.0.0.1'
    """
    if not 0 <= port <= 65535:
        raise InputError(f"--port must be a number from 0 to 65535, got {port}.")
    if (cert is None) != (key is None):
        raise InputError("--cert and --key belong together, but only one was given.", "pass both PEM files.")
    if host is not None and token is None:
        raise InputError(
            "--host needs a token, because other computers can connect.",
            "put a secret of at least 16 characters into a file and pass --token-file, or leave --host out.",
        )
    if host is not None and cert is None and not insecure:
        raise InputError(
            "--host needs --cert and --key, because without them others on the network could read all data.",
            "pass a certificate, or --insecure if a proxy in front of the server encrypts the connection.",
        )
    if cert is not None and key is not None:
        check_certificate(cert, key)
    return ServerAddress(LOCAL if host is None else host, port, cert, key, tuple(names))


INSECURE = (
    "warning: --insecure sends the token and all rows unencrypted. Others on the network can read them. Use it only "
    "behind a proxy that encrypts."
)


def check_certificate(cert: Path, key: Path) -> None:
    """Raise if a certificate cannot be used with its key."""
    for option, path in (("--cert", cert), ("--key", key)):
        if not path.is_file():
            raise InputError(f"{option} must be a PEM file, but {str(path)!r} does not exist.", "check the path.")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(cert, key)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"the certificate {str(cert)!r} cannot be used with the key {str(key)!r}: {reason}.",
            "pass a certificate and its key, both in PEM format and without a passphrase.",
        ) from error


def listening_socket(address: ServerAddress) -> socket.socket:
    """Open the socket, so that a port in use is known before anything else happens."""
    try:
        family, kind, protocol, _, address_and_port = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"--host must be an address of this computer, got {address.host!r} ({reason}).",
            "pass 0.0.0.0 to listen on all network interfaces.",
        ) from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address_and_port)
    except OSError as error:
        found.close()
        why = (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot listen on {address.host} port {address.port}: {why}.", "choose another --port."
        ) from error
    return found


def is_loopback(host: str) -> bool:
    """Whether a host is reachable from this computer only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_any(host: str) -> bool:
    """Whether a host means all network interfaces."""
    return host in ("", "0.0.0.0", "::", "[::]")


def bracketed(host: str) -> str:
    """Return a host as it is written in URLs and Host headers: IPv6 addresses in brackets.

    >>> bracketed("::1"), bracketed("example.org")
    ('[::1]', 'example.org')
    """
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
