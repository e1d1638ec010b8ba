"""What ``import polars_retrieval`` costs beyond ``import polars``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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
    with tempfile.TemporaryDirectory() as bytecode:
        _seconds(bytecode)  # compiles, as an installation does
        return [_seconds(bytecode) for _ in range(runs)]


def _seconds(bytecode: str) -> float:
    command = [sys.executable, "-X", f"pycache_prefix={bytecode}", "-c", CODE]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)  # noqa: S603 our own
    return float(done.stdout)
