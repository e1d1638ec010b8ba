"""Rows in, hits out: the only place that sorts."""

from polars_retrieval.ranking.hits import rank_hits
from polars_retrieval.ranking.rows import Rows, order_within, rank_rows

__all__ = ["Rows", "order_within", "rank_hits", "rank_rows"]
