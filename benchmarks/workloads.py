"""The seeded runs that everything is measured on, in every order, score type and id type."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

SEED = 20240229

# How many queries have one, two, three, four relevant documents; 6,980 queries then have about 7,430, as the
# small development set of MS MARCO has.
FEW_RELEVANT = {1: 0.944, 2: 0.048, 3: 0.007, 4: 0.001}


@dataclass(frozen=True)
class Workload:
    """Queries with equally many documents; ``relevant`` is their share, None for one or a few a query."""

    name: str
    queries: int
    documents: int
    relevant: float | None

    def scaled(self, scale: float) -> Workload:
        """Return the same workload with fewer queries."""
        return Workload(self.name, max(1, round(self.queries * scale)), self.documents, self.relevant)

    def describe(self) -> str:
        """Say what it holds, for the report."""
        share = "one or a few" if self.relevant is None else f"{self.relevant:.0%}"
        return f"{self.queries:,} queries x {self.documents:,} documents, {share} relevant"


@dataclass(frozen=True)
class Variant:
    """The form in which a workload comes."""

    order: str
    scores: str
    ids: str

    def __str__(self) -> str:
        return f"{self.order}-{self.scores}-{self.ids}"


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("A", 6_980, 1_000, None),
        Workload("B", 100_000, 100, 0.1),
        Workload("C", 1_000_000, 10, 0.1),
        Workload("D", 1_000, 10_000, 0.1),
    )
}
VARIANTS = [
    Variant(order, scores, ids)
    for scores, ids, order in product(("float32", "float64"), ("int64", "string"), ("grouped", "shuffled", "ranked"))
]


def matching(patterns: Sequence[str]) -> list[Variant]:
    """Return the variants whose name matches one of the patterns, such as ``shuffled-*``."""
    return [variant for variant in VARIANTS if any(fnmatch(str(variant), pattern) for pattern in patterns)]


def build(workload: Workload, variant: Variant) -> pl.DataFrame:
    """Build the frame: the same scores and relevant documents in every order and id type."""
    rng = np.random.default_rng([SEED, ord(workload.name)])
    relevance = _relevance(workload, rng)
    scores = rng.standard_normal((workload.queries, workload.documents)).astype(variant.scores)
    rows = _row_order(scores, variant.order, rng)
    codes = np.repeat(np.arange(workload.queries), workload.documents)
    # From arrays, so that no column carries a mark of being sorted, which a frame from a file has not either.
    frame = pl.DataFrame({"query_id": codes[rows], "score": scores.ravel()[rows], "relevance": relevance.ravel()[rows]})
    return frame if variant.ids == "int64" else frame.with_columns(query_id=pl.format("q{}", "query_id"))


def first_queries(frame: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return the rows of the first ``count`` queries."""
    ids = frame.select(pl.col("query_id").unique(maintain_order=True).head(count))
    return frame.join(ids, on="query_id", how="semi", maintain_order="left")


def _relevance(workload: Workload, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    shape = (workload.queries, workload.documents)
    if workload.relevant is not None:
        return (rng.random(shape) < workload.relevant).astype(np.uint8)
    most = max(FEW_RELEVANT)
    counts = rng.choice(list(FEW_RELEVANT), workload.queries, p=list(FEW_RELEVANT.values()))
    # A document drawn twice counts once, so a few queries have one fewer.
    query, place = np.nonzero(np.arange(most) < counts[:, None])
    relevance = np.zeros(shape, np.uint8)
    relevance[query, rng.integers(workload.documents, size=(workload.queries, most))[query, place]] = 1
    return relevance


def _row_order(scores: npt.NDArray[np.floating], order: str, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    if order == "shuffled":
        return rng.permutation(scores.size)
    if order == "ranked":
        start = np.arange(0, scores.size, scores.shape[1])[:, None]
        return (start + np.argsort(-scores, axis=1)).ravel()
    return np.arange(scores.size)
