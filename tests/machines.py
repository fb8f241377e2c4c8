"""Runs the tests as other machines would: other BLAS kernels, vector widths and thread counts, a plain CPU for numba.

python -m tests.machines [machine ...] [-- arguments of pytest]; without names, every machine, one after the other.
Numbers may differ there in their last bits, so a test that compares bits where the law promises a tolerance fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

# what a machine computes with, as a process with its environment sees it; equal lines mean equal machines
PROBE = """
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")  # as tests/conftest.py does
import numpy as np, scipy.linalg, threadpoolctl
from numba.core import config
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
blas = [d for d in threadpoolctl.threadpool_info() if d["user_api"] == "blas"]
kernels = " and ".join(sorted({f"{d['architecture']} x {d['num_threads']}" for d in blas}))
vectors = " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name]) or "no dispatched features"
print(f"OpenBLAS {kernels}; numpy {vectors}; numba {config.CPU_NAME or 'host'}")
"""
FEATURES = """
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(*(name for name in __cpu_dispatch__ if __cpu_features__[name]))
"""


def output(code: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def machines() -> dict[str, dict[str, str]]:
    """The environment of each machine that this CPU can play."""
    dispatched = output(
        FEATURES, {}
    ).split()  # only these can be switched off, whatever the version of numpy calls them
    avx512 = [name for name in dispatched if name.startswith(("X86_V4", "AVX512"))]
    avx2 = [name for name in dispatched if name in ("X86_V3", "AVX2", "FMA3")]
    found = {
        "haswell": {"OPENBLAS_CORETYPE": "Haswell"},
        "zen": {"OPENBLAS_CORETYPE": "Zen"},
        "sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge"},
        "nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
        "skylakex": {"OPENBLAS_CORETYPE": "SkylakeX"},
        "no-avx512": {"NPY_DISABLE_CPU_FEATURES": " ".join(avx512)},
        "no-avx2": {"NPY_DISABLE_CPU_FEATURES": " ".join(avx512 + avx2)},
        "one-thread": {"OPENBLAS_NUM_THREADS": "1"},
        "two-threads": {"OPENBLAS_NUM_THREADS": "2"},
        # compiled code of a CPU is kept by itself
        "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(ROOT / "build" / "numba-generic")},
    }
    if not avx512:  # SkylakeX kernels crash on such a CPU, and there is nothing to switch off
        del found["skylakex"], found["no-avx512"]
    if not avx2:
        del found["no-avx2"]
    return found


def main() -> int:
    known = machines()
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", nargs="*", default=[], help=f"some of: {', '.join(known)}")
    chosen = parser.parse_args(words[:end]).machine or list(known)
    if strange := [name for name in chosen if name not in known]:
        parser.error(f"this CPU cannot play {', '.join(strange)}; choose from {', '.join(known)}")
    arguments = words[end + 1 :] or ["-n", "auto", "--dist", "worksteal"]
    failed, seen = [], {}
    for name in chosen:
        machine = output(PROBE, known[name])
        if machine in seen:
            print(f"{name:12s} as {seen[machine]}: {machine}", flush=True)
            continue
        seen[machine] = name
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=ROOT,
            env=os.environ | known[name],
            capture_output=True,
            text=True,
        )
        minutes, seconds = divmod(round(time.monotonic() - start), 60)
        result = done.stdout.strip().splitlines()[-1].strip("= ") if done.stdout.strip() else done.stderr.strip()
        print(
            f"{name:12s} {minutes}:{seconds:02d} {'ok' if done.returncode == 0 else 'FAILED'}: {result} [{machine}]",
            flush=True,
        )
        if done.returncode:
            failed.append(name)
            print(done.stdout[-20_000:], done.stderr[-5_000:], sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
