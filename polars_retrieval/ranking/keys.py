"""One integer per row that sorts like (query, score from the highest, relevance from the highest).

Sorting one integer column is several times faster than sorting a frame by several columns, and query, score
and relevance can be read back out of the sorted integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars.datatypes import DataTypeClass

_LARGEST_INT64 = 2**63 - 1


@dataclass(frozen=True)
class Key:
    """How the key column is made from `query`, `score` and `level`, and where each part lies in it.

    The low bits hold `max_level - level`, so that of tied documents the most relevant comes first.
    """

    expr: pl.Expr
    dtype: DataTypeClass
    score_bits: int
    level_bits: int
    max_level: int

    @property
    def level(self) -> pl.Expr:
        """The relevance level in a column named `key`."""
        return self.max_level - (pl.col("key") & (2**self.level_bits - 1)).cast(pl.Int32)

    @property
    def tie_group(self) -> pl.Expr:
        """Query and score, without the relevance, of a column named `key`."""
        return pl.col("key") // 2**self.level_bits

    @property
    def query(self) -> pl.Expr:
        """The query in a column named `key`."""
        return (pl.col("key") // 2 ** (self.score_bits + self.level_bits)).cast(pl.UInt32)


def comparable(scores: pl.Series) -> pl.Series:
    """Return scores as Float32, Float64 or Int64, whichever is narrowest and keeps every difference.

    Float64 scores that float32 holds exactly, as most models produce them, need half the bits. Integers and
    decimals beyond Int64 are replaced by their dense rank.
    """
    if scores.dtype == pl.Float64:
        narrow = scores.cast(pl.Float32)
        return narrow if (narrow.cast(pl.Float64) == scores).all() else scores
    if scores.dtype.is_float() or scores.dtype == pl.Null:
        return scores.cast(pl.Float32)
    if scores.dtype.is_integer():
        as_int64 = scores.cast(pl.Int64, strict=False)
        if as_int64.null_count() == scores.null_count():
            return as_int64
    return scores.rank("dense").cast(pl.Int64)


def make_key(scores: pl.Series, max_level: int, *, max_query: int = 0) -> Key:
    """Lay out the narrowest key for comparable scores, the levels of relevance and, if asked for, the query."""
    key = _make_key(scores, max_level, max_query, gap=0)
    if key.dtype == pl.UInt32 or scores.dtype == pl.Int64 or len(scores) < _MANY:
        return key
    # No score lies nearer to 0 than the smallest magnitude: leaving out these bit patterns often saves a few bits,
    # and so half the width of every key.
    closer = _make_key(scores, max_level, max_query, gap=_smallest_magnitude(scores) - 1)
    return closer if _WIDTHS.index(closer.dtype) < _WIDTHS.index(key.dtype) else key


_MANY = 100_000  # scores from which a narrower key saves more than it takes to find
_WIDTHS = (pl.UInt32, pl.UInt64, pl.UInt128)


def _make_key(scores: pl.Series, max_level: int, max_query: int, gap: int) -> Key:
    order = _ordered(pl.col("score"), scores.dtype, gap)
    ends = pl.DataFrame({"score": pl.Series([scores.min(), scores.max()], dtype=scores.dtype)})
    lowest, highest = ends.select(order).to_series().fill_null(0)
    score_bits, level_bits = (highest - lowest).bit_length(), max_level.bit_length()
    bits = max_query.bit_length() + score_bits + level_bits
    dtype = next(dtype for dtype, width in zip(_WIDTHS, (32, 64, 128), strict=True) if bits <= width)
    # From the highest score down. The difference may need all 64 bits: it wraps around, and is read as unsigned.
    from_highest = (pl.lit(highest, dtype=pl.Int64) - order).reinterpret(dtype=pl.UInt64).cast(dtype)
    expr = from_highest * 2**level_bits + (max_level - pl.col("level").cast(pl.Int32)).cast(dtype)
    if max_query:
        expr = pl.col("query").cast(dtype) * 2 ** (score_bits + level_bits) + expr
    return Key(expr.alias("key"), dtype, score_bits, level_bits, max_level)


def _ordered(score: pl.Expr, dtype: pl.DataType, gap: int) -> pl.Expr:
    """Map comparable scores to integers in the same order, where -0.0 and 0.0 are one.

    ``gap`` is how many bit patterns next to 0, on either side, no score has.
    """
    if dtype == pl.Int64:
        return score
    width, sign = (pl.Int32, -(2**31)) if dtype == pl.Float32 else (pl.Int64, -(2**63))
    bits = score.reinterpret(dtype=width)
    # A float below zero has its sign bit set and its magnitude in the rest: minus that magnitude sorts right.
    below = (pl.lit(sign, dtype=width) - bits + gap).clip(upper_bound=0)
    return pl.when(bits < 0).then(below).otherwise((bits - gap).clip(lower_bound=0)).cast(pl.Int64)


def _smallest_magnitude(scores: pl.Series) -> int:
    """Return, as an integer of its bits, the magnitude of the score nearest to 0 that is not 0; 1 if there is none."""
    magnitude = pl.when(pl.col("score") != 0).then(pl.col("score").abs()).min()
    smallest = scores.to_frame("score").lazy().select(_ordered(magnitude, scores.dtype, 0)).collect(engine="streaming")
    return smallest.item() or 1
