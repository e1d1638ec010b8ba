"""Rows in, hits out: the only place that sorts."""

from polars_retrieval.ranking.hits import best_places, ideal_hits, rank_hits, with_group_rows
from polars_retrieval.ranking.levels import Levels, find_levels, is_relevant
from polars_retrieval.ranking.rows import Rows, rank_rows
from polars_retrieval.ranking.within import best_first, in_order, rank_in_group, tie_bounds

__all__ = [
    "Levels",
    "Rows",
    "best_first",
    "best_places",
    "find_levels",
    "ideal_hits",
    "in_order",
    "is_relevant",
    "rank_hits",
    "rank_in_group",
    "rank_rows",
    "tie_bounds",
    "with_group_rows",
]
