"""Formulas of measures on arrays: for few documents the values are there before Polars has planned a query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from polars_retrieval.measures import Ranked
from polars_retrieval.measures.ranked import where
from polars_retrieval.ranked_frame import COUNTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl
    from numpy.typing import NDArray

    from polars_retrieval.measures import Measure
    from polars_retrieval.measures.ranked import Function
    from polars_retrieval.reductions import Floats


class Column(NDArrayOperatorsMixin):
    """Values of the queries, or of the hits of all queries, with the operators and methods of an expression.

    Where values of both meet, each query's are repeated for its hits, whose queries `query` tells.
    """

    __slots__ = ("query", "values")

    def __init__(self, values: NDArray[Any], query: NDArray[np.integer[Any]] | None = None) -> None:
        self.values, self.query = values, query

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any) -> Column:
        """Compute a function of values; operators are such functions, too."""
        del method
        return _apply(ufunc, *inputs)

    def where(self, value: Any, otherwise: Any) -> Column:
        """Give one value where this is true, and another one elsewhere."""
        return _apply(np.where, self, value, otherwise)

    def clip(self, lower_bound: Any, upper_bound: Any = np.inf) -> Column:
        """Bring values up to a lower bound, and down to an upper one."""
        return _apply(np.minimum, _apply(np.maximum, self, lower_bound), upper_bound)

    def floor(self) -> Column:
        """Round down."""
        return _apply(np.floor, self)

    def round(self) -> Column:
        """Round to whole numbers."""
        return _apply(np.rint, self)

    def is_finite(self) -> Column:
        """Tell which values are neither NaN nor infinite."""
        return _apply(np.isfinite, self)

    def exp(self) -> Column:
        """Give the exponential."""
        return _apply(np.exp, self)

    def log(self, base: float = np.e) -> Column:
        """Give the logarithm."""
        return _apply(np.log, self) / np.log(base)

    def log1p(self) -> Column:
        """Give the logarithm of one more."""
        return _apply(np.log1p, self)


def _apply(function: Callable[..., Any], *inputs: Any) -> Column:
    """Compute a function of columns and numbers, row by row."""
    query = next((column.query for column in inputs if isinstance(column, Column) and column.query is not None), None)
    return Column(function(*[_rows(given, query) for given in inputs]), query)


def _rows(given: Any, query: NDArray[np.integer[Any]] | None) -> Any:
    if not isinstance(given, Column):
        return given
    return given.values if query is None or given.query is not None else given.values[query]


@dataclass(frozen=True)
class Lists:
    """Ranked lists as arrays.

    `hits` has the columns of `polars_retrieval.ranking.hits`; `counts`, for each query, those of
    `polars_retrieval.ranked_frame.COUNTS`; `levels`, those of `polars_retrieval.ranking.levels`. `ideal` gives the
    documents with a gain, from the highest grade down.
    """

    hits: Mapping[str, NDArray[np.integer[Any]]]
    counts: Mapping[str, NDArray[np.int64]]
    levels: Mapping[str, NDArray[Any]]
    has_ties: bool
    ideal: Callable[[], Mapping[str, NDArray[np.integer[Any]]]]

    @property
    def one_grade(self) -> bool:
        """Whether all documents with a gain have one grade."""
        return int(np.count_nonzero(self.levels["grade"])) <= 1

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.counts["n_retrieved"])

    def values(self, measure: Measure, undefined: float | None) -> Floats:
        """Return a measure of each query, from the first; ``undefined``, or nothing, where it has none."""
        with np.errstate(all="ignore"):  # a formula may divide by 0 where its value is not taken
            values = _floats(measure.value(ArrayRanked(self)))
        is_defined = self._is_defined(measure)
        return values[is_defined] if undefined is None else np.where(is_defined, values, undefined)

    def counted(self, measure: Measure, undefined: float | None) -> NDArray[np.bool_]:
        """Tell of which queries `values` returns one."""
        return self._is_defined(measure) if undefined is None else np.ones(self.n, dtype=bool)

    def _is_defined(self, measure: Measure) -> NDArray[np.bool_]:
        needed = measure.declaration.undefined_without
        return np.ones(self.n, dtype=bool) if needed is None else self.counts[needed] > 0


class ArrayRanked(Ranked):
    """Every query's ranked list: what formulas read of it, they are given computed."""

    def __init__(self, lists: Lists) -> None:
        self._lists, self._levels = lists, lists.levels
        self._query, self._level = lists.hits["query"], lists.hits["level"]
        (
            self.n_retrieved,
            self.n_relevant,
            self.n_nonrelevant,
            self.n_judged,
            self.n_judged_nonrelevant,
            self.n_graded,
        ) = (_expr(lists.counts[name].astype(np.float64)) for name in COUNTS)
        self.above, self.tied = (self._of_hits(lists.hits[name].astype(np.float64)) for name in ("above", "tied"))
        self.has_ties, self.largest_grade = lists.has_ties, float(lists.levels["grade"].max())

    # --- of a document ---

    def _of_hits(self, values: NDArray[Any]) -> pl.Expr:
        return _expr(values, self._query)

    @property
    def hits_above(self) -> pl.Expr:
        """Hits ranked above the document's tie group."""
        return self._count(self._levels["relevant"], "first", "start")

    @property
    def tied_hits(self) -> pl.Expr:
        """Hits in the document's tie group."""
        return self._count(self._levels["relevant"], "start", "end")

    def hits_within(self, k: int | None) -> pl.Expr:
        """Hits of the document's query among the first k."""
        return self._sum(self._levels["relevant"], 1.0, k, tied=None)

    @property
    def nonrelevant_above(self) -> pl.Expr:
        """Documents ranked above its tie group that were judged, and are neither relevant nor negative."""
        nonrelevant = self._levels["nonrelevant"]
        if nonrelevant[0]:
            return self.above - self._count(~nonrelevant, "first", "start")
        return self._count(nonrelevant, "first", "start")

    def _count(self, counted: NDArray[np.bool_], start: str, end: str) -> pl.Expr:
        """Count hits of some levels from one row of the hits to another."""
        before = np.append(0, np.cumsum(counted[self._level]))
        return self._of_hits((before[self._lists.hits[end]] - before[self._lists.hits[start]]).astype(np.float64))

    def of_grade(self, function: Function) -> pl.Expr:
        """Give a function of the document's grade."""
        return self._of_hits(_floats(function(_expr(self._levels["grade"])))[self._level])

    def at_rank(self, function: Function) -> pl.Expr:
        """Give a function of the rank of a document that stands alone."""
        return function(self.above + 1)

    def in_group(self, function: Function, k: int | None) -> pl.Expr:
        """Give the mean, over the ranks of the document's tie group, of a function of rank that is 0 beyond k."""
        above, tied = self._lists.hits["above"], self._lists.hits["tied"]
        down_to = self._down_to_ranks(function, k)
        return self._of_hits((down_to[above + tied] - down_to[above]) / tied)

    def _down_to_ranks(self, function: Function, k: int | None) -> Floats:
        """Return the sums of a function, 0 beyond k, down to the ranks from 0."""
        n_ranks = max(self._lists.counts["n_retrieved"].max(), self._lists.counts["n_graded"].max())
        values = _floats(function(_expr(np.arange(1.0, n_ranks + 1))))
        return np.append(0.0, np.cumsum(values if k is None else np.where(np.arange(n_ranks) < k, values, 0.0)))

    def product_above(self, factor: Function) -> pl.Expr:
        """Multiply a function of the grades of the documents ranked above the document."""
        log = np.maximum(np.log2(_floats(self.of_grade(factor))), -1075)  # no float is below 2^-1075
        above = np.cumsum(log) - log
        return self._of_hits(2 ** (above - above[self._lists.hits["first"]]))

    # --- of a query ---

    def sum_hits(self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the query's hits."""
        return self._sum(self._levels["relevant"], alone, k, tied)

    def sum_graded(self, alone: pl.Expr, k: int | None = None, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Add up a value of the query's retrieved documents that have a grade above 0."""
        return self._sum(self._levels["grade"] > 0, alone, k, tied)

    def sum_judged(
        self, alone: pl.Expr | float, k: int | None = None, *, tied: pl.Expr | None = None, of_all: pl.Expr
    ) -> pl.Expr:
        """Add up a value of the query's retrieved documents that were judged."""
        judged = self._levels["judged"]
        return of_all if judged[0] else self._sum(judged, alone, k, tied)

    def _sum(self, counted: NDArray[np.bool_], alone: pl.Expr | float, k: int | None, tied: pl.Expr | None) -> pl.Expr:
        value = where(self.above < (np.inf if k is None else k), alone, 0.0)
        if self.has_ties:
            value = where(self.tied > 1, alone * self.within(k) if tied is None else tied, value)
        return self._added(value if counted[1:].all() else where(self._of_hits(counted[self._level]), value, 0.0))

    def _added(self, value: pl.Expr) -> pl.Expr:
        return _expr(np.bincount(self._query, _floats(value), minlength=self._lists.n))

    def sum_tied_hits(self, value: pl.Expr) -> pl.Expr:
        """Add up a value of the hits in tie groups only."""
        return self._added(where(self._is_relevant & (self.tied > 1), value, 0.0))

    @property
    def _is_relevant(self) -> pl.Expr:
        return self._of_hits(self._levels["relevant"][self._level])

    def max_hits(self, alone: pl.Expr, *, tied: pl.Expr | None = None) -> pl.Expr:
        """Give the largest value of the query's hits, 0 if it has none."""
        value = alone if tied is None else where(self.tied > 1, tied, alone)
        largest = np.zeros(self._lists.n)
        np.maximum.at(largest, self._query, _floats(where(self._is_relevant, value, 0.0)))
        return _expr(largest)

    def max_hits_from(self, value: pl.Expr, step: pl.Expr, n_steps: int) -> list[pl.Expr]:
        """Give the largest value of the hits at each step or later."""
        return [self.max_hits(where(step >= first, value, 0.0)) for first in range(n_steps)]

    def first_hit(self, value: pl.Expr) -> pl.Expr:
        """Give a value of the first hit, or of its tie group, 0 if there is none."""
        of_queries = np.zeros(self._lists.n)
        queries, rows = self._first_hits
        of_queries[queries] = _floats(value)[rows]
        return _expr(of_queries)

    @cached_property
    def _first_hits(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.intp]]:
        """The queries that have a hit, and the row of the first one of each."""
        relevant = np.flatnonzero(self._levels["relevant"][self._level])
        queries, first = np.unique(self._query[relevant], return_index=True)
        return queries, relevant[first]

    def ideal(self, gain: Function, discount: Function, k: int | None) -> pl.Expr:
        """Add up gain times discount with the query's documents in their best order."""
        down_to, gains = self._down_to_ranks(discount, k), _floats(gain(_expr(self._levels["grade"])))
        if self._lists.one_grade:
            return _expr(gains.max() * down_to[self._lists.counts["n_graded"]])
        best = self._lists.ideal()
        discounts = down_to[best["above"] + best["tied"]] - down_to[best["above"]]
        return _expr(np.bincount(best["query"], gains[best["level"]] * discounts, minlength=self._lists.n))

    def sum_places(self, n: pl.Expr, term: Callable[..., pl.Expr], *values: pl.Expr) -> pl.Expr:
        """Add up, for a query, ``term(place, *values)`` for places 1 to n."""
        n_places = np.maximum(_floats(n), 0).astype(np.intp)
        query = np.repeat(np.arange(self._lists.n), n_places)
        place = np.arange(len(query)) - np.repeat(np.cumsum(n_places) - n_places, n_places) + 1.0
        terms = term(_expr(place), *[_expr(_floats(value)[query]) for value in values])
        return _expr(np.bincount(query, _floats(terms), minlength=self._lists.n))


def _expr(values: NDArray[Any], query: NDArray[np.integer[Any]] | None = None) -> pl.Expr:
    """Return values as what formulas are written in, whose operators and methods a column has."""
    return cast("pl.Expr", Column(values, query))


def _floats(column: pl.Expr) -> Floats:
    """Return the values of a column."""
    values: Floats = cast("Column", column).values
    return values
