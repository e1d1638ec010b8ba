"""What each rule makes of equal scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.ranking.rows import Rows, rank_rows

if TYPE_CHECKING:
    from polars_retrieval.names import Ties


def break_ties(hits: pl.DataFrame, rows: Rows, ties: Ties) -> pl.DataFrame:
    """Put each hit of an uneven tie group in its place; under `expected` the groups stay as they are."""
    if ties == "expected" or not (hits["tied"] > 1).any():
        return hits
    if ties == "optimistic":  # `place` has the most relevant first already
        return _alone(hits)
    if ties == "pessimistic":
        mirrored = 2 * pl.col("above") + pl.col("tied") - 1 - pl.col("place")
        return _alone(hits.with_columns(place=mirrored).sort("query", "place"))
    return _alone(_look_up(hits, rows, ties))


def _alone(hits: pl.DataFrame) -> pl.DataFrame:
    return hits.with_columns(above="place", tied=pl.lit(1, dtype=pl.UInt32))


def _look_up(hits: pl.DataFrame, rows: Rows, ties: Ties) -> pl.DataFrame:
    """Rank again, row by row, the queries with uneven tie groups."""
    concerned = hits.filter(pl.col("tied") > 1).select("query").unique()
    ranked = rows.of_queries(concerned.to_series())
    ranked = ranked.with_columns(place=rank_rows(ranked, ties)["rank"] - 1).filter(pl.col("level") > 0)
    found = ranked.select("query", "level", "place")
    others = hits.join(concerned, on="query", how="anti", maintain_order="left").select(found.columns)
    return pl.concat([others, found]).sort("query", "place")
