"""Rows in, hits out: the only place that sorts."""

from polars_retrieval.ranking.hits import rank_hits
from polars_retrieval.ranking.rows import Rows, rank_rows
from polars_retrieval.ranking.within import in_order, rank_in_group, tie_bounds

__all__ = ["Rows", "in_order", "rank_hits", "rank_in_group", "rank_rows", "tie_bounds"]
