"""From retrieved rows to hits: where in its query's ranked list each document of a level above 0 stands.

The hits of a ranking are a frame, one row a hit, by query and then from the best rank down:

    query  UInt32  number of the query
    level  UInt32  level of relevance, at least 1
    above  UInt32  documents ranked before the hit's tie group
    tied   UInt32  documents in the tie group
    start  UInt32  row of the first hit of the tie group
    end    UInt32  row after the last hit of the tie group
    first  UInt32  row of the first hit of the query

A tie group is even when all its documents are hits of one level: its order changes nothing, so each of its hits
stands as a group of its own. `tied` above 1 marks a group where the rule for ties matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.ranking.counting import count_hits, worth_counting
from polars_retrieval.ranking.rows import Rows
from polars_retrieval.ranking.scores import comparable
from polars_retrieval.ranking.ties import break_ties

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from polars_retrieval.names import Ties


def rank_hits(rows: Rows, ties: Ties) -> tuple[pl.DataFrame, pl.Series]:
    """Rank the documents within each query; return the hits and how many documents each query retrieved."""
    # With it comes NumPy, which importing the package does not load.
    from polars_retrieval.ranking.sorting import sort_hits

    rows = Rows(rows.grouping, comparable(rows.score), rows.level, rows.max_level, rows.doc)
    find_hits = count_hits if worth_counting(rows) else sort_hits
    hits, n_retrieved = find_hits(rows)
    return break_ties(hits, rows, ties), n_retrieved


def with_group_rows(hits: pl.DataFrame, n_queries: int) -> pl.LazyFrame:
    """Add `start`, `end` and `first`; lazily, so that columns which nobody reads cost nothing."""
    import numpy as np

    per_query = np.bincount(hits["query"].to_numpy(), minlength=n_queries)
    first = pl.Series((np.cumsum(per_query) - per_query).astype(np.uint32))
    # The hits of a group come first in its places, so a hit's distance from the group's start counts those before it.
    row = pl.int_range(pl.len(), dtype=pl.UInt32)
    start = row - (pl.col("place") - pl.col("above"))
    lazy = hits.lazy().with_columns(start=start, first=pl.lit(first).gather(pl.col("query")))
    in_group = pl.len().over("start") if (hits["tied"] > 1).any() else pl.lit(1)
    return lazy.with_columns(end=(pl.col("start") + in_group).cast(pl.UInt32)).drop("place")


def ideal_hits(queries: pl.Series, levels: pl.Series) -> pl.DataFrame:
    """Rank documents by their level, from a frame: see `best_places`."""
    best = best_places(queries.to_numpy(), levels.to_numpy())
    return pl.DataFrame(dict(best)).cast(pl.UInt32)


def best_places(queries: NDArray[Any], levels: NDArray[Any]) -> Mapping[str, NDArray[np.int64]]:
    """Rank documents by their level: one row for each level of a query, whose documents are tied.

    Returns the columns `query`, `level`, `above` and `tied`, as of hits.
    """
    import numpy as np

    n_levels = int(levels.max(initial=0)) + 1
    code = queries.astype(np.int64) * n_levels + (n_levels - 1 - levels.astype(np.int64))
    codes, tied = np.unique(code, return_counts=True)
    query, before = codes // n_levels, np.cumsum(tied) - tied
    above = before - before[np.searchsorted(query, query)]
    return {"query": query, "level": n_levels - 1 - codes % n_levels, "above": above, "tied": tied}
