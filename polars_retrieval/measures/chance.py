"""Chances in a group of tied documents, whose orders are all equally likely."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from polars_retrieval.measures.ranked import least, where

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from polars_retrieval.measures.ranked import Ranked


def log_chance_of_none(tied: pl.Expr, hits: pl.Expr, drawn: pl.Expr) -> pl.Expr:
    """Give the logarithm of the probability that, of tied documents, those drawn hold none of the hits.

    That is C(tied - drawn, hits) / C(tied, hits), for ``hits + drawn <= tied``, or the falling factorial of
    ``tied - hits`` over that of ``tied``, each of ``drawn`` factors. What is large in the logarithms of both is taken
    together, so that no digits are lost in their difference.
    """
    others = tied - hits
    large = drawn * (-hits / (tied + _LANCZOS_G + 0.5)).log1p()
    return large + _log_falling(others, drawn) - _log_falling(tied, drawn)


# n! = sqrt(2 pi) (n + g + 1/2)^(n + 1/2) e^-(n + g + 1/2) A(n), with A(n) = c_0 + c_1 / (n + 1) + c_2 / (n + 2) …,
# exact to float64. Lanczos, A Precision Approximation of the Gamma Function (1964); these coefficients are Godfrey's.
_LANCZOS_G = 7
_LANCZOS_C = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _log_a(n: pl.Expr) -> pl.Expr:
    first, *others = _LANCZOS_C
    terms = [c / (n + i) for i, c in enumerate(others, start=1)]
    return reduce(add, terms[1:], first + terms[0]).log()


def _log_falling(n: pl.Expr, m: pl.Expr) -> pl.Expr:
    """Logarithm of n! / (n - m)!, less m log(n + g + 1/2)."""
    return -(n - m + 0.5) * (-m / (n + _LANCZOS_G + 0.5)).log1p() - m + _log_a(n) - _log_a(n - m)


def _log_factorial(n: pl.Expr) -> pl.Expr:
    base = n + _LANCZOS_G + 0.5
    return (n + 0.5) * base.log() - base + math.log(2 * math.pi) / 2 + _log_a(n)


def _log_binomial(n: pl.Expr, m: pl.Expr) -> pl.Expr:
    return _log_factorial(n) - _log_factorial(m) - _log_factorial(n - m)


@dataclass(frozen=True)
class CutGroup:
    """The tie group that rank k cuts through, of which the first `seen` are within k; all 0 where there is none.

    The fields are expressions of the query.
    """

    ranked: Ranked
    above: pl.Expr
    tied: pl.Expr
    hits_above: pl.Expr
    hits: pl.Expr
    seen: pl.Expr

    @classmethod
    def of(cls, ranked: Ranked, k: int) -> CutGroup:
        """Find the group with hits that k cuts through."""
        is_cut = (ranked.above < k) & (ranked.above + ranked.tied > k)

        def of_group(value: pl.Expr) -> pl.Expr:
            return ranked.sum_tied_hits(where(is_cut, value / ranked.tied_hits, 0.0))

        above, tied = of_group(ranked.above), of_group(ranked.tied)
        seen = where(tied > 0, k - above, 0.0)
        return cls(ranked, above, tied, of_group(ranked.hits_above), of_group(ranked.tied_hits), seen)

    def expect(self, value: Callable[..., pl.Expr], *values: pl.Expr) -> pl.Expr:
        """Give the expected value of a function of how many hits are among those seen, and of values of the query."""
        fewest = (self.seen - (self.tied - self.hits)).clip(0.0)
        most = least(self.hits, self.seen)

        def term(
            place: pl.Expr, fewest: pl.Expr, tied: pl.Expr, hits: pl.Expr, seen: pl.Expr, *values: pl.Expr
        ) -> pl.Expr:
            seen_hits = fewest + place - 1
            return _hypergeometric(tied, hits, seen, seen_hits) * value(seen_hits, *values)

        return self.ranked.sum_places(most - fewest + 1, term, fewest, self.tied, self.hits, self.seen, *values)


def _hypergeometric(tied: pl.Expr, hits: pl.Expr, seen: pl.Expr, seen_hits: pl.Expr) -> pl.Expr:
    """Give the probability that, of tied documents, so many hits are among those seen."""
    chosen = _log_binomial(hits, seen_hits) + _log_binomial(tied - hits, seen - seen_hits)
    return (chosen - _log_binomial(tied, seen)).exp()
