"""The scripts of others are those of their npm packages, unchanged, and their licenses are in the wheel."""

from __future__ import annotations

import hashlib
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

STATIC = files("foldwise.app.workbench").joinpath("static")
VENDORED = {  # by name, SHA-256
    "htmx.min.js": "71ea67185bfa8c98c39d31717c6fce5d852370fcdfd129db4543774d3145c0de",  # htmx.org 2.0.10, dist
    "htmx-sse.min.js": "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",  # htmx-ext-sse 2.2.4, dist
    "LICENSE-htmx.txt": "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
    "LICENSE-htmx-sse.txt": "a17d224ce9afdc21ec9491b76a2f5d036d19aa641ac4f85ca29c21f9f7e54fdf",
}


@pytest.mark.parametrize("name", VENDORED)
def test_vendored_files_are_unchanged(name: str) -> None:
    assert hashlib.sha256(STATIC.joinpath(name).read_bytes()).hexdigest() == VENDORED[name]


def test_licenses_are_in_the_wheel() -> None:
    root = Path(__file__).parents[3]
    with (root / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["project"]["license-files"]
    found = {path.name for pattern in patterns for path in root.glob(pattern)}
    assert {"LICENSE", "LICENSE-htmx.txt", "LICENSE-htmx-sse.txt"} <= found
