"""The stored list of tags: each with the parameters of its class, which say what it means.

`python -m tests.storage.tags` writes the list again. Until the first release that is allowed; after it, only new tags
may be added, and a class that changes its fields needs code that reads the old ones.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

from foldwise.storage.tags import TAGS

STORED = Path(__file__).with_name("tags.json")


def class_of(tag):
    module, _, name = f"foldwise.{TAGS[tag]}".rpartition(".")
    return getattr(importlib.import_module(module), name)


def meaning(tag):
    """The names a file may give values to: parameters of the constructor."""
    return sorted(set(inspect.signature(class_of(tag)).parameters))


def meanings():
    return {tag: meaning(tag) for tag in sorted(TAGS)}


if __name__ == "__main__":
    lines = ",\n".join(f"{json.dumps(tag)}: {json.dumps(names)}" for tag, names in meanings().items())
    STORED.write_text(f"{{\n{lines}\n}}\n")
