"""What a measure's formula may read: a query's counts, and where its hits stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Ranked:
    """One query's ranked list, as expressions.

    A hit is a relevant document that was retrieved. Its tie group holds the documents of its score; it has size 1
    unless the rule for ties is `expected` and the group's order matters.
    """

    n_retrieved: pl.Expr
    n_relevant: pl.Expr
    n_judged: pl.Expr

    # Of each hit: documents ranked before its tie group and in it, and the hits among each.
    above: pl.Expr
    tied: pl.Expr
    hits_above: pl.Expr
    tied_hits: pl.Expr

    sum: Callable[[pl.Expr], pl.Expr]
    """Add up a value over the query's hits."""

    def within(self, k: int | pl.Expr | None) -> pl.Expr:
        """Give each hit's probability of standing in the first k: 0 or 1 but for a tie group that k cuts."""
        if k is None:
            return self.above.is_not_null().cast(pl.Float64)
        return ((k - self.above) / self.tied).clip(0, 1)

    def depth(self, k: int | None, *, adaptive_k: bool = False) -> pl.Expr:
        """Give the length of the list that is looked at, at least 1 so that one may divide by it."""
        if k is None:
            return self.n_retrieved.clip(lower_bound=1)
        return self.n_retrieved.clip(1, k) if adaptive_k else pl.lit(float(k))


def log_factorial(n: pl.Expr) -> pl.Expr:
    """Natural logarithm of n!, by Stirling's series, for n from 0 up."""
    shift = 16  # the series is exact to float64 from here up
    below = n + 1
    for i in range(2, shift + 1):
        below = below * (n + i)
    x = n + shift + 1
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7)
    return (x - 0.5) * x.log() - x + 0.9189385332046727 + series - below.log()  # ln(2 pi) / 2
