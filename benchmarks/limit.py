"""A numba kernel over contiguous arrays: about as fast as the machine allows."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .values import Values

if TYPE_CHECKING:
    import polars as pl

KERNEL = Path(__file__).resolve().parents[2] / "shared" / "bench" / "numba_limit.py"


def numba_grouped(frame: pl.DataFrame) -> Values:
    """Run the kernel over contiguous arrays, finding where the queries start."""
    query, score, relevance = _arrays(frame)
    return _values(_kernel().boundaries(query), score, relevance)


def numba_shuffled(frame: pl.DataFrame) -> Values:
    """Partition by query, then run the kernel; it is told that the ids are the codes 0 ... n - 1."""
    query, score, relevance = _arrays(frame)
    return _values(*_kernel().partition(query, score, relevance, int(query.max()) + 1, threads=_cores()))


def _arrays(frame: pl.DataFrame) -> list[Any]:
    return [frame[name].to_numpy() for name in ("query_id", "score", "relevance")]


def _values(offsets: Any, score: Any, relevance: Any) -> Values:
    found = _kernel().compute(offsets, score, relevance, "brief4", threads=_cores())
    precision, recall = found["pr_curve@100"]
    means = found["precision@10"], found["recall@10"], recall[-1], found["r_precision"]
    return Values(means, precision, recall)


@cache
def _kernel() -> Any:
    """Import the kernel, and write nothing beside it: neither bytecode nor what numba compiles."""
    os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "polars-retrieval-numba"))
    sys.path.insert(0, str(KERNEL.parent))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return import_module(KERNEL.stem)
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(KERNEL.parent))


def _cores() -> int:
    return len(os.sched_getaffinity(0))
