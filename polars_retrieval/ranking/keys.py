"""One integer per row that sorts like (query, score from the highest, relevance from the highest).

Sorting one integer column is several times faster than sorting a frame by several columns, and query, score
and relevance can be read back out of the sorted integers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars.datatypes import DataTypeClass

    from polars_retrieval.grouping import Grouping

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
    def width(self) -> int:
        """The bits of a key."""
        return _WIDTHS[self.dtype]

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


def make_key(scores: pl.Series, max_level: int, grouping: Grouping | None = None) -> Key:
    """Lay out the narrowest key for comparable scores, the levels of relevance and, if grouped, the query."""
    level_bits = max_level.bit_length()
    other_bits = level_bits + (0 if grouping is None else grouping.n_numbers.bit_length())
    from_best, score_bits = _from_best(scores, wanted=32 - other_bits)
    dtype = next(dtype for dtype, width in _WIDTHS.items() if other_bits + score_bits <= width)
    level = pl.col("level").cast(dtype)
    expr = from_best.cast(dtype) * 2**level_bits + max_level - level
    if grouping is not None:
        expr = grouping.number("query").cast(dtype) * 2 ** (score_bits + level_bits) + expr
    return Key(expr.alias("key"), dtype, score_bits, level_bits, max_level)


_WIDTHS: dict[DataTypeClass, int] = {pl.UInt32: 32, pl.UInt64: 64, pl.UInt128: 128}
_MANY = 100_000  # scores from which a narrower key saves more than it takes to find


def _from_best(scores: pl.Series, wanted: int) -> tuple[pl.Expr, int]:
    """Map scores to unsigned integers that count down from the best one, 0; and say how many bits these need.

    Zeros of either sign are one. Every row goes through this, so it is few operations on few bytes.
    """
    best, worst = scores.max(), scores.min()
    if not isinstance(best, float) or not isinstance(worst, float):
        best, worst = int(best or 0), int(worst or 0)  # type: ignore[arg-type]
        distance = pl.lit(best, dtype=pl.Int64) - pl.col("score").cast(pl.Int64)
        return distance.reinterpret(dtype=pl.UInt64), (best - worst).bit_length()  # unsigned, if it wraps around
    layout = _Floats(32 if scores.dtype == pl.Float32 else 64)
    if layout.distance(best, worst).bit_length() > wanted and len(scores) >= _MANY and worst < 0 < best:
        layout = _Floats(layout.width, nearest_to_0=scores.abs().min())  # type: ignore[arg-type]
    return layout.from_best(best), layout.distance(best, worst).bit_length()


@dataclass(frozen=True)
class _Floats:
    """How floats become integers that count down.

    The bits of a float are its sign and then its magnitude: those of positive floats rise, those of negative ones
    fall with the float. Between the two lie the patterns of all numbers nearer to 0 than any score; leaving these out
    often saves the bit or two that halve the width of the key.
    """

    width: int
    nearest_to_0: float = 0.0

    def bits(self, score: float) -> int:
        return int.from_bytes(struct.pack("<f" if self.width == 32 else "<d", score), "little")  # noqa: PLR2004

    @property
    def _sign(self) -> int:
        return 2 ** (self.width - 1)

    @property
    def _skipped(self) -> int:
        """Negative numbers count on from the positive ones: from -0.0, which is 0.0, or from where scores go on."""
        return max(1, 2 * self.bits(self.nearest_to_0))

    def down(self, score: float) -> int:
        bits = self.bits(score)
        return self._sign - 1 - bits if bits < self._sign else bits - self._skipped

    def distance(self, best: float, worst: float) -> int:
        return self.down(worst) - self.down(best)

    def from_best(self, best: float) -> pl.Expr:
        dtype = pl.UInt32 if self.width == 32 else pl.UInt64  # noqa: PLR2004
        bits, first = pl.col("score").reinterpret(dtype=dtype), self.down(best)
        positive = pl.lit((self._sign - 1 - first) % 2**self.width, dtype=dtype) - bits
        negative = bits - pl.lit((self._skipped + first) % 2**self.width, dtype=dtype)
        return pl.when(bits < self._sign).then(positive).otherwise(negative)
