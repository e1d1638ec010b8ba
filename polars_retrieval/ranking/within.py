"""Ranking as expressions, within the groups of the caller's own `group_by` or `over`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.ranking.rows import order_within

if TYPE_CHECKING:
    from polars_retrieval.names import Ties


def in_order(column: pl.Expr, score: pl.Expr, level: pl.Expr, doc: pl.Expr, ties: Ties) -> pl.Expr:
    """Sort a column by rank; of tied documents whose order is open, the most relevant come first."""
    by, descending = order_within(score, level, doc, "optimistic" if ties == "expected" else ties)
    falling = [key if falls else -key for key, falls in zip(by, descending, strict=True)]
    # As one key: Polars 2.0 fails to sort by several where a group has no rows left.
    key = falling[0] if len(falling) == 1 else pl.struct([key.alias(str(i)) for i, key in enumerate(falling)])
    return column.sort_by(key, descending=True, maintain_order=True)


def best_first(grade: pl.Expr) -> pl.Expr:
    """Sort grades from the highest."""
    return grade.sort(descending=True)


def rank_in_group(score: pl.Expr, level: pl.Expr, doc: pl.Expr, ties: Ties) -> pl.Expr:
    """Give each row its rank, from 1; null where the score is null."""
    by, descending = order_within(score, level, doc, ties)
    rows = pl.int_range(score.len()).sort_by(by, descending=descending, nulls_last=True, maintain_order=True)
    return pl.when(score.is_not_null()).then((rows.arg_sort() + 1).cast(pl.UInt32))


def tie_bounds(scores_in_order: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Give, for each place, how many documents stand above its tie group, and how many down to the group's end."""
    above = scores_in_order.rank("min", descending=True).cast(pl.Int64) - 1
    return above, scores_in_order.rank("max", descending=True).cast(pl.Int64)
