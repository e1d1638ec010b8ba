"""Scores of any type as one of three that compare fast."""

from __future__ import annotations

import polars as pl

_SAMPLE = 10_000  # scores that show, nearly always, that float32 cannot hold them


def comparable(scores: pl.Series) -> pl.Series:
    """Return scores as Float32, Float64 or Int64, whichever is narrowest and keeps every difference.

    Float64 scores that float32 holds exactly, as most models produce them, need half the bits. Integers and
    decimals beyond Int64 are replaced by their dense rank.
    """
    if scores.dtype == pl.Float64:
        is_narrow = _as_float32(scores.head(_SAMPLE)) is not None
        narrow = _as_float32(scores) if is_narrow else None
        return scores if narrow is None else narrow
    if scores.dtype.is_float() or scores.dtype == pl.Null:
        return scores.cast(pl.Float32)
    if scores.dtype.is_integer():
        as_int64 = scores.cast(pl.Int64, strict=False)
        if as_int64.null_count() == scores.null_count():
            return as_int64
    return dense(scores)


def dense(scores: pl.Series) -> pl.Series:
    """Replace scores by their rank among the distinct ones, the narrowest integers of the same order."""
    return scores.rank("dense").cast(pl.Int64)


def _as_float32(scores: pl.Series) -> pl.Series | None:
    narrow = scores.cast(pl.Float32)
    return narrow if (narrow.cast(pl.Float64) == scores).all() else None
