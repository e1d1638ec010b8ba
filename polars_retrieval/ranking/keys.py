"""One integer per row that sorts like (query, score from the highest, relevance from the highest).

Sorting one integer column is several times faster than sorting a frame by several columns, and query, score
and relevance can be read back out of the sorted integers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Integers = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Extremes:
    """The best and the worst score, and the least distance of a score to 0."""

    best: float
    worst: float
    nearest_to_0: float

    @classmethod
    def of(cls, scores: NDArray[Any]) -> Extremes:
        """Find them in an array."""
        if not len(scores):
            return cls(0, 0, 0)
        best, worst = scores.max().item(), scores.min().item()
        is_between = isinstance(best, float) and worst < 0 < best
        return cls(best, worst, np.abs(scores).min().item() if is_between else min(abs(best), abs(worst)))

    @classmethod
    def of_all(cls, parts: Iterable[Extremes]) -> Extremes:
        """Combine those of several arrays."""
        several = list(parts) or [cls(0, 0, 0)]
        best, worst = max(part.best for part in several), min(part.worst for part in several)
        return cls(best, worst, min(part.nearest_to_0 for part in several))


@dataclass(frozen=True)
class Key:
    """Where each part lies in a key: from the top the query if there is one, the score, the level of relevance.

    The low bits hold `max_level - level`, so that of tied documents the most relevant comes first.
    """

    scores: _Floats | _Whole
    query_bits: int
    max_level: int

    @classmethod
    def of(cls, dtype: np.dtype[Any], extremes: Extremes, max_level: int, n_queries: int = 0) -> Key:
        """Lay out the narrowest key for scores, the levels of relevance and, if there are several, queries."""
        scores = _Whole(extremes) if dtype.kind == "i" else _Floats(8 * dtype.itemsize, extremes)
        return cls(scores, max(0, n_queries - 1).bit_length(), max_level)

    @property
    def level_bits(self) -> int:
        """The bits of the level."""
        return self.max_level.bit_length()

    @property
    def query_shift(self) -> int:
        """The bits below the query."""
        return self.scores.bits + self.level_bits

    @property
    def bits(self) -> int:
        """The bits of a key: beyond 64 it cannot be made."""
        return self.query_bits + self.query_shift

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """The narrowest type of NumPy that holds a key."""
        return _narrowest(self.bits)

    def pack(self, scores: NDArray[Any], levels: NDArray[Any], queries: NDArray[Any] | None = None) -> Integers:
        """Make the keys of rows."""
        narrow = _narrowest(self.query_shift)  # while it is enough: half the bytes to go through
        keys = self.scores.from_best(scores).astype(narrow, copy=False)
        keys <<= narrow(self.level_bits)
        keys += narrow(self.max_level)
        keys -= levels.astype(narrow, copy=False)
        if queries is None:
            return keys
        shifted: Integers = queries.astype(self.dtype)
        shifted <<= self.dtype(self.query_shift)
        shifted |= keys
        return shifted

    def levels(self, keys: Integers) -> NDArray[np.uint32]:
        """Read the levels of relevance."""
        return np.uint32(self.max_level) - (keys & self.dtype(2**self.level_bits - 1)).astype(np.uint32)

    def is_hit(self, keys: Integers) -> NDArray[np.bool_]:
        """Tell which rows are of a level above 0."""
        mask = self.dtype(2**self.level_bits - 1)
        hit: NDArray[np.bool_] = (keys & mask) != self.dtype(self.max_level)
        return hit

    def tie_groups(self, keys: Integers) -> Integers:
        """Read query and score, without the level."""
        groups: Integers = keys >> self.dtype(self.level_bits)
        return groups

    def queries(self, keys: Integers) -> Integers:
        """Read the queries."""
        queries: Integers = keys >> self.dtype(self.query_shift)
        return queries


def _narrowest(bits: int) -> type[np.unsignedinteger[Any]]:
    return np.uint32 if bits <= 32 else np.uint64  # noqa: PLR2004


@dataclass(frozen=True)
class _Whole:
    """How whole numbers become unsigned ones that count down from the best, which is 0."""

    extremes: Extremes

    @property
    def bits(self) -> int:
        return (int(self.extremes.best) - int(self.extremes.worst)).bit_length()

    def from_best(self, scores: NDArray[Any]) -> Integers:
        return (np.int64(self.extremes.best) - scores).view(np.uint64)  # unsigned, if it wraps around


@dataclass(frozen=True)
class _Floats:
    """How floats become unsigned integers that count down from the best, which is 0.

    The bits of a float are its sign and then its magnitude: those of positive floats rise, those of negative ones
    fall with the float. Between the two lie the patterns of all numbers nearer to 0 than any score; leaving these out
    often saves the bit or two that halve the width of the key. Zeros of either sign are one.
    """

    width: int
    extremes: Extremes

    @property
    def bits(self) -> int:
        return (self._down(self.extremes.worst) - self._down(self.extremes.best)).bit_length()

    def _pattern(self, score: float) -> int:
        return int.from_bytes(struct.pack("<f" if self.width == 32 else "<d", score), "little")  # noqa: PLR2004

    @property
    def _sign(self) -> int:
        return 2 ** (self.width - 1)

    @property
    def _skipped(self) -> int:
        """Negative numbers count on from the positive ones: from -0.0, which is 0.0, or from where scores go on."""
        both_signs = self.extremes.worst < 0 < self.extremes.best
        return max(1, 2 * self._pattern(self.extremes.nearest_to_0)) if both_signs else 1

    def _down(self, score: float) -> int:
        pattern = self._pattern(score)
        return self._sign - 1 - pattern if pattern < self._sign else pattern - self._skipped

    def from_best(self, scores: NDArray[Any]) -> Integers:
        unsigned, signed = (np.uint32, np.int32) if self.width == 32 else (np.uint64, np.int64)  # noqa: PLR2004
        patterns, first = scores.view(unsigned), self._down(self.extremes.best)
        positive = (self._sign - 1 - first) % 2**self.width
        negative = (self._skipped + first) % 2**self.width
        # `positive - patterns`, or, of negative numbers, `patterns - negative`: turned round by a mask, since to choose
        # between the two takes five times as long.
        is_negative = (patterns.view(signed) >> signed(self.width - 1)).view(unsigned)
        keys: Integers = unsigned(positive) - patterns
        keys ^= is_negative
        is_negative &= unsigned((positive - negative + 1) % 2**self.width)
        keys += is_negative
        return keys
