"""The note that all kernels are compiled for this machine, beside numba's own files.

It names what compiled code depends on. Where anything of it has changed, or the note is gone, kernels are called once
more (`compiling`), which takes a second if numba has them all, and half a minute if it has none.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

NAME = "foldwise-compiled.txt"


def folder() -> Path:
    """The folder in which numba keeps our kernels."""
    from foldwise.summaries.code_kernels import counts_by_column

    return Path(str(counts_by_column.stats.cache_path))


def state() -> str:
    """What the compiled code depends on: the sources, and the versions that compile them for this CPU."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]
    import numba
    import numpy as np

    package = Path(__file__).parents[2]
    sources = [(str(one.relative_to(package)), one.stat()) for one in sorted(package.rglob("*.py"))]
    marks = [f"{name} {found.st_size} {found.st_mtime_ns}" for name, found in sources]
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    marks += [platform.python_version(), numba.__version__, str(llvm.llvm_version_info), np.__version__, cpu]
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()


def is_compiled() -> bool:
    """Whether the note is there and true."""
    try:
        return (folder() / NAME).read_text() == state()
    except OSError:
        return False


def note_compiled(since: str) -> None:
    """Write the note, if nothing has changed since compiling began. A folder that cannot be written has none."""
    try:
        if state() == since:
            file = folder() / f"{NAME}-{os.getpid()}"
            file.write_text(since)
            os.replace(file, folder() / NAME)
    except OSError:
        return
