"""Prints the lowest version that pyproject.toml allows for each dependency, as constraints for pip.

python tests/lowest.py > constraints.txt; `make test-lowest` runs the tests in an environment made from them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

FLOOR = re.compile(r"([A-Za-z0-9_-]+)>=([0-9.]+)")


def floors(text: str) -> dict[str, str]:
    """The lowest version of each dependency that has one; extras included."""
    project = tomllib.loads(text)["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    found: dict[str, str] = {}
    for name, version in (match.groups() for match in map(FLOOR.fullmatch, lines) if match):
        assert found.setdefault(name, version) == version, f"pyproject.toml has two lowest versions of {name}"
    return found


if __name__ == "__main__":
    for name, version in sorted(floors((Path(__file__).parents[1] / "pyproject.toml").read_text()).items()):
        print(f"{name}=={version}")
