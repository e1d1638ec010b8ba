"""What ``import polars_retrieval`` costs more than ``import polars``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CODE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def extra_seconds(runs: int) -> list[float]:
    """Return the difference in each of ``runs`` pairs of fresh processes."""
    _seconds("polars_retrieval")  # the first writes the compiled files, and fills the disk cache
    return [_seconds("polars_retrieval") - _seconds("polars") for _ in range(runs)]


def _seconds(module: str) -> float:
    command = [sys.executable, "-c", CODE.format(module)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: S603 ours
    return float(done.stdout)
