"""Who is measured: ways from a frame in memory to the same values, and which of them take which frame.

A frame has ``query_id``, ``score`` and ``relevance`` (0 or 1). The values are precision@10, recall@10,
recall@100, R-precision and the mean precision-recall curve to 100, all together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import polars as pl

import polars_retrieval as pr

from .by_hand import polars_by_hand, polars_sorted_once
from .dense_torch import torch_one_by_one, torch_shared
from .limit import KERNEL, numba_grouped, numba_shuffled
from .modules import positive_scores, torchmetrics_modules
from .values import MAX_K, Values

if TYPE_CHECKING:
    from .workloads import Variant, Workload

Run = Callable[[pl.DataFrame], Values]
EXACT = 1e-9
SINGLE = 1e-6  # what float32 arithmetic allows


@dataclass(frozen=True)
class Peer:
    """A way to the values.

    ``choose`` gives the function for a workload in one form, None where the peer takes none. ``for_check``
    changes a frame before its values are compared. A ``slow`` peer is given a part of the queries.
    """

    name: str
    title: str
    choose: Callable[[Workload, Variant], Run | None]
    tolerance: float
    modules: tuple[str, ...] = ()
    for_check: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    slow: bool = False

    def is_here(self) -> bool:
        """Whether what it needs is installed."""
        return all(find_spec(module) for module in self.modules) and (self.name != "numba" or KERNEL.exists())


MEASURES = ["precision@10", "recall@10", "recall@100", "r_precision"]


def ours(frame: pl.DataFrame) -> Values:
    """Rank once, and take the measures and the curve from it."""
    lists = pr.RankedLists(frame)
    return _ours(lists.evaluate(MEASURES), lists.pr_curve(max_k=MAX_K))


def ours_two_calls(frame: pl.DataFrame) -> Values:
    """Call the two functions, which rank once each."""
    return _ours(pr.evaluate(frame, MEASURES), pr.pr_curve(frame, max_k=MAX_K))


def _ours(means: pl.DataFrame, curve: pl.DataFrame) -> Values:
    return Values(means.row(0), curve["precision"].to_numpy(), curve["recall"].to_numpy())


def _always(run: Run) -> Callable[[Workload, Variant], Run]:
    return lambda _workload, _variant: run


def _equally_long(run: Callable[..., Values]) -> Callable[[Workload, Variant], Run | None]:
    """Rows must stand query by query, and the expert knows how many each query has."""
    return lambda workload, variant: None if variant.order == "shuffled" else partial(run, documents=workload.documents)


def _choose_torchmetrics(_workload: Workload, variant: Variant) -> Run | None:
    return torchmetrics_modules if variant.ids == "int64" else None


def _choose_numba(_workload: Workload, variant: Variant) -> Run | None:
    if variant.ids != "int64" or variant.scores != "float32":
        return None
    return numba_shuffled if variant.order == "shuffled" else numba_grouped


_ALL = (
    Peer("ours", "polars_retrieval: `RankedLists`, ranking once", _always(ours), EXACT),
    Peer("two-calls", "polars_retrieval: `evaluate` and `pr_curve`, ranking twice", _always(ours_two_calls), EXACT),
    Peer("polars", "Polars by hand: one `agg` of `sort_by().head()`", _always(polars_by_hand), EXACT),
    Peer("polars-once", "Polars by hand: each query sorted once", _always(polars_sorted_once), EXACT),
    Peer("torch", "torch tensor: five one by one", _equally_long(torch_one_by_one), SINGLE, ("torch",)),
    Peer("torch-shared", "torch tensor: one `topk`", _equally_long(torch_shared), SINGLE, ("torch",)),
    Peer(
        "torchmetrics",
        "torchmetrics: five modules",
        _choose_torchmetrics,
        SINGLE,
        ("torch", "torchmetrics"),
        for_check=positive_scores,
        slow=True,
    ),
    Peer("numba", "numba kernel: the limit", _choose_numba, EXACT, ("numba",)),
)
PEERS = {peer.name: peer for peer in _ALL}
