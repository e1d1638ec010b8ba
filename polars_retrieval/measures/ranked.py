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


def log_chance_of_none(tied: pl.Expr, hits: pl.Expr, drawn: pl.Expr) -> pl.Expr:
    """Give the logarithm of the probability that, of tied documents, those drawn hold none of the hits.

    That is C(tied - drawn, hits) / C(tied, hits), for ``hits + drawn <= tied``, or the falling factorial of
    ``tied - hits`` over that of ``tied``, each of ``drawn`` factors. Their logarithms come from Stirling's series;
    what is large in both is taken together, so that no digits are lost in their difference.
    """
    shift = 16  # the series is exact to float64 from here up, and n! = (n + 16)! / ((n + 1) ... (n + 16))
    all_, others = tied + shift, tied - hits + shift
    large = drawn * (-hits / all_).log1p()
    return large + _log_falling(others, drawn) - _log_falling(all_, drawn) - _log_shift(tied - hits, tied, drawn, shift)


def _log_falling(n: pl.Expr, m: pl.Expr) -> pl.Expr:
    """Logarithm of n! / (n - m)!, less m log n."""
    return -(n - m + 0.5) * (-m / n).log1p() - m + _stirling(n) - _stirling(n - m)


def _stirling(n: pl.Expr) -> pl.Expr:
    return 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5) - 1 / (1680 * n**7)


def _log_shift(low: pl.Expr, high: pl.Expr, m: pl.Expr, shift: int) -> pl.Expr:
    """Undo the shift of n! / (n - m)! for n = low, over the same for n = high."""
    ratio = pl.lit(1.0)
    for i in range(1, shift + 1):
        ratio = ratio * ((low + i) * (high - m + i)) / ((low - m + i) * (high + i))
    return ratio.log()
