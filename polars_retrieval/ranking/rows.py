"""The rows that are ranked, and the rank of every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.grouping import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_retrieval.grouping import Grouping
    from polars_retrieval.names import Ties


@dataclass(frozen=True)
class Rows:
    """The retrieved rows: which query each is of, its score, its level of relevance and its document.

    Level 0 (or False) is no hit.
    """

    grouping: Grouping
    score: pl.Series
    level: pl.Series
    max_level: int = 1
    doc: pl.Series | None = None

    @property
    def is_hit(self) -> pl.Series:
        """Which rows are hits."""
        return self.level if self.level.dtype == pl.Boolean else self.level > 0

    def blocks(self, size: int) -> Iterator[tuple[int, Rows]]:
        """Cut rows that stand together by query into blocks of whole queries, of about ``size`` rows.

        Each comes with its first query, whose number in the block is 0.
        """
        offsets = self.grouping.offsets
        for first, end in cut(offsets, size):
            row, n_rows = int(offsets[first]), int(offsets[end] - offsets[first])
            yield (
                first,
                Rows(
                    self.grouping.part(first, end),
                    self.score.slice(row, n_rows),
                    self.level.slice(row, n_rows),
                    self.max_level,
                ),
            )

    def frame(self) -> pl.DataFrame:
        """Return the columns `query`, `score`, `level` and, if there are documents, `doc`."""
        return _frame(self.grouping.of_rows, self.score, self.level, self.doc)

    def of_queries(self, numbers: pl.Series) -> pl.DataFrame:
        """Return these columns for the rows of some queries."""
        asked = pl.repeat(value=False, n=self.grouping.n_numbers, eager=True).scatter(numbers, values=True)
        at = asked.gather(self.grouping.of_rows).arg_true()
        doc = None if self.doc is None else self.doc.gather(at)
        return _frame(self.grouping.of(at), self.score.gather(at), self.level.gather(at), doc)


def _frame(query: pl.Series, score: pl.Series, level: pl.Series, doc: pl.Series | None) -> pl.DataFrame:
    columns = [query.alias("query"), score.alias("score"), level.cast(pl.UInt32).alias("level")]
    return pl.DataFrame(columns if doc is None else [*columns, doc.alias("doc")])


def order_within(score: pl.Expr, level: pl.Expr, doc: pl.Expr, ties: Ties) -> tuple[list[pl.Expr], list[bool]]:
    """Return what a ranked list is sorted by, and which of those descend; equal ones stay in the order they came."""
    if ties == "doc_id":
        return [score, as_bytes(doc)], [True, True]
    if ties == "pessimistic":
        return [score, level], [True, False]
    if ties == "optimistic":
        return [score, level], [True, True]
    return [score], [True]


def as_bytes(doc: pl.Expr) -> pl.Expr:
    """Compare document ids as trec_eval does, as the bytes of their text: "d9" is above "d10", 9 above 10."""
    return doc.cast(pl.String)


def rank_rows(rows: pl.DataFrame, ties: Ties) -> pl.DataFrame:
    """Return `rank`, from 1, and `hits`, down to it, of each row of the frame of `Rows`."""
    by, descending = order_within(pl.col("score"), pl.col("level"), pl.col("doc"), ties)
    ranked = rows.with_row_index("row").sort("query", *by, descending=[False, *descending], maintain_order=True)
    place, hits = pl.int_range(pl.len(), dtype=pl.UInt32), (pl.col("level") > 0).cum_sum()
    return (
        ranked.select("row", rank=place - _at_start(place) + 1, hits=hits - _at_start(hits - (pl.col("level") > 0)))
        .sort("row")
        .drop("row")
    )


def _at_start(value: pl.Expr) -> pl.Expr:
    """Give each row the value in the first row of its query."""
    return pl.when(pl.col("query").ne_missing(pl.col("query").shift(1))).then(value).forward_fill()
