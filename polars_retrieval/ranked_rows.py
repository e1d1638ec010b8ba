"""The rank of every row, and the hits down to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.columns import Columns, keep_rows, read_rows
from polars_retrieval.ranked_frame import is_retrieved
from polars_retrieval.ranking import Rows, is_relevant, rank_rows

if TYPE_CHECKING:
    from polars_retrieval.options import Options


def rank(frame: pl.DataFrame, columns: Columns, options: Options) -> pl.DataFrame:
    """Add the columns `rank` and `hits` to a frame."""
    frame = keep_rows(frame, columns, options)
    judged = read_rows(frame, columns, options)
    retrieved = is_retrieved(judged, options)
    level = is_relevant(judged.relevance, options.min_relevance)
    doc = judged.doc if options.ties == "doc_id" else None
    rows = Rows(judged.grouping, judged.score, level, doc=doc).frame().filter(retrieved)
    places = rank_rows(rows, options.ties)
    ranks = pl.repeat(None, frame.height, dtype=pl.UInt32, eager=True)
    at = retrieved.arg_true()
    return frame.with_columns(
        ranks.scatter(at, places["rank"]).alias("rank"),
        ranks.clone().scatter(at, places["hits"]).alias("hits"),
    )
