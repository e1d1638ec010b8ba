"""Work on as many threads as Polars has; NumPy lets them run side by side."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
R = TypeVar("R")


def in_threads(function: Callable[[T], R], several: Iterable[T]) -> list[R]:
    """Apply a function to each of several things; on this thread if there is one, as a thread costs more than it."""
    tasks = list(several)
    if len(tasks) < 2:  # noqa: PLR2004
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return list(pool.map(function, tasks))
