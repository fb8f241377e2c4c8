"""Tokens: where a secret comes from, and how it is compared."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
from pathlib import Path

from foldwise.errors import InputError

VARIABLE = "FOLDWISE_TOKEN"
SHORTEST = 16


def new_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


def same_token(given: str | bytes, expected: str | bytes) -> bool:
    """Compare two tokens in a time that does not tell how much of them is equal.

    >>> same_token("a" * 16, b"a" * 16), same_token("a" * 15, "a" * 16)
    (True, False)
    """
    first, second = (one.encode() if isinstance(one, str) else one for one in (given, expected))
    return hmac.compare_digest(first, second)


def read_token(path: Path | None) -> str | None:
    """Read a token from a file, or else from the environment. None if there is neither.

    It is not an option of the command line, because other users can see the arguments of a process.
    """
    if path is None:
        found, where = os.environ.get(VARIABLE), f"the environment variable {VARIABLE}"
    else:
        where = f"the file {str(path)!r}"
        try:
            found = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--token-file {str(path)!r} cannot be read.", "pass a text file.") from error
    if found is None:
        return None
    token = found.strip()
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(
            f"a token must have at least {SHORTEST} printable ASCII characters and no spaces, but the token in {where} "
            "does not.",
            "make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'.",
        )
    return token


def sent_token(authorization: bytes) -> bytes:
    """Return the token of an Authorization header; empty if there is none.

    Programs send `Bearer TOKEN`. Browsers ask for a password and send it as `Basic`; any user name is accepted.

    >>> sent_token(b"Bearer abc"), sent_token(b"Basic " + base64.b64encode(b"me:abc")), sent_token(b"abc")
    (b'abc', b'abc', b'')
    """
    scheme, _, rest = authorization.strip().partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""
