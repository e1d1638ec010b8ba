"""What ``import polars_retrieval`` costs beyond ``import polars``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# One after the other in one process: the difference of two processes is mostly the noise of importing polars.
CODE = """\
import time, polars
start = time.perf_counter()
import polars_retrieval
print(time.perf_counter() - start)
"""


def extra_seconds(runs: int) -> list[float]:
    """Return what our import adds to that of polars, in each of ``runs`` fresh processes."""
    _seconds()  # writes the compiled files, and fills the disk cache
    return [_seconds() for _ in range(runs)]


def _seconds() -> float:
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603 our own
    return float(done.stdout)
