"""Time the peers in turns, after asserting that they give the same values."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from .by_hand import polars_sorted_once
from .values import check
from .workloads import build, first_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from .peers import Peer, Run
    from .workloads import Variant, Workload


@dataclass(frozen=True)
class Times:
    """Seconds of each repetition by peer, for one workload in one form."""

    workload: Workload
    variant: Variant
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def best(self, peer: str) -> float:
        """Return the least time: what a shared machine disturbed least."""
        return min(self.seconds[peer])

    def middle(self, peer: str) -> float:
        """Return the median time."""
        return median(self.seconds[peer])

    def ratio(self, peer: str, to: str = "ours") -> float:
        """Return how many times as long a peer took as another."""
        return self.best(peer) / self.best(to)


@dataclass(frozen=True)
class _Entry:
    """A peer, bound to the frame that it is given and the factor to all queries."""

    peer: Peer
    run: Run
    frame: pl.DataFrame
    factor: float

    def seconds(self) -> float:
        start = time.perf_counter()
        self.run(self.frame)
        return (time.perf_counter() - start) * self.factor


def measure(workload: Workload, variant: Variant, peers: Sequence[Peer], *, repeat: int, slow_queries: int) -> Times:
    """Check every peer once, which also warms it, then let them take turns.

    torchmetrics gets the first ``slow_queries`` queries only, and its time is scaled up to all of them.
    """
    frame = build(workload, variant)
    entries = list(_entries(frame, workload, variant, peers, slow_queries))
    for entry in entries:
        _check(entry)
    times = Times(workload, variant, {entry.peer.name: [] for entry in entries})
    for turn in range(repeat):
        for entry in entries[turn % len(entries) :] + entries[: turn % len(entries)]:
            times.seconds[entry.peer.name].append(entry.seconds())
    return times


def _entries(
    frame: pl.DataFrame, workload: Workload, variant: Variant, peers: Sequence[Peer], slow_queries: int
) -> Iterator[_Entry]:
    for peer in peers:
        run = peer.choose(workload, variant)
        if run is None:
            continue
        if peer.slow and workload.queries > slow_queries:
            sample = first_queries(frame, slow_queries)
            yield _Entry(peer, run, sample, workload.queries / slow_queries)
        else:
            yield _Entry(peer, run, frame, 1)


def _check(entry: _Entry) -> None:
    lowest, highest = (
        polars_sorted_once(entry.frame, relevant_first=relevant_first) for relevant_first in (False, True)
    )
    frame = entry.frame if entry.peer.for_check is None else entry.peer.for_check(entry.frame)
    values = entry.run(frame)
    check(entry.peer.name, values, lowest, highest, entry.peer.tolerance)
