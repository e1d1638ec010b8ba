"""What a measure's formula may read: a query's counts, and where its documents stand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[pl.Expr], pl.Expr]


class Ranked(ABC):
    """One query's ranked list, as expressions, or as arrays that take the same operators and methods.

    Some are of the query. Others are of a document, and `sum_hits` and its like make of these one of the query.
    A hit is a relevant document that was retrieved. A document's tie group holds those of its score; it has size 1
    unless the rule for ties is `expected` and the group's order may matter.

    What is summed up is given twice: as the value of a document that stands alone, which counts if it is among the
    first k, and as that of one in a tie group, where k is part of the value. Functions that are handed over take and
    give expressions.
    """

    # Of the query, all as floats: documents that are …
    n_retrieved: pl.Expr
    n_relevant: pl.Expr  # … relevant, retrieved or not
    n_nonrelevant: pl.Expr  # … known and not relevant: judged so, or retrieved without a judgment
    n_judged: pl.Expr
    n_judged_nonrelevant: pl.Expr  # … neither relevant nor negative
    n_graded: pl.Expr  # … of a grade above 0

    # Of a document, as floats: other documents …
    above: pl.Expr  # … ranked before its tie group
    tied: pl.Expr  # … in its tie group, itself among them

    @property
    @abstractmethod
    def hits_above(self) -> pl.Expr:
        """Hits ranked above the document's tie group."""

    @property
    @abstractmethod
    def tied_hits(self) -> pl.Expr:
        """Hits in the document's tie group."""

    @abstractmethod
    def hits_within(self, k: int | None) -> pl.Expr:
        """Hits of the document's query among the first k, if that does not depend on the order of tied documents."""

    @property
    @abstractmethod
    def nonrelevant_above(self) -> pl.Expr:
        """Documents ranked above its tie group that were judged, and are neither relevant nor negative."""

    has_ties: bool
    """Whether there may be a tie group of more than one document."""

    largest_grade: float | pl.Expr
    """Of the documents of all queries; a number where these are known."""

    @abstractmethod
    def sum_hits(self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the query's hits; ``tied`` is by default the value times the chance of being within k."""

    @abstractmethod
    def sum_tied_hits(self, value: pl.Expr) -> pl.Expr:
        """Add up a value of the hits in tie groups only."""

    @abstractmethod
    def max_hits(self, alone: pl.Expr, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Give the largest value of the query's hits, 0 if it has none."""

    @abstractmethod
    def max_hits_from(self, value: pl.Expr, step: pl.Expr, n_steps: int) -> list[pl.Expr]:
        """Give the largest value of the hits at step 0 or later, at step 1 or later, …; steps rise with rank."""

    @abstractmethod
    def first_hit(self, value: pl.Expr) -> pl.Expr:
        """Give a value of the first hit, or of its tie group, 0 if there is none."""

    @abstractmethod
    def sum_graded(self, alone: pl.Expr, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the query's retrieved documents that have a grade above 0."""

    @abstractmethod
    def sum_judged(
        self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None, of_all: pl.Expr
    ) -> pl.Expr:
        """Add up a value of the query's retrieved documents that were judged; of all retrieved it is ``of_all``."""

    @abstractmethod
    def ideal(self, gain: Function, discount: Function, k: int | None) -> pl.Expr:
        """Add up gain(grade) times discount(rank) down to rank k with the query's documents in their best order."""

    @abstractmethod
    def of_grade(self, function: Function) -> pl.Expr:
        """Give a function of the document's grade, which is 0 if negative or unknown."""

    @abstractmethod
    def at_rank(self, function: Function) -> pl.Expr:
        """Give a function of the rank of a document that stands alone."""

    @abstractmethod
    def in_group(self, function: Function, k: int | None) -> pl.Expr:
        """Give the mean, over the ranks of the document's tie group, of a function of rank that is 0 beyond k."""

    @abstractmethod
    def product_above(self, factor: Function) -> pl.Expr:
        """Multiply a function, from 0 to 1, of the grades of the documents ranked above the document."""

    @abstractmethod
    def sum_places(self, n: pl.Expr, term: Callable[..., pl.Expr], *values: pl.Expr) -> pl.Expr:
        """Add up, for a query, ``term(place, *values)`` for places 1 to n; the values are the query's, too."""

    def within(self, k: int | pl.Expr | None) -> pl.Expr:
        """Give the document's probability of standing in the first k: 0 or 1 but for a tie group that k cuts."""
        if k is None:
            return where(self.above >= 0, 1.0, 0.0)
        return ((k - self.above) / self.tied).clip(0.0, 1.0)

    def depth(self, k: int | None, *, adaptive_k: bool = False) -> pl.Expr:
        """Give the length of the list that is looked at, at least 1 so that one may divide by it."""
        if k is None:
            return self.n_retrieved.clip(1)
        # Not a literal: Polars multiplies by the reciprocal of one, and 3 / 10 would not be 0.3.
        return self.n_retrieved.clip(1 if adaptive_k else k, k)

    def n_within(self, k: int | None) -> pl.Expr:
        """Count the retrieved documents in the first k."""
        return self.n_retrieved if k is None else least(self.n_retrieved, k)

    def count_hits(self, k: int | pl.Expr | None) -> pl.Expr:
        """Count the query's hits among the first k, as expected."""
        if isinstance(k, pl.Expr):
            return self.sum_hits(where(self.above < k, 1.0, 0.0), tied=self.within(k))
        return self.sum_hits(1.0, k)


# What arrays have no operator for, as expressions have none.


def where(condition: Any, value: pl.Expr | float, otherwise: pl.Expr | float) -> pl.Expr:
    """Give one value where a condition holds, and another one elsewhere."""
    if isinstance(condition, pl.Expr):
        return pl.when(condition).then(value).otherwise(otherwise)
    chosen: pl.Expr = condition.where(value, otherwise)
    return chosen


def least(first: Any, second: pl.Expr | float) -> pl.Expr:
    """Give the smaller of two values."""
    return pl.min_horizontal(first, second) if isinstance(first, pl.Expr) else where(first < second, first, second)


def greatest(first: Any, second: pl.Expr) -> pl.Expr:
    """Give the larger of two values."""
    return pl.max_horizontal(first, second) if isinstance(first, pl.Expr) else where(first > second, first, second)


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide, and give 0 where there is nothing to divide by."""
    return where(denominator > 0, numerator / denominator, 0.0)
