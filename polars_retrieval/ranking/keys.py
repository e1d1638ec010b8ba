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
    dtype = scores.dtype
    if dtype == pl.Float64:
        narrow = scores.cast(pl.Float32)
        return narrow if (narrow.cast(pl.Float64) == scores).all() else scores
    if dtype.is_float() or dtype == pl.Null:
        return scores.cast(pl.Float32)
    if dtype.is_integer() and max(abs(scores.min() or 0), abs(scores.max() or 0)) <= _LARGEST_INT64:  # type: ignore[arg-type, operator]
        return scores.cast(pl.Int64)
    return scores.rank("dense").cast(pl.Int64)


def ordered(score: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Map comparable scores to integers in the same order, where -0.0 and 0.0 are one."""
    if dtype == pl.Float32:
        return _ordered_bits(score.reinterpret(dtype=pl.Int32), pl.lit(-(2**31), dtype=pl.Int32)).cast(pl.Int64)
    if dtype == pl.Float64:
        return _ordered_bits(score.reinterpret(dtype=pl.Int64), pl.lit(-(2**63), dtype=pl.Int64))
    return score


def _ordered_bits(bits: pl.Expr, sign: pl.Expr) -> pl.Expr:
    # A float below zero has its sign bit set and its magnitude in the rest: minus that magnitude sorts right.
    return pl.when(bits < 0).then(sign - bits).otherwise(bits)


def make_key(scores: pl.Series, max_level: int, *, max_query: int = 0) -> Key:
    """Lay out the narrowest key for comparable scores, the levels of relevance and, if asked for, the query."""
    order = ordered(pl.col("score"), scores.dtype)
    ends = pl.DataFrame({"score": pl.Series([scores.min(), scores.max()], dtype=scores.dtype)})
    lowest, highest = ends.select(order).to_series().fill_null(0)
    score_bits, level_bits = (highest - lowest).bit_length(), max_level.bit_length()
    dtype = _narrowest(max_query.bit_length() + score_bits + level_bits)
    # From the highest score down. The difference may need all 64 bits: it wraps around, and is read as unsigned.
    from_highest = (pl.lit(highest, dtype=pl.Int64) - order).reinterpret(dtype=pl.UInt64).cast(dtype)
    expr = from_highest * 2**level_bits + (max_level - pl.col("level").cast(pl.Int32)).cast(dtype)
    if max_query:
        expr = pl.col("query").cast(dtype) * 2 ** (score_bits + level_bits) + expr
    return Key(expr.alias("key"), dtype, score_bits, level_bits, max_level)


def _narrowest(bits: int) -> DataTypeClass:
    """Return the smallest unsigned integer type with that many bits."""
    if bits <= 32:  # noqa: PLR2004
        return pl.UInt32
    return pl.UInt64 if bits <= 64 else pl.UInt128  # noqa: PLR2004
