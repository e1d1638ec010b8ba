"""From retrieved rows to hits: where in its query's ranked list each relevant document stands.

The hits of a ranking are a frame, one row a hit, by query and then from the best rank down:

    query       UInt32  number of the query
    level       UInt32  level of relevance, at least 1
    above       UInt32  documents ranked before the hit's tie group
    tied        UInt32  documents in the tie group
    hits_above  UInt32  hits ranked before the tie group
    tied_hits   UInt32  hits in the tie group

A tie group is even when all its documents are hits of one level: its order changes nothing, so each of its hits
stands as a group of its own. `tied` above 1 marks a group where the rule for ties matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.ranking.counting import count_hits, worth_counting
from polars_retrieval.ranking.keys import comparable
from polars_retrieval.ranking.rows import Rows
from polars_retrieval.ranking.sorting import sort_hits
from polars_retrieval.ranking.ties import break_ties

if TYPE_CHECKING:
    from polars_retrieval.names import Ties


def rank_hits(rows: Rows, ties: Ties) -> tuple[pl.LazyFrame, pl.Series]:
    """Rank the documents within each query; return the hits and how many documents each query retrieved.

    The hits are lazy, so that columns which nobody reads cost nothing.
    """
    rows = Rows(rows.grouping, comparable(rows.score), rows.level, rows.max_level, rows.doc)
    find_hits = count_hits if worth_counting(rows) else sort_hits
    hits, n_retrieved = find_hits(rows)
    return _with_hits_above(break_ties(hits, rows, ties)), n_retrieved


def _with_hits_above(hits: pl.DataFrame) -> pl.LazyFrame:
    """Add how many hits stand before each tie group and in it."""
    before = pl.int_range(pl.len(), dtype=pl.UInt32)
    first = pl.when(pl.col("query").ne_missing(pl.col("query").shift(1))).then(before).forward_fill()
    # The hits of a group come first in its places, so a hit's distance from the group's start counts those before it.
    hits_above = before - first - (pl.col("place") - pl.col("above"))
    tied_hits = pl.len().over("query", "above") if (hits["tied"] > 1).any() else pl.lit(1)
    lazy = hits.lazy().with_columns(hits_above=hits_above, tied_hits=tied_hits.cast(pl.UInt32))
    return lazy.select("query", "level", "above", "tied", "hits_above", "tied_hits")
